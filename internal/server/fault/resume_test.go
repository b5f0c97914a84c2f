package fault

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
	"brunt/internal/record"
)

// past is what a process left that was killed two seconds after it had stopped another one.
func past(t *testing.T, o *Options, lines ...healed) *Past {
	t.Helper()
	p := &Past{Epoch: time.Now().Add(-5 * time.Second), StartNs: 1, Log: filepath.Join(t.TempDir(), "healed.ndjson"),
		Faults: []record.Fault{{Name: "stop", Number: 1, Kind: "process", Do: "stop", BeginNs: 5, DoneNs: 10}},
		Note:   func(*record.Fault) {}}
	o.Now = func() int64 { return int64(time.Since(p.Epoch)) }
	for _, h := range lines {
		text, err := json.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append(text, '\n')); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// A fault that neither the killed process nor its watchdog has healed is healed when the timeline resumes.
func TestResumeHealsWhatIsLeft(t *testing.T) {
	pid := child(t).Process.Pid
	o := options(stopped(pid, time.Hour))
	o.Resumes = true
	p := past(t, &o)
	c, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	found, err := c.selector(&o.Plan.Faults[0]).find()
	if err != nil {
		t.Fatal(err)
	}
	if err := signal(found, stopSignal()); err != nil {
		t.Fatal(err)
	}
	becomes(t, pid, "T")
	c.Resume(context.Background(), p)
	becomes(t, pid, "S")
	all, warnings := c.End()
	if len(all) != 1 || all[0].HealedNs < int64(4*time.Second) || all[0].HealError != "" {
		t.Errorf("faults %+v", all)
	}
	if len(warnings) != 1 || warnings[0].ID != "fault-cut-short" {
		t.Errorf("warnings %+v", warnings)
	}
}

// What the watchdog has healed has the watchdog's times, and isn't healed again.
func TestResumeBelievesTheWatchdog(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	f := plan.Fault{Name: "stop", Kind: plan.FaultCommand, For: time.Hour,
		Command: plan.CommandFault{Inject: "echo in >>" + trace, Heal: "echo out >>" + trace}}
	late := f
	late.Name, late.Start = "missed", 2*time.Second
	o := options(f, late)
	o.Resumes = true
	at := time.Now().Add(-2 * time.Second)
	p := past(t, &o, healed{BeginNs: at.UnixNano()},
		healed{BeginNs: at.UnixNano(), DoneNs: at.UnixNano() + 7, Undone: record.Undone{ID: "stop 1"}})
	c, err := Prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Resume(context.Background(), p)
	all, _ := c.End()
	if len(all) != 2 || all[0].HealedNs != at.UnixNano()+7-p.Epoch.UnixNano() {
		t.Errorf("faults %+v, want healed at %d", all, at.UnixNano()+7-p.Epoch.UnixNano())
	}
	if len(all) == 2 && !strings.Contains(all[1].Error, "had been killed") {
		t.Errorf("the fault whose time has passed is %+v", all[1])
	}
	if text, err := os.ReadFile(trace); err == nil {
		t.Errorf("done again: %q", text)
	}
}
