package program

import (
	"cmp"
	"math"
	"slices"

	"brunt/internal/message"
	"brunt/internal/stats"
	"brunt/internal/verdict"
)

// Curve is how a target behaves under load, from the trials that say something of it.
type Curve struct {
	Points []Result `json:"-"` // by rate
	// Knee is the load at which the target gives the most operations for the time that each takes:
	// throughput ÷ median response time is greatest (Kleinrock 1979: power). 0 unless loads below and above it were tried.
	KneeN    float64 `json:"knee_n,omitempty"`
	KneePerS float64 `json:"knee_per_s,omitempty"`
	// Law is the Universal Scalability Law of throughput by operations in flight, nil where it can't be
	// fitted or explains less than nine tenths of the throughputs' variance, with the reason.
	Law    *stats.USL      `json:"usl,omitempty"`
	LawWhy message.Message `json:"usl_why,omitzero"`
	// LawPeak is the concurrency at which the law has its greatest throughput, LawPeakPerS; 0 where that
	// lies beyond the concurrency measured, of which the trials say nothing.
	LawPeak     float64 `json:"usl_peak,omitempty"`
	LawPeakPerS float64 `json:"usl_peak_per_s,omitempty"`
}

// leastR2 is the share of the throughputs' variance from which on the scalability law is taken to hold.
const leastR2 = 0.9

// Curve makes the load curve of the trials so far.
func (s *Search) Curve() Curve {
	c := Curve{}
	for i := range s.results {
		if r := &s.results[i]; r.Verdict != verdict.Invalid && !r.TooFew {
			c.Points = append(c.Points, *r)
		}
	}
	slices.SortStableFunc(c.Points, func(a, b Result) int { return cmp.Compare(a.N, b.N) })
	best := 0.0
	var n, x []float64
	most := 0.0
	for i := range c.Points {
		p := &c.Points[i]
		if power := p.AchievedPerS / float64(p.P50Ns); p.P50Ns > 0 && power > best {
			best, c.KneeN, c.KneePerS = power, p.N, p.AchievedPerS
		}
		if p.InFlight > 0 && p.AchievedPerS > 0 {
			n, x = append(n, p.InFlight), append(x, p.AchievedPerS)
			most = max(most, p.InFlight)
		}
	}
	// A greatest power at the lowest or highest load that was tried may lie beyond it.
	if k := len(c.Points) - 1; k >= 0 && (c.KneeN == c.Points[0].N || c.KneeN == c.Points[k].N) {
		c.KneeN, c.KneePerS = 0, 0
	}
	law, err := stats.FitUSL(n, x)
	if err == nil && !(law.R2 >= leastR2) {
		err = message.Errorf("usl.poor", message.Number("r2", law.R2))
	}
	if err != nil {
		c.LawWhy = message.OfError(err)
		return c
	}
	c.Law = &law
	if peak := law.Peak(); !math.IsInf(peak, 1) && peak <= most {
		c.LawPeak, c.LawPeakPerS = peak, law.At(peak)
	}
	return c
}
