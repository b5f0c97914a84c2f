package runner

import (
	"testing"

	"brunt/internal/record"
)

// A lost write belongs to the first incident that hadn't ended when the write was acknowledged.
func TestLostWritesBelongToIncidents(t *testing.T) {
	run := &record.Run{
		Failover: &record.Failover{Incidents: []record.Incident{{BeginNs: 100, EndNs: 200}, {BeginNs: 300, EndNs: 400},
			{BeginNs: 500, EndNs: 600}}},
		Verified: &record.Verified{Operations: []record.VerifiedOperation{{Name: "put", Acknowledged: 9, Lost: 4}}},
	}
	fillLosses(run, []int64{390, 90, 150, 700})
	for i, want := range []struct {
		lost   uint64
		oldest int64
	}{{2, 10}, {1, -90}, {0, 0}} {
		in := &run.Failover.Incidents[i]
		if in.LostWrites == nil || *in.LostWrites != want.lost {
			t.Errorf("incident %d: lost %v, want %d", i, in.LostWrites, want.lost)
		}
		if want.lost > 0 && (in.OldestLostNs == nil || *in.OldestLostNs != want.oldest) {
			t.Errorf("incident %d: the oldest %v, want %d", i, in.OldestLostNs, want.oldest)
		}
	}
}

func TestFaultAtATime(t *testing.T) {
	all := []record.Fault{{Name: "first", BeginNs: 100, HealedNs: 200}, {Name: "second", BeginNs: 300},
		{Name: "not done"}}
	for name, row := range map[string]struct {
		from, to int64
		want     string
	}{
		"before": {10, 20, "first"}, "during": {150, 160, "first"}, "across its beginning": {90, 110, "first"},
		"between": {220, 230, "second"}, "while it isn't healed": {900, 910, "second"},
	} {
		t.Run(name, func(t *testing.T) {
			if f := faultAt(all, row.from, row.to); f == nil || f.Name != row.want {
				t.Errorf("it is %+v, want %s", f, row.want)
			}
		})
	}
	if f := faultAt(all[:1], 300, 310); f != nil {
		t.Errorf("after all it is %+v", f)
	}
}

// The list of bad writes names the faults that the account of outages does, and not a command that ended long ago.
func TestBadWritesNameTheIncident(t *testing.T) {
	v := &record.Verified{Bad: []record.BadWrite{{EndNs: 150, Fault: "one-shot", Number: 1}, {EndNs: 250}, {EndNs: 350},
		{EndNs: 900, Fault: "one-shot"}}}
	blame(v, &record.Failover{Incidents: []record.Incident{{Fault: "one-shot", Number: 1, BeginNs: 50, EndNs: 100},
		{Fault: "kill", Number: 1, BeginNs: 200, EndNs: 300}, {BeginNs: 320, EndNs: 400}}})
	for i, want := range []record.BadWrite{{EndNs: 150, Fault: "kill", Number: 1, AheadNs: 50},
		{EndNs: 250, Fault: "kill", Number: 1}, {EndNs: 350}, {EndNs: 900}} {
		if v.Bad[i] != want {
			t.Errorf("write %d is %+v, want %+v", i, v.Bad[i], want)
		}
	}
	all := []record.Fault{{Name: "one-shot", BeginNs: 100, DoneNs: 110}, {Name: "kill", BeginNs: 500, DoneNs: 510}}
	if f := faultAt(all, 300, 310); f == nil || f.Name != "kill" {
		t.Errorf("a write before the second fault is charged to %+v", f)
	}
}
