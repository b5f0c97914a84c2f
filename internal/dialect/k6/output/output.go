// Package output receives the samples of a run of k6. Requests and iterations go into the run's record, Trends into
// memory of a fixed size.
package output

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/dialect/k6/trend"
	"brunt/internal/record"
)

// Name is the name of the output for k6's option -o.
const Name = "brunt"

// Output is the last of k6's outputs before those that k6 adds for itself, which read the same samples. It removes the
// samples that k6 need not keep in full.
type Output struct {
	s        *session.Session
	params   output.Params
	requests *requests
	trends   *trend.Keeper // nil: k6 keeps all values
	ours     *ourMetrics
	hook     *metrics.Metric
	figures  *figures
	hooks    atomic.Int64 // samples of hook that k6 hasn't ingested yet
	rules    map[string]metrics.Thresholds
	aborts   []abortRule                // with Host.Judged
	judged   time.Time                  // when these were passed on
	seen     map[string]*metrics.Metric // by name; those in rules have their values
	host     Host
	driven   map[string]bool // scenarios of brunt's executors, which count their iterations themselves
}

var (
	_ output.WithThresholds        = (*Output)(nil)
	_ output.WithStopWithTestError = (*Output)(nil)
	_ output.WithBuiltinMetrics    = (*Output)(nil)
)

// Host gives the output access to the surrounding k6.
type Host struct {
	Ended   func(session.Outcome) // receives how the run ended, as far as outputs know
	Outputs func() bool           // reports whether the user has asked for other outputs
	Served  func() bool           // reports whether k6's REST API shows metrics during the run
	Tags    *Tags                 // the first of k6's outputs
	// MayCall reports whether the script may make requests. If so, its iterations aren't operations, unless the run
	// ends without requests.
	MayCall func() bool
	// MaySetUp reports whether the script may have a function setup.
	MaySetUp func() bool
	// Sums returns the hashes of a script and of everything else that k6 read (imports and data), "" if there is none.
	Sums func(script string) (ofScript, ofOthers string)
	// Script is the name of the script in the record; "" means its path.
	Script string
	// Judged, if not nil, receives the thresholds that may end the load while it runs, since a coordinator judges them.
	// No threshold then ends the load here.
	Judged func([]record.AbortRule)
}

// New returns the constructor that k6 calls if the run uses this output.
func New(s *session.Session, host Host) output.Constructor {
	return func(p output.Params) (output.Output, error) {
		o := &Output{
			s: s, params: p, requests: &requests{s: s, known: map[kind]request{}}, ours: &ourMetrics{s: s}, host: host,
			seen: map[string]*metrics.Metric{}, figures: &figures{checks: map[string]*figure{},
				others: map[*metrics.Metric]*figure{}}, driven: map[string]bool{},
		}
		if boundable(&p) {
			o.trends = trend.NewKeeper()
		}
		if host.Tags.byVU {
			s.ReportsRequests()
		}
		for name, c := range p.ScriptOptions.Scenarios {
			o.driven[name] = strings.HasPrefix(c.GetType(), "brunt-")
		}
		o.hook = o.newHook(host.Served())
		return o, nil
	}
}

// boundable reports whether quantiles are enough for the summary at the end of the run. A summary by group and
// scenario, and the number of values of a Trend, need all values.
func boundable(p *output.Params) bool {
	if p.RuntimeOptions.SummaryMode.String == "full" || !trend.Supported() {
		return false
	}
	return !slices.Contains(p.ScriptOptions.SummaryTrendStats, "count")
}

// Description implements output.Output.
func (o *Output) Description() string { return Name + " (run bundle)" }

// SetThresholds implements output.WithThresholds.
func (o *Output) SetThresholds(rules map[string]metrics.Thresholds) {
	o.rules = rules
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		for _, t := range rules[name].Thresholds {
			if o.host.Judged != nil && t.AbortOnFail {
				o.aborts = append(o.aborts, abortRule{name, t})
				t.AbortOnFail = false
			}
			if before, after, lenient := strings.Cut(t.Source, "\t=="); lenient {
				t.Source = before + "==" + after
				o.params.Logger.Warnf("%s has a threshold with a single \"=\", which k6 no longer takes: it is read as %q", name,
					t.Source)
			}
		}
	}
}

// SetBuiltinMetrics implements output.WithBuiltinMetrics.
func (o *Output) SetBuiltinMetrics(m *metrics.BuiltinMetrics) {
	for _, m := range []*metrics.Metric{m.IterationDuration, m.Iterations, m.DroppedIterations, m.Checks,
		m.HTTPReqDuration, m.HTTPReqFailed, m.HTTPReqs, m.GRPCReqDuration, m.VUs, m.DataSent, m.DataReceived} {
		if m != nil {
			o.seen[m.Name] = m
		}
	}
}

// Start implements output.Output: it begins the record.
func (o *Output) Start() error {
	if err := partsByOperation(o.rules, o.s.Metrics()); err != nil && !o.params.RuntimeOptions.NoThresholds.Bool {
		return err
	}
	script := scriptOf(&o.params, o.host.Sums, o.host.Script)
	script.Figures, script.MayCall = o.figures, o.host.MayCall()
	script.Delay = delay(&o.params)
	o.s.SetPlace(placeOf(&o.params.ScriptOptions))
	script.MaySetUp = o.host.MaySetUp() && !o.params.ScriptOptions.NoSetup.Bool
	if o.host.Outputs() {
		o.s.Outputs(o.params.ScriptOptions.RunTags)
	}
	return o.s.Begin(script)
}

