package output

import (
	"maps"
	"time"

	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

// TagsName is the name of the output that must be the first of k6's. Users never name it.
const TagsName = "brunt-tags"

// hidden is a description that k6 doesn't show, because it is that of its own ingester.
const hidden = "Internal Metrics Ingester"

// Tags provides Output with the tags that its record needs, whichever system tags the user wants. It makes k6 set them,
// and removes those that the user didn't ask for before the other outputs receive the samples.
type Tags struct {
	// Requests reports whether the script imports modules of k6 that make requests.
	Requests func() bool

	byVU      bool // samples carry the number of their virtual user
	extraVU   bool // the user didn't ask for that number
	extra     []metrics.SystemTag
	without   map[*metrics.TagSet]*metrics.TagSet
	originals []metrics.SampleContainer // of the current batch; empty if it is unchanged
}

var _ output.Output = (*Tags)(nil)

// needed returns the system tags that the record needs. The tag name isn't among them: a tag of that name set by the
// script would be mistaken for it, and the URL serves as well. Whether a request failed is a separate metric.
func needed() []metrics.SystemTag {
	return []metrics.SystemTag{
		metrics.TagGroup, metrics.TagScenario, metrics.TagStatus, metrics.TagErrorCode, metrics.TagError,
		metrics.TagMethod, metrics.TagURL, metrics.TagCheck,
	}
}

// NewConstructor returns the constructor. k6 calls it before it makes virtual users, which share its set of tags.
func (t *Tags) NewConstructor() output.Constructor {
	return func(p output.Params) (output.Output, error) {
		t.want(p.ScriptOptions.SystemTags)
		for _, c := range p.ScriptOptions.Scenarios {
			t.byVU = t.byVU || c.GetType() == openType && t.Requests()
		}
		if set := p.ScriptOptions.SystemTags; t.byVU && set != nil && !set.Has(metrics.TagVU) {
			set.Add(metrics.TagVU)
			t.extraVU = true
		}
		return t, nil
	}
}

// openType is the executor whose iterations are arrivals, so requests must be assigned to their virtual users.
const openType = "brunt-open"

// want adds the needed tags to those that the user wants.
func (t *Tags) want(set *metrics.SystemTagSet) {
	t.without = map[*metrics.TagSet]*metrics.TagSet{}
	for _, tag := range needed() {
		if set != nil && !set.Has(tag) {
			set.Add(tag)
			t.extra = append(t.extra, tag)
		}
	}
}

// Description implements output.Output.
func (t *Tags) Description() string { return hidden }

// Start implements output.Output.
func (t *Tags) Start() error { return nil }

// Stop implements output.Output.
func (t *Tags) Stop() error { return nil }

// AddMetricSamples implements output.Output. k6 passes the same batch to all outputs in turn.
func (t *Tags) AddMetricSamples(batch []metrics.SampleContainer) {
	if len(t.extra) == 0 && !t.extraVU {
		return
	}
	t.originals = append(t.originals[:0], batch...)
	for i, c := range batch {
		samples := c.GetSamples()
		visible := make(metrics.Samples, len(samples))
		for k := range samples {
			visible[k] = samples[k]
			visible[k].Tags = t.strip(samples[k].Tags)
			if t.extraVU {
				visible[k].Metadata = withoutVU(samples[k].Metadata)
			}
		}
		batch[i] = visible
	}
}

// original returns the samples of container i of the batch with all their tags.
func (t *Tags) original(i int, visible []metrics.Sample) []metrics.Sample {
	if i < len(t.originals) {
		return t.originals[i].GetSamples()
	}
	return visible
}

// strip removes the tags that the user didn't ask for.
func (t *Tags) strip(tags *metrics.TagSet) *metrics.TagSet {
	if tags == nil {
		return nil
	}
	out, known := t.without[tags]
	if !known {
		out = tags
		for _, tag := range t.extra {
			out = out.Without(tag.String())
		}
		if len(t.without) >= mostTags {
			clear(t.without)
		}
		t.without[tags] = out
	}
	return out
}

// withoutVU returns the metadata of a sample without its virtual user.
func withoutVU(metadata map[string]string) map[string]string {
	vu := metrics.TagVU.String()
	if _, has := metadata[vu]; !has {
		return metadata
	}
	if len(metadata) == 1 {
		return nil
	}
	rest := maps.Clone(metadata)
	delete(rest, vu)
	return rest
}

// failedIn reports whether the request of the samples failed: 1 for yes, -1 for no, 0 if k6 didn't judge it.
func failedIn(samples []metrics.Sample, end time.Time) int8 {
	for i := range samples {
		if s := &samples[i]; s.Metric.Name == metrics.HTTPReqFailedName && s.Time.Equal(end) {
			if s.Value != 0 {
				return 1
			}
			return -1
		}
	}
	return 0
}
