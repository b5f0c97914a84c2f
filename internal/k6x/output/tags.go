package output

import (
	"maps"
	"time"

	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

// TagsName is what the output is called that must be the first of k6's. No user names it.
const TagsName = "brunt-tags"

// hidden is the description of an output that k6 doesn't show: that of its own ingester.
const hidden = "Internal Metrics Ingester"

// Tags lets Output know of each sample what its record needs, whichever system tags the user wants: it has k6 set
// them, and takes those that nobody asked for from the samples before the other outputs get them.
type Tags struct {
	// Requests reports whether the script imports modules of k6 that make requests.
	Requests func() bool

	byVU      bool // samples say which virtual user they are of
	extraVU   bool // which the user didn't ask for
	extra     []metrics.SystemTag
	without   map[*metrics.TagSet]*metrics.TagSet
	originals []metrics.SampleContainer // of the batch that outputs are being given; nil if it is unchanged
}

var _ output.Output = (*Tags)(nil)

// needed are the system tags that say what a sample is of. The tag name isn't one: a script's own would be taken for
// it, and the URL serves as well. Whether a request failed as such has a metric of its own.
func needed() []metrics.SystemTag {
	return []metrics.SystemTag{
		metrics.TagGroup, metrics.TagScenario, metrics.TagStatus, metrics.TagErrorCode, metrics.TagError,
		metrics.TagMethod, metrics.TagURL, metrics.TagCheck,
	}
}

// NewConstructor returns the constructor that k6 calls before it makes virtual users, which share its set of tags.
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

// openType is the executor whose iterations are arrivals, by which requests must be distinguished.
const openType = "brunt-open"

// want adds what is needed to the system tags that the user wants.
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

// AddMetricSamples implements output.Output. k6 gives one batch to all outputs in turn.
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

// original are the samples of container number i of the batch with all their tags.
func (t *Tags) original(i int, visible []metrics.Sample) []metrics.Sample {
	if i < len(t.originals) {
		return t.originals[i].GetSamples()
	}
	return visible
}

// strip takes the tags away that nobody asked for.
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

// withoutVU is what samples say apart from their virtual user.
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

// failedIn says whether the request that the samples are of failed: 1 for yes, -1 for no, 0 if nobody judged it.
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
