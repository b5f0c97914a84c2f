package timeline

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"brunt/internal/protocol"
)

// Columns are the figures of a timeline by slot, in the form that a page's script reads.
type Columns struct {
	Start   []float64 `json:"start"` // s since the run's start
	End     []float64 `json:"end"`
	WarmUp  []int     `json:"warmUp"`
	Rate    []Number  `json:"rate"` // successes a second
	Low     []Number  `json:"rateLow"`
	High    []Number  `json:"rateHigh"`
	Offered []Number  `json:"offered"`
	P50     []Number  `json:"p50"` // response time, ns
	P90     []Number  `json:"p90"`
	P99     []Number  `json:"p99"`
	Max     []Number  `json:"max"`
	S50     []Number  `json:"service50"`
	S99     []Number  `json:"service99"`
	// F and B are the times of streams to the first message and between messages, ns; absent if there were no streams.
	F50     []Number            `json:"first50,omitempty"`
	F99     []Number            `json:"first99,omitempty"`
	B50     []Number            `json:"between50,omitempty"`
	B99     []Number            `json:"between99,omitempty"`
	Errors  map[string][]Number `json:"errors"` // by class, a second
	Unsent  []Number            `json:"unsent"`
	NoAns   []uint64            `json:"noAnswer"` // arrivals without a good answer
	Backlog []Number            `json:"backlog"`
	Busy    []Number            `json:"busy"`
	CPU     []Number            `json:"cpu"` // cores
	CPUHigh []Number            `json:"cpuHigh"`
	Others  []Number            `json:"others"` // cores
	Steal   []Number            `json:"steal"`  // cores
	Loop    []Number            `json:"loop"`   // share
	RSS     []Number            `json:"rss"`    // bytes
	Paused  []Number            `json:"paused"` // s
	// Sketches are the slots' distributions of response and service time, alternating; see Sketch.append.
	Sketches string `json:"sketches"`
}

// Number is a figure with four significant digits. In JSON it is null if it is NaN or infinite.
type Number float64

// MarshalJSON writes the number in a short form.
func (n Number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return []byte("null"), nil
	case v == math.Trunc(v) && math.Abs(v) < 1e5:
		return strconv.AppendInt(nil, int64(v), 10), nil
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) >= 1e4 && math.Abs(f) < 1e15 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return []byte(s), nil
}

// Columns returns the figures of the slots, beginning with slot from.
func (t *Timeline) Columns(from int) *Columns {
	c := &Columns{Errors: map[string][]Number{}, Start: []float64{}, End: []float64{}, WarmUp: []int{}, NoAns: []uint64{}}
	for _, column := range []*[]Number{&c.Rate, &c.Low, &c.High, &c.Offered, &c.P50, &c.P90, &c.P99, &c.Max, &c.S50,
		&c.S99, &c.Unsent, &c.Backlog, &c.Busy, &c.CPU, &c.CPUHigh, &c.Others, &c.Steal, &c.Loop, &c.RSS, &c.Paused} {
		*column = []Number{} // an empty list in JSON, not null
	}
	slots := t.Slots[min(from, len(t.Slots)):]
	var bytes []byte
	for i := range slots {
		c.add(&slots[i])
		bytes = slots[i].Service.append(slots[i].Response.append(bytes))
	}
	if slices.ContainsFunc(slots, Slot.Streamed) {
		for i := range slots {
			first, between := slots[i].First, slots[i].Between
			c.F50, c.F99 = append(c.F50, Number(first.Quantile(.5, 0))), append(c.F99, Number(first.Quantile(.99, 0)))
			c.B50, c.B99 = append(c.B50, Number(between.Quantile(.5, 0))), append(c.B99, Number(between.Quantile(.99, 0)))
		}
	}
	for class := protocol.Class(1); int(class) < protocol.NumClasses; class++ {
		var all []Number
		seen := false
		for i := range slots {
			all = append(all, Number(slots[i].PerS(slots[i].Errors[class])))
			seen = seen || slots[i].Errors[class] > 0
		}
		if seen {
			c.Errors[class.String()] = all
		}
	}
	c.Sketches = base64.StdEncoding.EncodeToString(bytes)
	return c
}

func (c *Columns) add(s *Slot) {
	put := func(to *[]Number, v float64) { *to = append(*to, Number(v)) }
	c.Start, c.End = append(c.Start, seconds(s.StartNs)), append(c.End, seconds(s.EndNs))
	warm := 0
	if s.WarmUp {
		warm = 1
	}
	c.WarmUp = append(c.WarmUp, warm)
	put(&c.Rate, s.RatePerS())
	put(&c.Low, s.RateLow)
	put(&c.High, s.RateHigh)
	offered := math.NaN()
	if s.Open {
		offered = s.PerS(s.Offered)
	}
	put(&c.Offered, offered)
	put(&c.P50, s.Response.Quantile(0.5, s.NoAnswer))
	put(&c.P90, s.Response.Quantile(0.9, s.NoAnswer))
	put(&c.P99, s.Response.Quantile(0.99, s.NoAnswer))
	put(&c.Max, s.Max())
	put(&c.S50, s.Service.Quantile(0.5, 0))
	put(&c.S99, s.Service.Quantile(0.99, 0))
	put(&c.Unsent, s.PerS(s.Dropped))
	c.NoAns = append(c.NoAns, s.NoAnswer)
	put(&c.Backlog, float64(s.Backlog))
	put(&c.Busy, float64(s.Busy))
	put(&c.CPU, s.CPU)
	put(&c.CPUHigh, s.CPUHigh)
	observed := float64(max(s.ObservedNs, 1))
	put(&c.Others, float64(s.OthersNs)/observed)
	put(&c.Steal, float64(s.StealNs)/observed)
	put(&c.Loop, s.LoopBusyHigh)
	put(&c.RSS, float64(s.RSSBytes))
	put(&c.Paused, float64(s.PausedNs)/1e9)
}

func seconds(ns int64) float64 { return math.Round(float64(ns)/1e6) / 1e3 }
