package record

import (
	"slices"
	"testing"

	"brunt/internal/measure"
)

func still(startMs, endMs int64) measure.Standstill {
	return measure.Standstill{StartNs: startMs * 1e6, EndNs: endMs * 1e6}
}

// Standstills are read back as they were written, and a rebuilt run has the same sum. Standstills during warm-up don't
// count, and one that begins in warm-up counts from the end of warm-up.
func TestStandstillsAreRecorded(t *testing.T) {
	ivs := intervalsOf(samples(500), everything)
	ivs[0].Standstills = []measure.Standstill{still(100, 600)}
	ivs[1].Standstills = []measure.Standstill{still(800, 1250), still(1300, 1500)}
	ivs[3].Standstills = []measure.Standstill{still(2100, 3600)}
	r, err := Open(OS{}, write(t, OS{}, ivs, true))
	if err != nil {
		t.Fatal(err)
	}
	want := Standstill{TotalNs: 1_950_000_000, Count: 3, LongestNs: 1_500_000_000, LeastNs: measure.StandstillNs}
	if r.Run.Standstill != want {
		t.Errorf("%+v, want %+v", r.Run.Standstill, want)
	}
	again, _, err := r.Rebuild()
	if err != nil || again.Standstill != want {
		t.Errorf("rebuilt: %+v, %v", again.Standstill, err)
	}
	n := 0
	err = r.Intervals(func(iv *measure.Interval) error {
		if !slices.Equal(iv.Standstills, ivs[n].Standstills) {
			t.Errorf("interval %d: %v", n, iv.Standstills)
		}
		n++
		return nil
	})
	if err != nil || n != 4 {
		t.Errorf("%d intervals, %v", n, err)
	}
	beside := &measure.Tally{}
	for range 2 {
		sums, err := r.Tally()
		if err != nil {
			t.Fatal(err)
		}
		beside.AddParallel(sums, nil, []int{0, 1})
	}
	run := *r.Run
	if Fill(&run, beside); run.Standstill != want {
		t.Errorf("of two machines that saw the same: %+v", run.Standstill)
	}
}

// The same holds for the standstills of operations, each of which has its own sum.
func TestStandstillsOfOperationsAreRecorded(t *testing.T) {
	ivs := intervalsOf(samples(500), everything)
	ivs[1].Operations[1].Standstills = []measure.Standstill{still(800, 1250)}
	ivs[3].Operations[1].Standstills = []measure.Standstill{still(2100, 3600)}
	r, err := Open(OS{}, write(t, OS{}, ivs, true))
	if err != nil {
		t.Fatal(err)
	}
	want := r.Run.Operations[1].Standstill
	// 450 ms minus 200 ms in warm-up, plus 1500 ms.
	if want.Count != 2 || want.TotalNs != 1_750_000_000 || want.LongestNs != 1_500_000_000 {
		t.Errorf("%+v", want)
	}
	if got := r.Run.Operations[0].Standstill; got != (Standstill{}) {
		t.Errorf("of the other operation: %+v", got)
	}
	if again, _, err := r.Rebuild(); err != nil || again.Operations[1].Standstill != want {
		t.Errorf("rebuilt: %+v, %v", again.Operations[1].Standstill, err)
	}
	sums, err := r.Tally()
	if err != nil {
		t.Fatal(err)
	}
	both := &measure.Tally{}
	for range 2 {
		both.AddParallel(sums, nil, []int{0, 1})
	}
	run := *r.Run
	if Fill(&run, both); run.Operations[1].Standstill != want {
		t.Errorf("of two machines that saw the same: %+v", run.Operations[1].Standstill)
	}
}

func TestStandstillsThatMakeNoSense(t *testing.T) {
	for _, text := range []string{`{"start_ns":-1,"end_ns":5}`, `{"start_ns":6,"end_ns":5}`,
		`{"start_ns":1,"end_ns":9000000000000000000}`} {
		if _, err := decodeInterval([]byte(`{"start_ns":0,"end_ns":10,"standstills":[`+text+`]}`), &Run{}); err == nil {
			t.Errorf("%s was taken", text)
		}
		line := `{"start_ns":0,"end_ns":10,"operations":[{"op":0,"standstills":[` + text + `]}]}`
		if _, err := decodeInterval([]byte(line), &Run{Operations: make([]Operation, 1)}); err == nil {
			t.Errorf("%s was taken of an operation", text)
		}
	}
}

// If successes are rare, the time between them is not a standstill. A long standstill does not make successes look
// rare.
func TestStandstillsAmongRareSuccesses(t *testing.T) {
	for _, c := range []struct {
		loadMs  int64
		ok      uint64
		lengths []int64 // ms
		want    Standstill
	}{
		{60_000, 60, []int64{900, 1100, 5000}, Standstill{LeastNs: 20e9}},
		{60_000, 60, []int64{900, 1100, 25000}, Standstill{TotalNs: 25e9, Count: 1, LongestNs: 25e9,
			LeastNs: 11_660_000_000}},
		{60_000, 6000, []int64{150, 190, 10_000}, Standstill{TotalNs: 10_190e6, Count: 2, LongestNs: 10e9,
			LeastNs: 166_033_320}},
		{60_000, 60_000, []int64{150, 150}, Standstill{TotalNs: 300e6, Count: 2, LongestNs: 150e6,
			LeastNs: measure.StandstillNs}},
		{60_000, 0, []int64{59_900}, Standstill{TotalNs: 59_900e6, Count: 1, LongestNs: 59_900e6,
			LeastNs: measure.StandstillNs}},
		{0, 0, nil, Standstill{LeastNs: measure.StandstillNs}},
	} {
		a, part := measure.Account{LoadNs: c.loadMs * 1e6}, measure.Account{}
		for _, ms := range c.lengths {
			part.Standstills = append(part.Standstills, still(0, ms))
		}
		a.Add(&part)
		got := standstillOf(a.StandstillLengths, a.LoadNs, c.ok)
		near := func(a, b int64) bool { return a >= b-b/500 && a <= b+b/500 }
		if got.Count != c.want.Count || got.LongestNs != c.want.LongestNs || !near(got.TotalNs, c.want.TotalNs) ||
			!near(got.LeastNs, c.want.LeastNs) {
			t.Errorf("%v: %+v, want %+v", c.lengths, got, c.want)
		}
	}
}
