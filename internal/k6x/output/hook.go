//go:build !nok6

package output

import (
	"time"

	"go.k6.io/k6/v2/metrics"
)

// hook is a sink that k6's ingestion of samples calls. What it does then is in turn with the ingestion
// and with the judging of thresholds: k6 holds its lock.
type hook struct{ do func() }

var _ metrics.Sink = hook{}

func (h hook) Add(metrics.Sample) { h.do() }

func (h hook) Format(time.Duration) map[string]float64 { return nil }

func (h hook) IsEmpty() bool { return true }

// hookName begins with the name of a metric that no summary of k6 shows.
const hookName = metrics.GroupDurationName + "_brunt"

// newHook returns a metric that isn't in k6's registry. Its samples bring k6's sinks up to date: those
// with thresholds, or all.
func (o *Output) newHook(all bool) *metrics.Metric {
	return &metrics.Metric{Name: hookName, Type: metrics.Counter, Observed: true, Sink: hook{func() {
		if o.trends != nil {
			o.trends.Fill(all)
		}
		o.ours.fill(all)
		o.hooks.Add(-1)
	}}}
}

// longestIngestion bounds how long the end of a run waits for k6's ingestion, which looks for samples 20
// times a second.
const longestIngestion = 5 * time.Second

// waitForIngestion returns when k6 has ingested all samples, so that nobody uses its sinks.
func (o *Output) waitForIngestion() {
	if o.params.RuntimeOptions.NoThresholds.Bool && o.params.RuntimeOptions.SummaryMode.String == "disabled" {
		return // k6 ingests nothing
	}
	for end := time.Now().Add(longestIngestion); o.hooks.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// withHook adds a sample of the hook to a container, and once a sample of each metric of ours, so that k6
// shows them.
func (o *Output) withHook(c metrics.SampleContainer) metrics.SampleContainer {
	samples := c.GetSamples()
	at, tags := time.Now(), o.s.RootTags()
	if tags == nil {
		if len(samples) == 0 {
			return c
		}
		tags = samples[0].Tags.Without(metrics.TagScenario.String()).Without(metrics.TagGroup.String())
	}
	more := o.ours.first(at, tags)
	all := make(metrics.Samples, 0, len(samples)+len(more)+1)
	all = append(append(all, samples...), more...)
	o.hooks.Add(1)
	return append(all, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: o.hook, Tags: tags}, Time: at})
}
