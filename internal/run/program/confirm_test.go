package program

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
)

// bursting is a server that serves at its burst rate while it has credits, and at its base rate after that, as disks
// and processors of cloud providers do. Trials of seconds see the burst rate; an hour sees the base rate. Credits are
// restored while the server is idle.
type bursting struct {
	rng     *rand.Rand
	c       int
	burstS  float64 // operations per second with credits
	baseS   float64 // operations per second without credits
	credits float64 // number of operations at the burst rate
	left    float64
}

func (b *bursting) try(rate, seconds float64, rested bool) answers {
	if rested {
		b.left = b.credits
	}
	q := make(queue, b.c)
	return load(b.rng, rate, seconds, false, func(at float64) float64 {
		need := b.baseS
		if b.left >= 1 {
			b.left--
			need = b.burstS
		}
		return q.serve(at, need*(0.5+b.rng.Float64()))
	})
}

func (b *bursting) capacity() float64 { return float64(b.c) / b.baseS }

// TestBurstsAreNotTheMaximum searches servers that sustain more for seconds than for an hour. The confirmed load is the
// one that they sustain.
func TestBurstsAreNotTheMaximum(t *testing.T) {
	t.Parallel()
	const seconds, hold, profile = 20, 3600, 20
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 22))
		server := &bursting{rng: rng, c: 4, burstS: 0.02, baseS: 0.025 + 0.08*rng.Float64()}
		server.credits = 2 * 4 / server.burstS * seconds
		server.left = server.credits
		o := DefaultSearch()
		o.RatePerS = profile
		s := NewSearch(o)
		for {
			next, more := s.Next()
			if !more {
				break
			}
			a := server.try(next.N*profile, seconds, true)
			s.Take(resultOf(next, &a, seconds, 2, nil))
		}
		found := s.Bracket()
		c := NewConfirmation(ConfirmOptions{N: found.Lower, Min: o.Min, Width: o.Width})
		for {
			next, more := c.Next()
			if !more {
				break
			}
			a := server.try(next.N*profile, hold, true)
			c.Take(resultOf(next, &a, hold, 2, nil))
		}
		// The credits cover only a small part of an hour's arrivals above the sustained rate.
		most := (server.capacity() + server.credits/hold) / profile * 1.02
		held, holds := heldBy(c), c.Results()
		switch {
		case found.Lower <= most*1.05:
			t.Fatalf("seed %d: the search itself saw the sustained rate: %+v", seed, found)
		case held == nil:
			t.Errorf("seed %d: nothing was held: %s", seed, holdsOf(c))
		case held.N > most:
			t.Errorf("seed %d: held at N %.4g, more than the %.4g that can be: %s", seed, held.N, most, holdsOf(c))
		case held.N < most*0.78:
			t.Errorf("seed %d: held at N %.4g only, of %.4g: %s", seed, held.N, most, holdsOf(c))
		case len(holds) > 7:
			t.Errorf("seed %d: %d holds", seed, len(holds))
		}
	}
}

func holdsOf(c *Confirmation) (out string) {
	for _, r := range c.Results() {
		out += fmt.Sprintf(" %.4g:%s(%v)", r.N, r.Verdict, r.Why)
	}
	return out
}

func TestConfirmationEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		fixed   bool
		verdict func(n float64) string
		held    float64 // confirmed load; 0: none
		holds   int     // maximum number of holds
		lowest  float64 // lowest load that was tried
	}{
		{"held at once", false, func(float64) string { return verdict.Pass }, 10, 1, 10},
		{"never held", false, func(float64) string { return verdict.Fail }, 0, 24, 0.1},
		{"the generator spoils all", false, func(float64) string { return verdict.Invalid }, 0, 48, 0.1},
		{"held at the lowest only", false, func(n float64) string {
			if n > 0.1 {
				return verdict.Fail
			}
			return verdict.Pass
		}, 0.1, 24, 0.1},
		{"a load that is asked for", true, func(float64) string { return verdict.Fail }, 0, 1, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := NewConfirmation(ConfirmOptions{N: 10, Min: 0.1, Width: 0.03, Fixed: c.fixed})
			for {
				next, more := f.Next()
				if !more {
					break
				}
				if len(f.Results()) > c.holds {
					t.Fatalf("no end:%s", holdsOf(f))
				}
				f.Take(Result{Trial: next, Verdict: c.verdict(next.N)})
			}
			all := f.Results()
			if held := heldBy(f); (held != nil) != (c.held > 0) || held != nil && held.N != c.held {
				t.Errorf("held: %+v", held)
			}
			if last := all[len(all)-1]; last.N != c.lowest {
				t.Errorf("it ended at N %g, want %g", last.N, c.lowest)
			}
		})
	}
}

