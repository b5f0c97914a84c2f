// Package result defines the result of a run, whichever program made it: its metrics, and the properties that must be
// equal for two runs to be compared. It reads brunt's own record; dialects read the files of other programs.
package result

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Metric is one metric of a run.
type Metric struct {
	// Name is written as in thresholds: "rate", "count", "errors", "response.avg", "response.p(99)". For k6 scripts
	// there are also "check …" and the script's own metrics.
	Name      string
	Operation string // "" for all operations together
	Unit      string // "per_s", "count", "share", "ns", "bytes" or "number"
	Better    metric.Better
	Value     float64 // +Inf for an infinite time
	// Within is the 95 % confidence interval within the run, nil if it is unknown.
	Within *record.Bounds
}

// Result is a run as comparisons need it. Fields are empty if the program that made the run doesn't report them.
type Result struct {
	Path      string // the file or folder that it was read from
	Program   string // "brunt", "picostress", "k6", "go-ycsb", "pgbench"
	ID        string
	Name      string // of the plan, script or workload
	Started   time.Time
	Seed      string
	LoadModel string // "open", "closed" or "mixed"
	Sessions  int
	Verdict   string            // "pass", "fail", "invalid"
	Reasons   []message.Message // of the verdict
	Killed    bool              // it ended before it was complete
	Servers   []string          // product and version, sorted, without duplicates
	Machine   *record.Environment
	Plan      []byte // as YAML
	PlanHash  string
	Metrics   []Metric
	Sums      []record.ResponseSum // what responses are made of; none if nothing is known of what the server did in them
	Profiles  []record.Profile     // of services during the load

	at map[[2]string]int // index in Metrics by name and operation
}

// Format is a format of results that another program writes.
type Format struct {
	About string // its name in messages, such as "the output of pgbench"
	// Is reports whether a text is in this format. The text isn't empty and has no white space around it. keys are the
	// members of its JSON object, nil if it isn't one.
	Is    func(text []byte, keys map[string]json.RawMessage) bool
	Parse func(text []byte) (*Result, error)
}

// Quantiles returns the quantiles of response times that results have, in percent.
func Quantiles() []float64 { return []float64{50, 90, 95, 99, 99.9} }

// Find returns the metric with that name and operation, nil if there is none.
func (r *Result) Find(name, operation string) *Metric {
	i, ok := r.at[[2]string{name, operation}]
	if !ok {
		return nil
	}
	return &r.Metrics[i]
}

// Add adds a metric. Its unit and direction follow from its name. NaN values are left out.
func (r *Result) Add(name, operation string, value float64) {
	m := Metric{Name: name, Operation: operation, Unit: metric.Nanoseconds, Better: metric.Lower, Value: value}
	if known := metric.Find(name); known != nil {
		m.Unit, m.Better = known.UnitOf(known.Compared()), known.Better
		if m.Unit == metric.Fraction {
			m.Unit = "share"
		}
	}
	r.add(m)
}

func (r *Result) add(m Metric) {
	if math.IsNaN(m.Value) {
		return
	}
	if r.at == nil {
		r.at = map[[2]string]int{}
	}
	r.at[[2]string{m.Name, m.Operation}] = len(r.Metrics)
	r.Metrics = append(r.Metrics, m)
}

// Succeeded reports whether any operation succeeded. A run without successes has nothing to compare.
func (r *Result) Succeeded() bool {
	m := r.Find("rate", "")
	if m == nil {
		m = r.Find("count", "")
	}
	return m != nil && m.Value > 0
}

// Of returns the result of one of brunt's own runs. Metrics have the meaning that they have in thresholds: see package
// metric. Response times are those of all arrivals; an arrival without an answer counts as slower than all others.
func Of(run *record.Run) *Result {
	r := &Result{
		Program: "brunt", ID: run.ID, Name: run.Name, Started: run.Started, Seed: strconv.FormatUint(run.Seed, 10),
		LoadModel: run.LoadModel, Sessions: run.Sessions, Verdict: run.Verdict.Result, Reasons: run.Verdict.Reasons,
		Killed: !run.Complete || run.Interrupted, Machine: &run.Environment, PlanHash: run.PlanHash,
		Sums: run.KnownSums(), Profiles: run.Profiles,
	}
	for _, t := range run.Targets {
		if s := strings.TrimSpace(t.Product + " " + t.Version); s != "" && !slices.Contains(r.Servers, s) {
			r.Servers = append(r.Servers, s)
		}
	}
	slices.Sort(r.Servers)
	r.addOperation("", &run.Total)
	if len(run.Operations) > 1 {
		for i := range run.Operations {
			r.addOperation(run.Operations[i].Name, &run.Operations[i])
		}
	}
	for i := range run.Watched {
		if w := &run.Watched[i]; w.Source == record.WatchedScript && run.Complete {
			r.addScript(w)
		}
	}
	return r
}

