// Package result is what runs come to: the metrics of one run, whichever program made it, and what
// must be alike for two runs to be compared. It knows brunt's own record; other programs' files are
// read by dialects.
package result

import (
	"math"
	"time"

	"brunt/internal/record"
)

// Better says which way a metric should go.
type Better int

// The ways; a Neutral metric is told and never judged.
const (
	Neutral Better = iota
	Higher
	Lower
)

// Metric is one figure of a run.
type Metric struct {
	// Name is as thresholds have it: "rate", "count", "errors", "response.avg", "response.p(99)"; of scripts of k6
	// also "check …", and those of their own metrics.
	Name      string
	Operation string // "" of all operations together
	Unit      string // "per_s", "count", "share", "ns", "bytes" or "number"
	Better    Better
	Value     float64 // +Inf for a time without end
	// Within is the 95 % confidence interval within the run, nil if the run says nothing of it.
	Within *record.Bounds
}

// Result is a run as comparisons see it. What the program that made it doesn't tell is empty.
type Result struct {
	Path      string // where it was read
	Program   string // "brunt", "picostress", "k6", "go-ycsb", "pgbench"
	ID        string
	Name      string // of the plan, script or workload
	Started   time.Time
	Seed      string
	LoadModel string // "open", "closed" or "mixed"
	Sessions  int
	Verdict   string   // "pass", "fail", "invalid"
	Reasons   []string // of the verdict
	Killed    bool     // it ended before it was complete
	Servers   []string // product and version, sorted, each once
	Machine   *record.Environment
	Plan      []byte // as YAML
	PlanHash  string
	Metrics   []Metric

	at map[[2]string]int // of each name and operation in Metrics
}

// Quantiles are the quantiles of response times that results have, in percent.
func Quantiles() []float64 { return []float64{50, 90, 95, 99, 99.9} }

// Find is the metric of that name and operation, nil if there is none.
func (r *Result) Find(name, operation string) *Metric {
	i, ok := r.at[[2]string{name, operation}]
	if !ok {
		return nil
	}
	return &r.Metrics[i]
}

// Add adds a metric, once, whose unit and direction follow from its name. NaN is left out.
func (r *Result) Add(name, operation string, value float64) {
	m := Metric{Name: name, Operation: operation, Unit: "ns", Better: Lower, Value: value}
	switch name {
	case "rate":
		m.Unit, m.Better = "per_s", Higher
	case "count":
		m.Unit, m.Better = "count", Higher
	case "errors":
		m.Unit = "share"
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

// Succeeded reports whether anything did: a run without successes has nothing to compare.
func (r *Result) Succeeded() bool {
	m := r.Find("rate", "")
	if m == nil {
		m = r.Find("count", "")
	}
	return m != nil && m.Value > 0
}
