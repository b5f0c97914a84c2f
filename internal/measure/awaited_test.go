package measure

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"brunt/internal/protocol"
)

// span is a time in ms.
type span struct{ from, to int64 }

// simulated is a load on a server of which it is known when it stood still. Times are in ms.
type simulated struct {
	phases     []span // with a pause between them
	sessions   int    // of a closed load
	everyMs    int64  // in an open load, the time between two arrivals
	answerMs   func(r *rand.Rand) float64
	frozen     []span // the server works on nothing
	refusing   []span // the server answers everything with an error
	intervalMs int64
}

// ms is a constant response time.
func ms(t float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return t } }

// answer returns the sample of a request that is sent at the time sent.
func (s *simulated) answer(sentNs int64, r *rand.Rand) Sample {
	o := Sample{Intended: sentNs, Sent: sentNs, Attempts: 1, Class: protocol.OK}
	for _, f := range s.refusing {
		if f.from*1e6 <= sentNs && sentNs < f.to*1e6 {
			o.Class, o.End = protocol.Timeout, sentNs+1e6
			return o
		}
	}
	o.End = sentNs + int64(s.answerMs(r)*1e6)
	for _, f := range s.frozen {
		if from, to := max(f.from*1e6, sentNs), f.to*1e6; o.End > from && from < to {
			o.End += to - from
		}
	}
	return o
}