// ofK6 reports whether a metric is one that k6 itself adds to every script or request. These are left out: they are
// already among the operations, or say nothing about the server.
func ofK6(metric string) bool {
	begins := []string{"iterations", "iteration_duration", "dropped_iterations", "data_", "group_duration", "grpc_", "ws_",
		"http_"}
	return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(metric, b) })
}

// addScript adds the metrics of a k6 script over the whole run: the share of successes of each check, and the script's
// own metrics. For those it isn't known whether higher or lower is better.
func (r *Result) addScript(w *record.Watched) {
	for _, m := range w.Metrics {
		of := Metric{Name: m.Name, Unit: m.Unit, Value: m.Mean}
		switch {
		case m.Name == "checks", strings.HasPrefix(m.Name, record.WatchedCheck):
			of.Better = metric.Higher
		case ofK6(m.Name):
			continue
		case m.Unit == "seconds":
			of.Unit, of.Value = "ns", 1e9*m.Mean
		case m.Unit == "count": // a count, or a mean of numbers without a unit
			of.Unit = "number"
		}
		r.add(of)
	}
}

func (r *Result) addOperation(name string, o *record.Operation) {
	if o.Arrivals() == 0 {
		return
	}
	r.Add("rate", name, o.RatePerS)
	r.Find("rate", name).Within = o.RateWithin
	times := o.Times()
	for i, d := range measure.Declared() {
		if m := metric.Find(d.Metric); m != nil && m.Tolerance > 0 {
			r.addTimes(m.Name, name, times[i])
		}
	}
	r.addMeans(name, o)
	for i := range metric.All {
		if m := &metric.All[i]; !m.Times && !m.PerS && m.Tolerance > 0 && (!m.Open || r.LoadModel != "closed") {
			r.Add(m.Name, name, m.Of(o.Number, 0, m.Compared()))
		}
	}
}

// addTimes adds the mean and the quantiles of a distribution, with their intervals, if it isn't empty.
func (r *Result) addTimes(metric, operation string, l *record.Latency) {
	within := l.Within.All()
	if l.Count > 0 {
		r.Add(metric+".avg", operation, l.MeanNs)
		if within != nil {
			r.Find(metric+".avg", operation).Within = within[0]
		}
	}
	if l.Count+l.NoAnswer == 0 {
		return
	}
	for _, q := range Quantiles() {
		name := quantileName(metric, q)
		r.Add(name, operation, quantileOf(l, q))
		if k := boundsOf(q); within != nil && k >= 0 {
			r.Find(name, operation).Within = within[k]
		}
	}
}

// addMeans adds the mean times of streams' messages of older records, which have no distributions of them.
func (r *Result) addMeans(operation string, o *record.Operation) {
	if o.Streams > 0 && o.StreamFirst.Count == 0 {
		r.Add("first.avg", operation, float64(o.StreamFirstNs)/float64(o.Streams))
	}
	if n := o.StreamMessages - o.Streams; n > 0 && o.StreamBetween.Count == 0 {
		r.Add("between.avg", operation, float64(o.StreamBetweenNs)/float64(n))
	}
}

// boundsOf returns the index of a quantile, in percent, in record.Within.All; −1 if it isn't there. It compares with a
// tolerance, since 99.9/100 isn't 0.999 in floating point.
func boundsOf(percent float64) int {
	for k, q := range record.Quantiles {
		if math.Abs(100*q-percent) < 1e-9 {
			return k + 1
		}
	}
	return -1
}

func quantileOf(l *record.Latency, q float64) float64 {
	ns := map[float64]record.Ns{50: l.P50Ns, 90: l.P90Ns, 95: l.P95Ns, 99: l.P99Ns, 99.9: l.P999Ns}[q]
	if ns == record.Infinite {
		return math.Inf(1)
	}
	return float64(ns)
}

// QuantileName returns the name of the metric for a quantile of response times in percent.
func QuantileName(q float64) string { return quantileName("response", q) }

func quantileName(metric string, q float64) string {
	return metric + ".p(" + strconv.FormatFloat(q, 'f', -1, 64) + ")"
}
