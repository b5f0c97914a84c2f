package record

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func openAll(t *testing.T, dirs ...string) (out []*Recorded) {
	t.Helper()
	for _, d := range dirs {
		r, err := Open(OS{}, d)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestMergeEqualsOneMachine(t *testing.T) {
	all := samples(999)
	one := rebuildOf(t, write(t, OS{}, intervalsOf(all, everything), true))
	const machines = 3
	var dirs []string
	for k := range machines {
		dirs = append(dirs, write(t, OS{}, intervalsOf(all, func(i int) bool { return i%machines == k }), true))
	}
	merged, err := Merge(openAll(t, dirs...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct{ a, b *Latency }{{&one.Total.Response, &merged.Total.Response}, {&one.Total.Lag, &merged.Total.Lag}} {
		if math.Abs(l.a.MeanNs-l.b.MeanNs) > 1e-9*l.a.MeanNs {
			t.Errorf("mean %g, want %g", l.b.MeanNs, l.a.MeanNs)
		}
	}
	if a, b := withoutMeans(one), withoutMeans(merged); !reflect.DeepEqual(a, b) {
		t.Errorf("merged %+v\nwant %+v", b, a)
	}
	if a, b := one.Health, merged.Health; a.OwnLagCount != 3*999 || b.OwnLagCount != a.OwnLagCount || b.OwnLagP99Ns != a.OwnLagP99Ns || a.OwnLagP99Ns == 0 {
		t.Errorf("own lag: p99 %d ns of %d, want %d ns of %d", b.OwnLagP99Ns, b.OwnLagCount, a.OwnLagP99Ns, a.OwnLagCount)
	}
	if merged.Sessions != machines*one.Sessions || !merged.Complete {
		t.Errorf("%d sessions, complete %v", merged.Sessions, merged.Complete)
	}
}

// withoutMeans is what must be equal to the bit: all but the means, whose sums were rounded to a
// float64 on each machine.
func withoutMeans(r *Run) []Operation {
	out := append([]Operation{r.Total}, r.Operations...)
	for _, p := range r.Phases {
		out = append(out, Operation{Name: p.Name, Counts: Counts{Done: p.Done, Failed: p.Errors, Attempts: p.Offered}, Response: p.Response})
	}
	for _, g := range r.Targets {
		out = append(out, Operation{Name: g.Address, Counts: g.Counts, Service: g.Service})
	}
	for i := range out {
		for _, l := range []*Latency{&out[i].Response, &out[i].Service, &out[i].Lag, &out[i].FailedResponse} {
			l.MeanNs = 0
		}
	}
	return out
}

func TestMergeRefusesStrangers(t *testing.T) {
	parts := openAll(t, write(t, OS{}, nil, true), write(t, OS{}, nil, true))
	parts[1].Run.Seed = 8
	if _, err := Merge(parts...); err == nil || !strings.Contains(err.Error(), "seeds are 7 and 8") {
		t.Errorf("other seed: %v", err)
	}
	parts[1].Run.Seed = 7
	parts[1].Run.Operations[1].Name = "scan"
	if _, err := Merge(parts...); err == nil || !strings.Contains(err.Error(), "scan") {
		t.Errorf("other operations: %v", err)
	}
	if _, err := Merge(); err == nil {
		t.Error("nothing was merged")
	}
}

func TestMergeOfDifferentAddresses(t *testing.T) {
	ivs := intervalsOf(samples(100), everything)
	parts := openAll(t, write(t, OS{}, ivs, true), write(t, OS{}, ivs, true))
	parts[1].Run.Targets[0].Address, parts[1].Run.Targets[1].Address = "b:1", "c:1"
	merged, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	a, b := parts[0].Run.Targets[0].Counts.Done, parts[0].Run.Targets[1].Counts.Done
	want := []uint64{a, a + b, b}
	if len(merged.Targets) != 3 {
		t.Fatalf("%d targets", len(merged.Targets))
	}
	for i, w := range want {
		if got := merged.Targets[i].Counts.Done; got != w {
			t.Errorf("%s: %d done, want %d", merged.Targets[i].Address, got, w)
		}
	}
}