// A hold that the generator distorted is not counted. The same load is held again before a lower one is tried.
func TestSpoiledHoldIsRepeated(t *testing.T) {
	f := NewConfirmation(ConfirmOptions{N: 10, Min: 0.1, Width: 0.03})
	for _, v := range []string{verdict.Invalid, verdict.Pass} {
		next, more := f.Next()
		if !more || next.N != 10 {
			t.Fatalf("%+v, %t", next, more)
		}
		f.Take(Result{Trial: next, Verdict: v})
	}
	if _, more := f.Next(); more || heldBy(f) == nil {
		t.Error("it isn't over")
	}
}

// Each hold sends other requests. After a failed hold, the target first gets the lowest load that it passed.
func TestHoldsOfATarget(t *testing.T) {
	of := &plan.Plan{First: 3, Operations: []plan.Operation{{Name: "a", Weight: 1}},
		Load: []plan.Phase{{Kind: plan.Open, RateFrom: 100, RateTo: 100}}}
	first, runs := of.First, 0
	h := &TargetConfirmation{Options: ConfirmOptions{N: 2, Min: 0.1, Width: 0.03}, Length: time.Minute,
		Low:  &Result{Trial: Trial{N: 0.5}, P50Ns: 1e6},
		Load: func(n float64) (*plan.Plan, error) { return AtScale(of, n, 0, time.Minute) },
		Drive: func(_ context.Context, o Load) (*Outcome, error) {
			runs++
			if o.Plan.First != first {
				t.Errorf("hold %d begins with request %d, want %d", runs, o.Plan.First, first)
			}
			if want := map[int]string{1: "run", 2: "run-2", 3: "run-3"}[runs]; o.Name != want {
				t.Errorf("hold %d is in %q", runs, o.Name)
			}
			if recovers := o.Next != nil; recovers != (runs > 1) {
				t.Errorf("hold %d: recovery %t", runs, recovers)
			}
			if o.Next != nil {
				if p := o.Next(nil); len(p) != 1 || !p[0].WarmUp || p[0].RateTo != 50 {
					t.Errorf("hold %d begins with %+v, not with the lowest load", runs, p)
				}
			}
			n := uint64(o.PeakPerS * 60)
			first += n
			out := &Outcome{Run: &record.Run{Phases: []record.Phase{{Kind: "open", RateFrom: o.PeakPerS, RateTo: o.PeakPerS,
				ScheduleNs: 60e9, Offered: n}}}, Dir: o.Name, AnsweredInTime: n, Outstanding: make([]float64, 24)}
			out.Run.Total.Offered, out.Run.Total.OfferedPerS = n, o.PeakPerS
			out.Run.Verdict.Result = verdict.Pass
			if runs < 3 {
				out.Run.Verdict.Result = verdict.Fail
			}
			return out, nil
		}}
	c, err := h.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if held := heldBy(c); held == nil || held.Dir != "run-3" || held.LastsNs != 60e9 || held.N >= 2 {
		t.Errorf("held: %+v", held)
	}
}

// heldBy returns the hold that passed, or nil.
func heldBy(c *Confirmation) *Result {
	if k := len(c.results) - 1; k >= 0 && c.results[k].Verdict == verdict.Pass {
		return &c.results[k]
	}
	return nil
}
