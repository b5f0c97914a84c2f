package hints

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// simulate feeds a detector a series of n values around level and returns the flagged intervals. The noise is
// log-normal, with the coefficient of variation cv and the lag-1 autocorrelation rho.
func simulate(r *rand.Rand, n int, cv, rho float64, level func(i int) float64) (flagged []int) {
	var s series
	noise := r.NormFloat64()
	for i := range n {
		noise = rho*noise + math.Sqrt(1-rho*rho)*r.NormFloat64()
		if _, ok := s.add(math.Log(level(i))+cv*noise, int64(i), logRule{}); ok {
			flagged = append(flagged, i)
		}
	}
	return flagged
}

// TestFalseAlarmsAndPower compares the detector with the known figures of its rule: about 11 % of steady runs have a
// false alarm. In runs of 300 intervals whose noise has a standard deviation of 10 %, a step of 30 % is found in 79 %,
// and a step of 50 % in 97 %.
func TestFalseAlarmsAndPower(t *testing.T) {
	const runs, n, step = 500, 300, 150
	r := rand.New(rand.NewPCG(11, 13))
	steady := func(int) float64 { return 1000 }
	alarms := 0
	for range runs {
		if len(simulate(r, n, 0.10, 0, steady)) > 0 {
			alarms++
		}
	}
	share := float64(alarms) / runs
	if share > 0.15 {
		t.Errorf("false alarms in %.1f %% of runs", share*100)
	}
	for _, c := range []struct{ ratio, least float64 }{{1.3, 0.79}, {1.5, 0.97}, {1 / 1.5, 0.97}} {
		caught := 0
		for range runs {
			flagged := simulate(r, n, 0.10, 0, func(i int) float64 {
				if i < step {
					return 1000
				}
				return 1000 * c.ratio
			})
			if slices.ContainsFunc(flagged, func(i int) bool { return i >= step && i < step+30 }) {
				caught++
			}
		}
		power := float64(caught) / runs
		if power < c.least {
			t.Errorf("a step of ×%.2f is caught in %.1f %% of runs, at least %.0f %% should be", c.ratio, power*100, c.least*100)
		}
	}
}

// feed produces the intervals for a detector.
type feed struct {
	operations int
	c          *measure.Collector
	s          *measure.Shared
	hints      *Detector
	r          *rand.Rand
	end        int64
	all        []Hint
}

func newFeed(operations int) *feed {
	c := measure.NewCollector(operations, 1)
	return &feed{operations: operations, c: c, s: c.NewShared(), hints: New(operations), r: rand.New(rand.NewPCG(5, 6))}
}

// second adds one interval: for each operation, n operations of about ns each, of which errors fail.
func (f *feed) second(meta measure.Meta, n, errors int, ns float64) {
	for op := range f.operations {
		for i := range n {
			s := measure.Sample{Operation: op, End: int64(ns * math.Exp(0.3*f.r.NormFloat64())), Attempts: 1}
			if i < errors {
				s.Class = protocol.Server
			}
			f.s.Record(&s)
		}
	}
	f.cut(meta, 1e9)
}

func (f *feed) cut(meta measure.Meta, lengthNs int64) {
	f.end += lengthNs
	f.all = append(f.all, f.hints.Interval(f.c.Cut(f.end, meta))...)
}

func (f *feed) seconds(count int, n, errors int, ns float64) {
	for range count {
		f.second(measure.Meta{}, n, errors, ns)
	}
}

// only returns the hints of a metric over all operations.
func (f *feed) only(m Metric) (hints []Hint) {
	for _, h := range f.all {
		if h.Metric == m && h.Operation == AllOperations {
			hints = append(hints, h)
		}
	}
	return hints
}

func TestStepsAreToldApart(t *testing.T) {
	f := newFeed(1)
	f.seconds(40, 400, 0, 1e6)
	if len(f.all) != 0 {
		t.Fatalf("a steady load gives %+v", f.all)
	}
	f.seconds(20, 400, 0, 3e6)
	f.seconds(20, 400, 40, 3e6)
	f.seconds(20, 200, 20, 3e6)
	p99 := f.only(P99)
	if len(p99) != 1 || p99[0].Kind != StepUp || p99[0].Interval < 42 || p99[0].Interval > 44 || p99[0].BeganNs != 40e9 ||
		math.Abs(p99[0].Ratio-3) > 0.5 || math.Abs(p99[0].From-2e6) > 3e5 {
		t.Errorf("%+v", p99)
	}
	errors := f.only(Errors)
	if len(errors) != 1 || errors[0].Kind != StepUp || errors[0].BeganNs != 60e9 || errors[0].From != 0 ||
		errors[0].To != 0.1 || !math.IsInf(errors[0].Ratio, 1) {
		t.Errorf("%+v", errors)
	}
	rate := f.only(Throughput)
	if len(rate) != 1 || rate[0].Kind != StepDown || rate[0].BeganNs != 80e9 || rate[0].From < 350 ||
		math.Abs(rate[0].To-180) > 1 {
		t.Errorf("%+v", rate)
	}
}