// delay returns how much later than the load the first scenario begins.
func delay(p *output.Params) time.Duration {
	var all []time.Duration
	for _, c := range p.ScriptOptions.Scenarios {
		all = append(all, c.GetStartTime())
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}

// AddMetricSamples implements output.Output.
func (o *Output) AddMetricSamples(batch []metrics.SampleContainer) {
	o.figures.mu.Lock()
	defer o.figures.mu.Unlock()
	for i, c := range batch {
		batch[i] = o.strip(c, o.host.Tags.original(i, c.GetSamples()))
	}
	if last := len(batch) - 1; last >= 0 {
		batch[last] = o.withHook(batch[last])
	}
}

// strip counts the samples of a container, and returns a container with those that k6 needs. tagged are the same
// samples with all their tags.
func (o *Output) strip(c metrics.SampleContainer, tagged []metrics.Sample) metrics.SampleContainer {
	samples := c.GetSamples()
	var kept metrics.Samples
	stripped := false
	for i := range samples {
		if samples[i].Metric.Name == metrics.HTTPReqDurationName || samples[i].Metric.Name == metrics.GRPCReqDurationName {
			o.requests.take(&tagged[i], failedIn(tagged, tagged[i].Time))
		}
		switch needed := o.take(&samples[i], &tagged[i]); {
		case needed && stripped:
			kept = append(kept, samples[i])
		case !needed && !stripped:
			stripped = true
			kept = append(make(metrics.Samples, 0, len(samples)+1), samples[:i]...)
		}
	}
	if !stripped {
		return c
	}
	return kept
}

// take counts a sample, and reports whether k6 needs it. tagged is the same sample with all its tags. brunt's own
// metrics get their values from the record instead.
func (o *Output) take(s, tagged *metrics.Sample) bool {
	if ours := o.s.Metrics(); ours != nil && ours.Named(s.Metric.Name) == s.Metric {
		o.seen[s.Metric.Name] = s.Metric
		return false
	}
	switch s.Metric.Name {
	case metrics.DataSentName: // k6 makes this sample at the end of each of a script's functions
		if group, _ := tagged.Tags.Get(metrics.TagGroup.String()); group == "::setup" {
			o.s.SetUpAt(s.Time)
		}
	case metrics.VUsName:
		o.s.ActiveVUs(int64(s.Value))
	case metrics.IterationsName:
		o.s.Iterations(uint64(s.Value), s.Time)
	case metrics.IterationDurationName:
		switch scenario, ok := tagged.Tags.Get(metrics.TagScenario.String()); {
		case o.driven[scenario]:
			o.s.IterationReported(vuOf(tagged), scenario)
		case !ok:
			o.s.Iteration("default", s.Value, s.Time)
		default:
			o.s.Iteration(scenario, s.Value, s.Time)
		}
	case metrics.DroppedIterationsName:
		scenario, _ := tagged.Tags.Get(metrics.TagScenario.String())
		o.s.Dropped(scenario, uint64(s.Value))
	}
	o.figures.add(s, tagged)
	if _, known := o.seen[s.Metric.Name]; !known {
		o.seen[s.Metric.Name] = s.Metric
	}
	if s.Metric.Type != metrics.Trend || o.trends == nil {
		return true
	}
	return o.trends.Keep(s)
}

// Stop implements output.Output.
func (o *Output) Stop() error { return o.StopWithTestError(nil) }

// StopWithTestError implements output.WithStopWithTestError. k6 has already judged its thresholds by then.
func (o *Output) StopWithTestError(err error) error {
	o.s.Settled()
	o.waitForIngestion()
	if o.trends != nil {
		o.trends.Fill(true)
	}
	o.ours.fill(true)
	out := session.Outcome{Thresholds: o.thresholds(), Watched: o.watched()}
	if err != nil {
		out.Why, _, _ = strings.Cut(secret.Text(err.Error()), "\n")
		if code, ok := errors.AsType[errext.HasExitCode](err); ok {
			out.Code = int(code.ExitCode())
		}
	}
	o.host.Ended(out)
	return nil
}

// hook is a sink whose function k6 calls when it ingests a sample. k6 holds its lock then, so the function can't run at
// the same time as the ingestion or the judging of thresholds.
type hook struct{ do func() }

var _ metrics.Sink = hook{}

func (h hook) Add(metrics.Sample) { h.do() }

func (h hook) Format(time.Duration) map[string]float64 { return nil }

func (h hook) IsEmpty() bool { return true }

// hookName begins with the name of a metric that k6's summaries never show.
const hookName = metrics.GroupDurationName + "_brunt"

// newHook returns a metric that isn't in k6's registry. Ingesting its samples updates k6's sinks: those with
// thresholds, or all of them.
func (o *Output) newHook(all bool) *metrics.Metric {
	return &metrics.Metric{Name: hookName, Type: metrics.Counter, Observed: true, Sink: hook{func() {
		if o.trends != nil {
			o.trends.Fill(all)
		}
		o.ours.fill(all)
		o.judge()
		o.hooks.Add(-1)
	}}}
}

// longestIngestion is how long the end of a run waits for k6's ingestion, which polls for samples 20 times a second.
const longestIngestion = 5 * time.Second

// waitForIngestion waits until k6 has ingested all samples, and no longer uses its sinks.
func (o *Output) waitForIngestion() {
	if o.params.RuntimeOptions.NoThresholds.Bool && o.params.RuntimeOptions.SummaryMode.String == "disabled" {
		return // k6 ingests nothing
	}
	for end := time.Now().Add(longestIngestion); o.hooks.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// withHook adds a sample of the hook to a container. Once, it also adds a sample of each of brunt's metrics, so that k6
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
