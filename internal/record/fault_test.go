package record

import (
	"os"
	"path/filepath"
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

// Of a killed run, the watchdog's log says what was undone. What it doesn't name may still be in effect, unless it
// ended with the process.
func TestWhatTheWatchdogUndid(t *testing.T) {
	dir := t.TempDir()
	b, err := Create(OS{}, dir, "f", time.Now(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abandon()
	run := &Run{ID: "r", Name: "f", Operations: []Operation{{Name: "a"}}}
	if err := b.Start([]byte("queries: []\n"), run); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Fault{
		{Name: "undone", Number: 2, Kind: "process", BeginNs: 6, DoneNs: 7, Undo: "kill -CONT 9"},
		{Name: "failed", Number: 1, Kind: "command", BeginNs: 6, DoneNs: 7, Undo: "up"},
		{Name: "nobody", Number: 1, Kind: "command", BeginNs: 6, DoneNs: 7, Undo: "up"},
		{Name: "proxy", Number: 1, Kind: "network", BeginNs: 6, DoneNs: 7},
	} {
		b.Fault(&f)
	}
	log := `{"begin_ns":1,"heal_begin_ns":10}
{"id":"undone 2","begin_ns":1,"done_ns":2,"heal_begin_ns":11,"healed_ns":12}
{"id":"failed 1","begin_ns":1,"done_ns":2,"heal_begin_ns":13,"healed_ns":14,"error":"exit 1"}
{"id":"nob`
	if err := os.WriteFile(filepath.Join(b.Dir, WatchdogFile), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(OS{}, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Faults()
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	if f := all[0]; f.HealedNs != 12 || f.HealedBy != HealedByWatchdog || f.Left() {
		t.Errorf("undone: %+v", f)
	}
	if f := all[1]; f.HealError != "exit 1" || !f.Left() {
		t.Errorf("not undone: %+v", f)
	}
	if f := all[2]; f.HealedBy != "" || !f.Left() {
		t.Errorf("unknown: %+v", f)
	}
	if f := all[3]; f.HealedBy != HealedByEnd || f.Left() {
		t.Errorf("in the process: %+v", f)
	}
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
