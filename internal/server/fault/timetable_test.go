package fault

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
)

func loaded(length time.Duration, faults ...plan.Fault) *plan.Plan {
	p := &plan.Plan{Seed: 7, Faults: faults, Load: []plan.Phase{
		{Name: "warm", Kind: plan.Open, Duration: 10 * time.Second}, {Name: "steady", Kind: plan.Open, Duration: length},
	}}
	p.Target.Addresses = []string{"a:1", "b:1"}
	return p
}

func TestInstants(t *testing.T) {
	s := time.Second
	for name, row := range map[string]struct {
		fault plan.Fault
		want  []Instant
	}{
		"once":                {plan.Fault{Start: 5 * s, For: 2 * s}, []Instant{{1, 5 * s, 7 * s}}},
		"until the load ends": {plan.Fault{Start: 5 * s}, []Instant{{1, 5 * s, 70 * s}}},
		"healed at the end":   {plan.Fault{Start: 65 * s, For: 60 * s}, []Instant{{1, 65 * s, 70 * s}}},
		"of a phase":          {plan.Fault{Start: 5 * s, For: s, Phase: "steady"}, []Instant{{1, 15 * s, 16 * s}}},
		"several times": {plan.Fault{Start: 5 * s, For: s, Every: 10 * s, Times: 2},
			[]Instant{{1, 5 * s, 6 * s}, {2, 15 * s, 16 * s}}},
		"until the end": {plan.Fault{Start: 30 * s, For: s, Every: 20 * s},
			[]Instant{{1, 30 * s, 31 * s}, {2, 50 * s, 51 * s}}},
		"after the end": {plan.Fault{Start: 70 * s, For: s}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := loaded(time.Minute, row.fault)
			if got := Instants(p, &p.Faults[0]); !reflect.DeepEqual(got, row.want) {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

// Random instants are determined by the seed and the fault's name, and are within their bounds.
func TestRandomInstantsFollowTheSeed(t *testing.T) {
	f := plan.Fault{Name: "x", Kind: plan.FaultProcess, For: time.Second, Every: 10 * time.Second, Times: 1000,
		Jitter: 5 * time.Second}
	p := loaded(24*time.Hour, f)
	first := Instants(p, &f)
	if !reflect.DeepEqual(first, Instants(loaded(24*time.Hour, f), &f)) {
		t.Error("the same seed gives other instants")
	}
	var sum time.Duration
	for i, one := range first {
		late := one.At - time.Duration(i)*f.Every
		if late < 0 || late > f.Jitter {
			t.Fatalf("number %d is late by %v", i+1, late)
		}
		sum += late
	}
	// The mean of 1000 uniform draws from 0 to 5 s has a standard deviation of 46 ms. The test allows 6 of them.
	if mean := sum / 1000; mean < 2500*time.Millisecond-276*time.Millisecond ||
		mean > 2500*time.Millisecond+276*time.Millisecond {
		t.Errorf("mean jitter %v", mean)
	}
	other := loaded(24*time.Hour, f)
	other.Seed = 8
	if reflect.DeepEqual(first, Instants(other, &f)) {
		t.Error("another seed gives the same instants")
	}
	f.Jitter, f.Spacing = 0, "poisson"
	random := Instants(p, &f)
	// The sum of 999 exponential gaps of 10 s has a standard deviation of 316 s. The test allows 6 of them.
	if last := random[len(random)-1].At; last < 9990*time.Second-1896*time.Second ||
		last > 9990*time.Second+1896*time.Second {
		t.Errorf("the last of 1000 comes after %v", last)
	}
}

func TestPick(t *testing.T) {
	p := loaded(time.Minute)
	for _, row := range []struct {
		pick         string
		number, of   int
		want         []int
		wantOneOfAll bool
	}{
		{"", 1, 3, []int{0, 1, 2}, false}, {"turn", 1, 3, []int{0}, false}, {"turn", 5, 3, []int{1}, false},
		{"random", 1, 3, nil, true}, {"turn", 1, 0, nil, false},
	} {
		t.Run(row.pick, func(t *testing.T) {
			got := Pick(p, &plan.Fault{Name: "x", Pick: row.pick}, row.number, row.of)
			if row.wantOneOfAll {
				if len(got) != 1 || got[0] < 0 || got[0] >= row.of {
					t.Errorf("%v, want one of %d", got, row.of)
				}
			} else if !reflect.DeepEqual(got, row.want) {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestFaultsThatExcludeEachOther(t *testing.T) {
	s := time.Second
	stop := func(name string, at, long time.Duration, pid int) plan.Fault {
		return plan.Fault{Name: name, Kind: plan.FaultProcess, Start: at, For: long,
			Process: plan.ProcessFault{Do: "stop", PID: pid}}
	}
	network := func(name, do string, at time.Duration, addresses ...string) plan.Fault {
		return plan.Fault{Name: name, Kind: plan.FaultNetwork, Start: at, For: 5 * s,
			Network: plan.NetworkFault{Do: do, Addresses: addresses}}
	}
	again := stop("again", 0, 6*s, 5)
	again.Every, again.Times = 5*s, 3
	for name, row := range map[string]struct {
		faults []plan.Fault
		want   string
	}{
		"one process at one time": {[]plan.Fault{stop("a", 0, 5*s, 5), stop("b", 4*s, 5*s, 5)},
			`"b" at 4s begins before "a"`},
		"one after the other":      {[]plan.Fault{stop("a", 0, 5*s, 5), stop("b", 5*s, 5*s, 5)}, ""},
		"two processes":            {[]plan.Fault{stop("a", 0, 5*s, 5), stop("b", 4*s, 5*s, 6)}, ""},
		"longer than its interval": {[]plan.Fault{again}, `"again" comes again at 5s`},
		"reset in a black hole": {[]plan.Fault{network("a", "blackhole", 0), network("b", "reset", s, "b:1")},
			`"b" at 1s begins before "a"`},
		"two nodes":            {[]plan.Fault{network("a", "blackhole", 0, "a:1"), network("b", "reset", s, "b:1")}, ""},
		"latency in bandwidth": {[]plan.Fault{network("a", "latency", 0), network("b", "bandwidth", s)}, ""},
		"after the load":       {[]plan.Fault{stop("a", 80*s, s, 5)}, "comes after the load's end at 1m10s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Timetable(loaded(time.Minute, row.faults...))
			switch {
			case err == nil && row.want != "":
				t.Errorf("taken, want %q", row.want)
			case err != nil && (row.want == "" || !strings.Contains(err.Error(), row.want) ||
				strings.Contains(err.Error(), "\n")):
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

func TestPhaseWithoutAKnownBeginning(t *testing.T) {
	p := loaded(time.Minute, plan.Fault{Name: "x", Phase: "steady"})
	p.Load[0].Duration = 0
	if _, err := Timetable(p); err == nil || !strings.Contains(err.Error(), "without a duration") {
		t.Errorf("%v", err)
	}
}
