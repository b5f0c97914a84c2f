package program

import (
	"cmp"
	"slices"

	"brunt/internal/judge/verdict"
)

// The ways in which a search ends.
const (
	Found          = "found"
	AtHighest      = "passes at the highest load allowed"
	AtLowest       = "fails at the lowest load allowed"
	GeneratorLimit = "limited by the generator"
	OutOfTrials    = "out of trials"
	Stopped        = "stopped"
)

// Bracket is the result of a search: the target sustains the load of Lower and doesn't sustain that of Upper. Either
// may be 0: see End.
type Bracket struct {
	End         string  `json:"end"`
	Lower       float64 `json:"lower_n"`
	Upper       float64 `json:"upper_n"`
	LowerPerS   float64 `json:"lower_per_s"`  // the least rate achieved in the trials at Lower
	UpperPerS   float64 `json:"upper_per_s"`  // rate requested at Upper
	Confirmed   int     `json:"confirmed"`    // trials that Lower passed
	Refuted     int     `json:"refuted"`      // trials that Upper failed
	PassedOver  int     `json:"passed_over"`  // trials that were passed between Lower and Upper
	FailedShort int     `json:"failed_short"` // trials that were failed between them
	Unsettled   bool    `json:"unsettled"`    // the ends have not passed or failed the required number of trials
	TrialsDone  int     `json:"trials"`
}

// Width returns the bracket's width as a share of its lower end, or 0 if an end is missing.
func (b *Bracket) Width() float64 {
	if b.Lower == 0 || b.Upper == 0 {
		return 0
	}
	return b.Upper/b.Lower - 1
}

// Bracket returns the bracket of the results so far.
func (s *Search) Bracket() Bracket {
	_, _, over := s.decide()
	z := zoneOf(s.points())
	b := Bracket{End: over, TrialsDone: len(s.results)}
	switch {
	case over != "":
	case len(s.results) >= s.o.Trials:
		b.End = OutOfTrials
	default:
		b.End = Stopped
	}
	if z.low != nil {
		b.Lower, b.Confirmed = z.low.n, z.low.passes
		for i := range s.results {
			if r := &s.results[i]; r.N == b.Lower && r.Verdict == verdict.Pass &&
				(b.LowerPerS == 0 || r.AchievedPerS < b.LowerPerS) {
				b.LowerPerS = r.AchievedPerS
			}
		}
	}
	if z.high != nil {
		b.Upper, b.Refuted, b.UpperPerS = z.high.n, z.high.fails, z.high.n*s.o.RatePerS
	}
	b.PassedOver, b.FailedShort = z.passesAbove, z.failsBelow
	b.Unsettled = b.Lower > 0 && b.Upper > 0 && !(z.confirmed() && z.refuted())
	return b
}

// point is a load and the results of its trials.
type point struct {
	n             float64
	passes, fails int
	generator     bool // the generator can't offer it
}

func (p *point) pass() bool { return p.passes > 0 && p.fails == 0 && !p.generator }
func (p *point) fail() bool { return (p.fails > 0 || p.generator) && p.passes == 0 }

// points returns the loads tried, in ascending order. Trials that say nothing about the target are ignored.
func (s *Search) points() (out []point) {
	for i := range s.results {
		r := &s.results[i]
		k := slices.IndexFunc(out, func(p point) bool { return p.n == r.N })
		if k < 0 {
			k = len(out)
			out = append(out, point{n: r.N})
		}
		switch {
		case r.Verdict == verdict.Pass:
			out[k].passes++
		case r.Verdict == verdict.Invalid:
			out[k].generator = invalid(s.results, r.N) >= invalidTries
		case !r.TooFew:
			out[k].fails++
		}
	}
	out = slices.DeleteFunc(out, func(p point) bool { return p.passes+p.fails == 0 && !p.generator })
	slices.SortFunc(out, func(a, b point) int { return cmp.Compare(a.n, b.n) })
	return out
}

// zone is the range in which the capacity must lie: between the highest load below it that only passed, and the lowest
// load above it that only failed. Either is nil if there is none. The loads from greyLow to greyHigh in between both
// passed and failed, or passed above a load that failed; both are 0 if there are none. A target that sustains a load
// also sustains less, so trials that passed in between support the lower end, and trials that failed speak against the
// upper end.
type zone struct {
	low, high               *point
	passesAbove, failsBelow int // trials between them
	greyLow, greyHigh       float64
}

// confirmed reports whether the lower end has passed the required number of trials.
func (z *zone) confirmed() bool {
	return z.low.passes+min(z.passesAbove, sharedPasses) >= confirmations
}

// refuted reports whether the upper end has failed the required number of trials, or the generator can't offer it.
func (z *zone) refuted() bool {
	return z.high.generator || z.high.fails+z.failsBelow >= refutations
}

// hopeless reports whether the loads that both passed and failed span more than the allowed width, and the bracket's
// ends are close to them.
func (z *zone) hopeless(width float64) bool {
	if z.greyLow == 0 || z.greyHigh/z.greyLow*(1+width/8) < 1+width {
		return false
	}
	near := 1 + width/8*(1+1e-6)
	return z.greyLow/z.low.n <= near && z.high.n/z.greyHigh <= near
}

// zoneOf finds the zone: the boundary between points that puts the fewest trials on the wrong side, which are passes
// above it and failures below it. A single trial that failed far below others that passed is on the wrong side of every
// such boundary, so it has no influence.
func zoneOf(points []point) (z zone) {
	first, last := -1, -1
	least := 0
	for gap := 0; gap <= len(points); gap++ {
		wrong := 0
		for i := range points {
			if p := &points[i]; i < gap {
				wrong += p.fails
				if p.generator {
					wrong += refutations
				}
			} else {
				wrong += p.passes
			}
		}
		if first < 0 || wrong < least {
			first, last, least = gap, gap, wrong
		} else if wrong == least {
			last = gap
		}
	}
	below, above := first-1, last
	for below >= 0 && !points[below].pass() {
		below--
	}
	for above < len(points) && !points[above].fail() {
		above++
	}
	if below >= 0 {
		z.low = &points[below]
	}
	if above < len(points) {
		z.high = &points[above]
	}
	if above-below > 1 && len(points) > 0 {
		z.greyLow, z.greyHigh = points[below+1].n, points[above-1].n
		for i := below + 1; i < above; i++ {
			z.passesAbove, z.failsBelow = z.passesAbove+points[i].passes, z.failsBelow+points[i].fails
		}
	}
	return z
}