// A change is found some intervals after its start, and its start is reported. For steps of 50 % with noise of 10 %,
// the start is right within one interval in nine of ten cases, and too early only as often as chance explains.
func TestTheStartOfAChangeIsTold(t *testing.T) {
	const runs, step = 400, 60
	r := rand.New(rand.NewPCG(3, 9))
	exact, near, late := 0, 0, 0
	for range runs {
		var s series
		for i := range step + 30 {
			level := 1000.0
			if i >= step {
				level *= 1.5
			}
			found, ok := s.add(math.Log(level)+0.10*r.NormFloat64(), int64(i), logRule{})
			if !ok || i < step {
				continue
			}
			if i > step {
				late++
			}
			switch off := found.beganNs - step; {
			case off == 0:
				exact++
				near++
			case off == 1 || off == -1:
				near++
			}
			break
		}
	}
	if near < runs*9/10 || exact < runs*3/4 {
		t.Errorf("of %d changes %d are told at the interval of their start and %d within one of it", runs, exact, near)
	}
	if late < runs*9/10 {
		t.Errorf("%d of %d came to light later than they began: the test shows nothing", late, runs)
	}
}

func TestAChangeThatGrowsBeganWithinIt(t *testing.T) {
	var s series
	for i := range 100 {
		v := 1000.0
		if i >= 40 {
			v *= 1 + 0.05*float64(min(i-40, 20))
		}
		if found, ok := s.add(math.Log(v), int64(i), logRule{}); ok {
			if found.beganNs < 40 || found.beganNs > int64(i) {
				t.Errorf("grows from 40 on, comes to light at %d, began at %d", i, found.beganNs)
			}
			return
		}
	}
	t.Error("growth by a factor of two isn't seen")
}

// poisson returns a number of random arrivals (Knuth, The Art of Computer Programming, 3.4.1, algorithm Q).
func (f *feed) poisson(mean float64) (n int) {
	for p := f.r.Float64(); p > math.Exp(-mean); n++ {
		p *= f.r.Float64()
	}
	return n
}

// Chance is no change: of eleven operations with few random arrivals in intervals of 100 ms, hardly any has a hint.
func TestFewArrivalsAreNoChange(t *testing.T) {
	alarmed := 0
	const runs = 20
	for k := range runs {
		f := newFeed(11)
		f.r = rand.New(rand.NewPCG(uint64(k), 8))
		for range 600 {
			for op := range 11 {
				for range f.poisson(0.3) {
					f.s.Record(&measure.Sample{Operation: op, End: int64(5e6 * math.Exp(0.5*f.r.NormFloat64())), Attempts: 1})
				}
			}
			f.cut(measure.Meta{}, 1e8)
		}
		if len(f.all) > 0 {
			alarmed++
			t.Logf("run %d: %d hints, first %+v", k, len(f.all), f.all[0])
		}
	}
	if alarmed > runs/4 {
		t.Errorf("%d of %d steady runs have hints", alarmed, runs)
	}
}

// A standstill that recurs is told with its period, once, instead of as pauses and recoveries. Random ones are not.
func TestPeriodicStandstill(t *testing.T) {
	for _, regular := range []bool{true, false} {
		f := newFeed(1)
		for i, next := 0, 7; i < 120; i++ {
			ns := 2e6
			if i == next {
				ns = 900e6
				if next += 10; !regular {
					next += f.r.IntN(19) - 9
				}
			}
			f.second(measure.Meta{}, 100, 0, ns)
		}
		var found []Hint
		for _, h := range f.all {
			if h.Kind == Periodic {
				found = append(found, h)
			}
		}
		if regular && (len(found) != 1 || found[0].From != 10e9 || found[0].To < 900e6 || found[0].BeganNs != 7e9) ||
			!regular && len(found) > 0 || len(f.all) > len(found) {
			t.Errorf("regular %v: %+v", regular, f.all)
		}
	}
}

func TestStartUp(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds int
		p99     Kind
		rate    Kind
	}{
		{"six seconds", 6, StartUp, StartUp},
		{"nine seconds", 9, StartUp, StartUp},
		{"what happens after ten is none", 10, StepDown, StepUp},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(1)
			f.seconds(c.seconds, 50, 0, 9e6)
			f.seconds(60, 400, 0, 1e6)
			for m, want := range map[Metric]Kind{P99: c.p99, Throughput: c.rate} {
				if got := f.only(m); len(got) != 1 || got[0].Kind != want || got[0].Ratio == 1 {
					t.Errorf("%s: %+v, want %s", m, got, want)
				}
			}
		})
	}
}

