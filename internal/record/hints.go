package record

import (
	"math"
	"time"

	"brunt/internal/measure"
	"brunt/internal/measure/hints"
)

// MaxHints is how many hints a record keeps. A load that stalls every few seconds for days has more than anyone reads.
const MaxHints = 1000

// Hint is a change that was detected while the load ran; see hints.Hint. It may be worth investigating but proves
// nothing.
type Hint struct {
	Interval  int       `json:"interval"`        // index of the interval in which it was detected
	Time      time.Time `json:"time"`            // where that interval ended
	AtNs      int64     `json:"at_ns"`           // the same time on the run's clock
	BeganNs   int64     `json:"began_ns"`        // estimated start of the interval in which the change began
	LengthNs  int64     `json:"length_ns"`       // of that interval
	Metric    string    `json:"metric"`          // "p99" (ns), "throughput" (/s), "errors" (share), "generator" (ns)
	Operation string    `json:"operation"`       // "all", or one operation's name
	Kind      string    `json:"kind"`            // "step-up", "step-down", "pause", "recovery", "start-up", "periodic"
	From      float64   `json:"from"`            // median before, in the metric's unit; of "periodic" the period, ns
	To        float64   `json:"to"`              // median after
	Ratio     float64   `json:"ratio,omitempty"` // to ÷ from; absent if from is 0
}

// allOperations is the name that hints and Run.Total use for all operations together.
const allOperations = "all"

// HintTaker detects changes in the intervals of a run and adds them to the run's record. It must be used by one
// goroutine only.
type HintTaker struct {
	run      *Run
	detector *hints.Detector
	told     func(Hint)
}

var _ measure.Sink = (*HintTaker)(nil)

// NewHintTaker returns the taker for run, which must already list its operations. told, if not nil, is called with
// every hint as it is detected.
func NewHintTaker(run *Run, told func(Hint)) *HintTaker {
	return &HintTaker{run: run, detector: hints.New(len(run.Operations)), told: told}
}

// Interval implements measure.Sink. It never fails.
func (t *HintTaker) Interval(iv *measure.Interval) error {
	for _, h := range t.detector.Interval(iv) {
		hint := t.hint(&h, iv)
		if len(t.run.Hints) < MaxHints {
			t.run.Hints = append(t.run.Hints, hint)
		} else {
			t.run.HintsMore++
		}
		if t.told != nil {
			t.told(hint)
		}
	}
	return nil
}

func (t *HintTaker) hint(h *hints.Hint, iv *measure.Interval) Hint {
	length := iv.EndNs - iv.StartNs
	out := Hint{
		Interval: h.Interval, Time: time.Unix(0, iv.UnixNs+length).UTC(), AtNs: iv.EndNs, BeganNs: h.BeganNs,
		LengthNs: length,
		Metric:   string(h.Metric), Operation: allOperations, Kind: string(h.Kind), From: h.From, To: h.To,
	}
	if h.Operation >= 0 && h.Operation < len(t.run.Operations) {
		out.Operation = t.run.Operations[h.Operation].Name
	}
	if !math.IsInf(h.Ratio, 0) && !math.IsNaN(h.Ratio) {
		out.Ratio = h.Ratio
	}
	return out
}

// Filled adds to an interval read from a record the empty histograms that the record leaves out, and returns it.
func Filled(iv *measure.Interval) *measure.Interval {
	for i := range iv.Operations {
		if o := &iv.Operations[i]; o.Response == nil {
			o.Response = measure.NewHistogram()
		}
	}
	return iv
}
