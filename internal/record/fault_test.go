package record

import (
	"reflect"
	"testing"
	"time"
)

// The record of a killed run has its faults, each in its last state.
func TestFaultsOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	b, err := Create(OS{}, dir, "f", time.Now(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{ID: "r", Name: "f", Operations: []Operation{{Name: "a"}}}
	if err := b.Start([]byte("queries: []\n"), run); err != nil {
		t.Fatal(err)
	}
	first := Fault{Name: "stop", Number: 1, Kind: "process", Do: "stop", PlannedNs: 5, BeginNs: 6, DoneNs: 7}
	b.Fault(&first)
	first.HealBeginNs, first.HealedNs = 8, 9
	b.Fault(&first)
	second := Fault{Name: "stop", Number: 2, Kind: "process", Do: "stop", PlannedNs: 15, Error: "no such process"}
	b.Fault(&second)
	r, err := Open(OS{}, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if want := []Fault{first, second}; !reflect.DeepEqual(got.Faults, want) {
		t.Errorf("%+v\nwant %+v", got.Faults, want)
	}
	b.Abandon()
}

// The parts of a fault that several processes injected are merged into one fault.
func TestFaultsOfPartsAreOne(t *testing.T) {
	run := &Run{}
	slow := Fault{Name: "slow", Number: 1, Kind: "network", Target: "a:1", Addresses: []string{"a:1"}, PlannedNs: 10,
		BeginNs: 12, DoneNs: 13, HealBeginNs: 20, HealedNs: 21}
	other := slow
	other.Target, other.Addresses = "between", nil
	other.BeginNs, other.DoneNs, other.HealBeginNs, other.HealedNs = 11, 15, 22, 23
	stop := Fault{Name: "stop", Number: 1, Kind: "process", BeginNs: 5, DoneNs: 6}
	run.AddFaults([]Fault{slow, stop})
	run.AddFaults([]Fault{other})
	want := slow
	want.Target, want.BeginNs, want.DoneNs, want.HealedNs = "a:1, between", 11, 15, 23
	if got := []Fault{stop, want}; !reflect.DeepEqual(run.Faults, got) {
		t.Errorf("%+v\nwant %+v", run.Faults, got)
	}
}