func TestPauseAndRecovery(t *testing.T) {
	f := newFeed(1)
	f.seconds(30, 400, 0, 1e6)
	f.seconds(5, 0, 0, 0)
	f.seconds(30, 400, 0, 1e6)
	got := f.all
	if len(got) != 2 || got[0].Kind != Pause || got[0].From != 400 || got[0].Interval != 30 || got[0].BeganNs != 30e9 ||
		got[1].BeganNs != 35e9 || got[1].Kind != Recovery || got[1].To != 400 || got[1].Interval != 35 {
		t.Errorf("%+v", got)
	}
}

func TestRestOfAnIntervalIsNoPause(t *testing.T) {
	f := newFeed(1)
	f.seconds(30, 400, 0, 1e6)
	f.cut(measure.Meta{}, 13e6)
	if len(f.all) != 0 {
		t.Errorf("13 ms without an operation gave the hints %+v", f.all)
	}
	f.cut(measure.Meta{}, 900e6)
	if len(f.all) != 1 || f.all[0].Kind != Pause {
		t.Errorf("900 ms without an operation gave the hints %+v, want a pause", f.all)
	}
}

func TestGeneratorPauseIsNotTheServers(t *testing.T) {
	f := newFeed(1)
	f.seconds(30, 400, 0, 1e6)
	f.second(measure.Meta{Health: measure.Health{PausedNs: 9e8}}, 0, 0, 0)
	f.second(measure.Meta{Health: measure.Health{PausedNs: 9e8}}, 400, 0, 900e6)
	f.seconds(30, 400, 0, 1e6)
	if len(f.all) != 2 || f.all[0].Metric != Generator || f.all[0].Kind != Pause || f.all[1].To != 9e8 {
		t.Errorf("%+v", f.all)
	}
}

// Requests that a stopped generator sends late also end in the following intervals. The first of these is ignored in
// any case. Later ones are ignored while arrivals wait, and then for as long again.
func TestTheAftermathOfAGeneratorPauseIsNotTheServers(t *testing.T) {
	for waiting, want := range map[uint64]int{0: 31, 90: 33} {
		f := newFeed(1)
		f.seconds(30, 400, 0, 1e6)
		f.s.Do(func(r *measure.Recorder) { r.SetGauges([]int{1}, 0, waiting, 0) })
		f.second(measure.Meta{Health: measure.Health{PausedNs: 29e8}}, 400, 0, 900e6)
		for range 6 {
			f.second(measure.Meta{}, 0, 0, 0)
		}
		if len(f.all) != 2 || f.all[0].Metric != Generator || f.all[1].Metric != Throughput || f.all[1].Interval != want+1 {
			t.Errorf("%d waiting: %+v", waiting, f.all)
		}
	}
}

func TestPlannedChangesAreNoHints(t *testing.T) {
	f := newFeed(1)
	for _, phase := range []struct {
		name string
		n    int
	}{{"low", 200}, {"high", 800}, {"low again", 200}} {
		for range 40 {
			f.second(measure.Meta{Phase: phase.name}, phase.n, 0, 1e6)
		}
	}
	// A ramp: throughput follows what is offered.
	for i := range 60 {
		f.s.Do(func(r *measure.Recorder) { r.Offer(uint64(100 + 20*i)) })
		f.second(measure.Meta{Phase: "ramp"}, 100+20*i, 0, 1e6)
	}
	if len(f.all) != 0 {
		t.Errorf("%+v", f.all)
	}
}

func TestHintsNameTheOperation(t *testing.T) {
	f := newFeed(3)
	f.seconds(40, 100, 0, 1e6)
	for range 20 {
		for range 100 {
			f.s.Record(&measure.Sample{Operation: 1, End: int64(20e6), Attempts: 1})
		}
		f.second(measure.Meta{}, 100, 0, 1e6)
	}
	named := slices.ContainsFunc(f.all, func(h Hint) bool {
		return h.Operation == 1 && h.Metric == P99 &&
			h.Kind == StepUp
	})
	other := slices.ContainsFunc(f.all, func(h Hint) bool { return h.Operation == 0 || h.Operation == 2 })
	if !named || other {
		t.Errorf("%+v", f.all)
	}
}

// TestOperationsMayComeLater lets a run of one operation, and of none, get more of them.
func TestOperationsMayComeLater(t *testing.T) {
	for from := range 3 {
		c := New(from)
		for k := range 60 {
			iv := measure.Interval{Account: measure.Account{Operations: make([]measure.OperationAccount, min(from+k/10, 5))}}
			iv.StartNs, iv.EndNs, iv.Kind = int64(k)*1e9, int64(k+1)*1e9, measure.KindClosed
			for i := range iv.Operations {
				iv.Operations[i].Done = 100
				iv.Operations[i].Response = measure.NewHistogram()
				iv.Operations[i].Response.RecordN(1e6, 100)
			}
			for _, h := range c.Interval(&iv) {
				if h.Operation >= len(iv.Operations) {
					t.Fatalf("a hint about operation %d of %d", h.Operation, len(iv.Operations))
				}
			}
		}
	}
}
