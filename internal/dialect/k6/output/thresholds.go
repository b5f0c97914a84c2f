package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"

	"brunt/internal/base/finite"
	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/secret"
	"brunt/internal/dialect/k6/executor"
	"brunt/internal/dialect/k6/native"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/record"
)

// aggregation matches a threshold of k6: the aggregation, such as "p(95)" or "rate", the comparison, and the limit.
var aggregation = lazyregexp.New(`^\s*(p\(\s*[0-9.]+\s*\)|[a-z]+)\s*([<>=!]+)\s*([-+0-9.eE]+)`)

// thresholds returns k6's thresholds as k6 has judged them.
func (o *Output) thresholds() (out []record.Threshold) {
	for name, rules := range o.rules {
		sink, contains := o.sink(name)
		for _, t := range rules.Thresholds {
			r := measured(name, t, sink, contains)
			r.Pass, r.Aborted = !t.LastFailed, t.LastFailed && rules.Abort
			if empty := o.ours.empty[t]; empty || sink != nil && valuesOf(sink) == 0 && r.Pass &&
				!o.params.RuntimeOptions.NoThresholds.Bool {
				if _, counter := sink.(*metrics.CounterSink); empty || !counter {
					r.Value, r.Aggregate = record.Figure(math.NaN()), withoutValues(r.Aggregate)
					o.s.NoData(r.Text, empty)
				}
			}
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record.Threshold) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// measured returns a threshold with its current value, if its metric has a sink.
func measured(name string, t *metrics.Threshold, sink metrics.Sink, contains metrics.ValueType) record.Threshold {
	r := record.Threshold{Text: secret.Text(name) + ": " + t.Source, Unit: "count"}
	m := aggregation().FindStringSubmatch(t.Source)
	if m == nil || sink == nil {
		return r
	}
	limit, _ := strconv.ParseFloat(m[3], 64)
	value := valueOf(sink, strings.ReplaceAll(m[1], " ", ""))
	r.Value, r.Limit = record.Figure(value), limit
	if contains == metrics.Time && m[1] != "rate" && m[1] != "count" {
		r.Unit, r.Value, r.Limit = "ns", record.Figure(value*1e6), limit*1e6
	} else if _, counter := sink.(*metrics.CounterSink); m[1] == "rate" && counter {
		r.Unit = "per_s"
	} else if m[1] == "rate" {
		r.Unit = "fraction"
	}
	r.Aggregate = &record.Aggregate{How: m[1], Holds: m[2], Values: valuesOf(sink)}
	return r
}

// abortRule is a threshold that may end the load.
type abortRule struct {
	name string // of its metric
	*metrics.Threshold
}

// judgedEvery is how often values of thresholds are passed on, at most.
const judgedEvery = 200 * time.Millisecond

// judge passes on the thresholds that may end the load. k6 holds its lock, so the sinks don't change.
func (o *Output) judge() {
	if o.host.Judged == nil || time.Since(o.judged) < judgedEvery {
		return
	}
	o.judged = time.Now()
	rules := []record.AbortRule{}
	o.figures.mu.Lock() // for the metrics that were seen
	defer o.figures.mu.Unlock()
	for _, t := range o.aborts {
		sink, contains := o.sink(t.name)
		rules = append(rules, record.AbortRule{Threshold: measured(t.name, t.Threshold, sink, contains),
			DelayNs: int64(t.AbortGracePeriod.Duration)})
	}
	o.host.Judged(rules)
}

func withoutValues(a *record.Aggregate) *record.Aggregate {
	if a != nil {
		a.Values = 0
	}
	return a
}

// partsByOperation returns an error if a threshold names a submetric of brunt's metrics by another tag than operation.
// What is recorded without k6's samples has no other tags.
func partsByOperation(rules map[string]metrics.Thresholds, ours *session.Metrics) error {
	if ours == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		base, tags, err := metrics.ParseMetricName(name)
		if err != nil || ours.Named(base) == nil {
			continue
		}
		for _, tag := range tags {
			key, _, _ := strings.Cut(tag, ":")
			if key = strings.Trim(key, `"' `); key != session.TagOperation {
				err := fmt.Errorf("threshold on %s: there are no parts of %s by %q, only by operation: %s{%s:NAME}",
					name, base, key, base, session.TagOperation)
				return errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
			}
		}
	}
	return nil
}

// sink returns the sink of the metric or submetric that a threshold names.
func (o *Output) sink(name string) (metrics.Sink, metrics.ValueType) {
	base, _, _ := strings.Cut(name, "{")
	m := o.seen[base]
	if ours := o.s.Metrics(); m == nil && ours != nil {
		m = ours.Named(base)
	}
	if m == nil {
		return nil, metrics.Default
	}
	if base == name {
		return m.Sink, m.Contains
	}
	for _, sub := range m.Submetrics {
		if sub.Name == name || strings.ReplaceAll(sub.Name, " ", "") == strings.ReplaceAll(name, " ", "") {
			return sub.Metric.Sink, m.Contains
		}
	}
	return nil, metrics.Default
}

// valuesOf returns how many values a sink has received; for a counter, its sum.
func valuesOf(sink metrics.Sink) float64 {
	switch s := sink.(type) {
	case *metrics.CounterSink:
		return s.Value
	case *metrics.RateSink:
		return float64(s.Total)
	case *metrics.TrendSink:
		return float64(s.Count())
	case *metrics.GaugeSink:
		if !s.IsEmpty() {
			return 1
		}
	}
	return 0
}

// valueOf returns a sink's value for an aggregation, NaN if it has none.
func valueOf(sink metrics.Sink, what string) float64 {
	if t, ok := sink.(*metrics.TrendSink); ok && strings.HasPrefix(what, "p(") {
		p, err := strconv.ParseFloat(strings.Trim(what, "p()"), 64)
		if err == nil && p >= 0 && p <= 100 {
			return t.P(p / 100)
		}
	}
	if v, ok := sink.Format(0)[what]; ok {
		return v
	}
	return math.NaN()
}

// scriptOf describes the run for its record, with the script's path, or shown if that isn't "". The script itself isn't
// stored, since it may contain secrets.
func scriptOf(p *output.Params, sums func(string) (string, string), shown string) session.Script {
	ofScript, ofOthers := sums(p.ScriptPath.Path)
	path := cmp.Or(shown, p.ScriptPath.Path)
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if name == "-" || name == "" || name == "." || name == "/" {
		name = "stdin"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# A run of k6: its script is the plan.\nname: %q\nscript: %q\n", name, path)
	if ofScript != "" {
		fmt.Fprintf(&text, "sha256: %s\n", ofScript)
	}
	if ofOthers != "" {
		fmt.Fprintf(&text, "imports_sha256: %s\n", ofOthers)
	}
	open, closed, native := 0, 0, 0
	names := slices.Sorted(maps.Keys(p.ScriptOptions.Scenarios))
	if len(names) > 0 {
		text.WriteString("scenarios:\n")
	}
	for _, scenario := range names {
		c := p.ScriptOptions.Scenarios[scenario]
		fmt.Fprintf(&text, "  %q: %s\n", scenario, settings(c))
		if c.GetType() == executor.NativeType {
			native++
		}
		if o, ok := c.(interface{ Open() bool }); ok && o.Open() {
			open++
		} else {
			closed++
		}
	}
	model := "mixed"
	switch {
	case open == 0:
		model = "closed"
	case closed == 0:
		model = "open"
	}
	script := session.Script{Name: name, Text: []byte(text.String()), LoadModel: model, Native: native == len(names) &&
		native > 0}
	options := &p.ScriptOptions
	// k6 has checked them
	if et, err := lib.NewExecutionTuple(options.ExecutionSegment, options.ExecutionSegmentSequence); err == nil {
		if all := et.Sequence.ExecutionSegmentSequence; len(all) > 1 {
			script.Cut, script.Part, script.Parts = all.String(), et.SegmentIndex, len(all)
		}
	}
	return script
}

// settings returns a scenario's options as JSON, without the target and anything that may be secret: the script's
// environment variables are left out, and the text of a plan is replaced by its hash.
func settings(c lib.ExecutorConfig) []byte {
	data, err := finite.Marshal(c)
	var all map[string]any
	if cmp.Or(err, json.Unmarshal(data, &all)) != nil {
		all = map[string]any{"executor": c.GetType()}
	}
	for name, value := range all {
		if value == nil || slices.Contains([]string{"env", "addresses", "user", "password"}, name) {
			delete(all, name)
		}
	}
	if text, ok := all["plan"].(string); ok && native.Inline(text) {
		all["plan"] = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(text)))
	}
	data, _ = finite.Marshal(all)
	return data
}
