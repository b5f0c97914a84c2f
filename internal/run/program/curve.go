package program

import (
	"cmp"
	"math"
	"slices"

	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
	"brunt/internal/render/message"
)

// Curve describes how a target behaves under load, from the trials that say something about it.
type Curve struct {
	Points []Result `json:"-"` // by rate
	// Knee is the load with the greatest power, which is throughput ÷ median response time (Kleinrock 1979). It is 0
	// unless loads below and above it were tried.
	KneeN    float64 `json:"knee_n,omitempty"`
	KneePerS float64 `json:"knee_per_s,omitempty"`
	// Law is the Universal Scalability Law of throughput by operations in flight. It is nil, with the reason, if it
	// can't be fitted or explains less than nine tenths of the throughputs' variance.
	Law    *stats.USL      `json:"usl,omitempty"`
	LawWhy message.Message `json:"usl_why,omitzero"`
	// LawPeak is the concurrency with the law's greatest throughput, LawPeakPerS. Both are 0 if it lies beyond the
	// measured concurrency, about which the trials say nothing.
	LawPeak     float64 `json:"usl_peak,omitempty"`
	LawPeakPerS float64 `json:"usl_peak_per_s,omitempty"`
}

// leastR2 is the share of the throughputs' variance that the scalability law must explain.
const leastR2 = 0.9

// Curve returns the load curve of the trials so far.
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
	// If the greatest power is at the lowest or highest load tried, the true knee may lie beyond it.
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