// phase returns the samples of a phase in the order in which they end.
func (s *simulated) phase(p span, r *rand.Rand) (all []Sample) {
	const backoffNs = 10e6 // after an error
	fromNs, toNs := p.from*1e6, p.to*1e6
	if s.everyMs > 0 {
		for at := fromNs; at < toNs; at += s.everyMs * 1e6 {
			all = append(all, s.answer(at, r))
		}
	}
	for i := range s.sessions {
		for at := fromNs + int64(i)*1e3; at < toNs; {
			o := s.answer(at, r)
			if all, at = append(all, o), o.End; o.Class != protocol.OK {
				at += backoffNs
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Sample) int { return cmp.Compare(a.End, b.End) })
	return all
}

// lostMs runs the load with two recorders, and returns the time that counts as lost.
func (s *simulated) lostMs() int64 {
	r := rand.New(rand.NewPCG(3, 4))
	c := NewCollector(1, 1)
	recorders := []*Shared{c.NewShared(), c.NewShared()}
	lastNs := int64(0)
	for _, p := range s.phases {
		fromNs := max(p.from*1e6, lastNs)
		c.Begin(fromNs)
		cut := fromNs + s.intervalMs*1e6
		all := s.phase(p, r)
		for i := range all {
			for ; cut <= all[i].End; cut += s.intervalMs * 1e6 {
				c.Cut(cut, Meta{Phase: "load", Kind: KindClosed})
			}
			recorders[i%2].Record(&all[i])
		}
		lastNs = max(all[len(all)-1].End, p.to*1e6) + 1
		c.Cut(lastNs, Meta{Phase: "load", Kind: KindClosed, Idle: true})
	}
	total := c.Total()
	done := total.Totals()
	var lostNs int64
	least := LeastStandstillNs(total.LoadNs, int64(total.StandstillLengths.Sum()), done.OK())
	for _, still := range total.Standstills {
		if n := still.EndNs - still.StartNs; n >= least {
			lostNs += n
		}
	}
	return lostNs / 1e6
}

// A server that answers is given the time that its answers take. Only what exceeds it is lost, wherever a standstill
// begins: with the load, after a pause, or in between.
func TestOnlyTimeBeyondTheUsualResponseIsLost(t *testing.T) {
	steady, paused := []span{{0, 10_000}}, []span{{0, 4000}, {6000, 10_000}, {12_000, 16_000}}
	spread := func(r *rand.Rand) float64 { return 200 + 400*r.Float64() }
	// A few answers come from a cache.
	cached := func(r *rand.Rand) float64 {
		if r.IntN(50) == 0 {
			return 1
		}
		return 300
	}
	for name, c := range map[string]struct {
		load simulated
		low  int64
		high int64
	}{
		"closed": {
			simulated{phases: steady, sessions: 100, answerMs: ms(300)},
			0, 0,
		},
		"closed, few sessions": {
			simulated{phases: steady, sessions: 2, answerMs: ms(300)},
			0, 0,
		},
		"closed, pauses": {
			simulated{phases: paused, sessions: 100, answerMs: ms(300)},
			0, 0,
		},
		"closed, spread": {
			simulated{phases: paused, sessions: 100, answerMs: spread},
			0, 0,
		},
		"closed, some cached": {
			simulated{phases: paused, sessions: 400, answerMs: cached},
			0, 0,
		},
		"closed, slow": {
			simulated{phases: paused, sessions: 1000, answerMs: ms(1500)},
			0, 0,
		},
		"closed, once": {
			simulated{phases: []span{{0, 1}}, sessions: 100, answerMs: ms(300)},
			0, 0,
		},
		"open": {
			simulated{phases: steady, everyMs: 2, answerMs: ms(300)},
			0, 0,
		},
		"open, pauses": {
			simulated{phases: paused, everyMs: 2, answerMs: ms(300)},
			0, 0,
		},
		"open, spread": {
			simulated{phases: paused, everyMs: 2, answerMs: spread},
			0, 0,
		},
		"open, rare": {
			simulated{phases: paused, everyMs: 500, answerMs: ms(300)},
			0, 0,
		},
		"open, short phases": {
			simulated{phases: []span{{0, 400}, {900, 1300}}, everyMs: 2, answerMs: ms(300)},
			0, 0,
		},
		"dead from the start": {
			simulated{phases: steady, sessions: 4, refusing: steady, answerMs: ms(1)},
			9980, 10_001,
		},
		"open, dead from the start": {
			simulated{phases: steady, everyMs: 10, refusing: steady, answerMs: ms(1)},
			9980, 10_001,
		},
		"frozen at the start": {
			simulated{phases: steady, sessions: 4, frozen: []span{{0, 2000}}, answerMs: ms(2)},
			1990, 2001,
		},
		"frozen at the start, far": {
			simulated{phases: steady, sessions: 100, frozen: []span{{0, 2000}}, answerMs: ms(300)},
			1990, 2010,
		},
		"frozen at the start, open": {
			simulated{phases: steady, everyMs: 5, frozen: []span{{0, 2000}}, answerMs: ms(2)},
			1990, 2001,
		},
		"frozen at the start, spread": {
			simulated{phases: steady, everyMs: 2, frozen: []span{{0, 2000}}, answerMs: spread},
			1790, 2030,
		},
		"refusing at the start, far": {
			simulated{phases: steady, sessions: 100, refusing: []span{{0, 2000}}, answerMs: ms(300)},
			1980, 2020,
		},
		"frozen after a pause": {
			simulated{phases: paused, sessions: 100, frozen: []span{{5900, 7000}}, answerMs: ms(300)},
			990, 1010,
		},
		"frozen after a pause, open": {
			simulated{phases: paused, everyMs: 2, frozen: []span{{5900, 7000}}, answerMs: ms(300)},
			990, 1010,
		},
		"frozen within": {
			simulated{phases: steady, everyMs: 2, frozen: []span{{5000, 6000}}, answerMs: ms(300)},
			990, 1010,
		},
		"frozen within, closed": {
			simulated{phases: steady, sessions: 100, frozen: []span{{5000, 6000}}, answerMs: ms(300)},
			990, 1010,
		},
		"frozen within, rare": {
			simulated{phases: []span{{0, 100_000}}, everyMs: 500,
				frozen: []span{{20_000, 50_000}}, answerMs: ms(300)},
			29_500, 30_310,
		},
		"frozen until the end": {
			simulated{phases: steady, sessions: 100, frozen: []span{{8000, 12_000}}, answerMs: ms(20)},
			3980, 4010,
		},
		"frozen in the second phase": {
			simulated{phases: paused[:2], sessions: 100, frozen: []span{{6000, 12_000}}, answerMs: ms(20)},
			5980, 6010,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, interval := range []int64{40, 1000} {
				c.load.intervalMs = interval
				if lost := c.load.lostMs(); lost < c.low || lost > c.high {
					t.Errorf("intervals of %d ms: %d ms lost, want %d to %d", interval, lost, c.low, c.high)
				}
			}
		})
	}
}
