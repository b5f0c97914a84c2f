package runner

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"brunt/internal/record"
)

// newRecord is what the record says before the load.
func (j *job) newRecord(started time.Time) *record.Run {
	p := j.o.Plan
	run := &record.Run{
		ID: newID(), Name: p.Name, Brunt: j.o.Version, Command: j.o.Command,
		Started: started.UTC(), Seed: p.Seed, LoadModel: p.LoadModel(),
		Sessions: p.MostSessions(), Pipeline: p.Settings.Pipeline,
		ToleranceNs: int64(p.Settings.TimingTolerance), Spin: p.Settings.Spin > 0,
		IntervalNs:  int64(p.Settings.Interval),
		Environment: record.Fingerprint(), Targets: j.describe(), Extra: j.o.Extra,
	}
	for _, op := range j.workload.Operations {
		run.Operations = append(run.Operations, record.Operation{Name: op.Name})
	}
	for _, ph := range p.Load {
		out := record.Phase{
			Name: ph.Name, Kind: string(ph.Kind), DurationNs: int64(ph.Duration),
			RateFrom: ph.RateFrom, RateTo: ph.RateTo, Arrivals: ph.Arrivals, WarmUp: ph.WarmUp,
			Sessions: run.Sessions, Limit: ph.Operations,
		}
		if w := j.workload; w.Total > 0 && (out.Limit == 0 || out.Limit > w.Total) {
			out.Limit = w.Total
		}
		if ph.Sessions > 0 {
			out.Sessions = ph.Sessions
		}
		run.Phases = append(run.Phases, out)
	}
	return run
}

// newID is a random name for a run: 16 hexadecimal digits.
func newID() string {
	var b [8]byte
	// crypto/rand.Read never fails: it ends the program instead.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
