package runner

import (
	"cmp"
	"time"

	"brunt/internal/judge/failover"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/server/schema"
)

// begin fills in the parts of the record that are known before the load.
func (r *Runner) begin(started time.Time) {
	p, c := r.system.Plan, &r.o.Recording
	run := &record.Run{
		ID: record.NewID(), Name: p.Name, Brunt: c.Version, Command: c.Command,
		Started: started.UTC(), Seed: p.Seed, LoadModel: p.LoadModel(),
		Sessions: p.MostSessions(), SessionsAsNeeded: asNeeded(p), Pipeline: p.Settings.Pipeline,
		Reconnect:   p.Settings.Reconnect || r.Workload.Renews(),
		ToleranceNs: int64(p.Settings.TimingTolerance), Spin: p.Settings.Spin > 0,
		IntervalNs:  int64(p.Settings.Interval),
		Stride:      r.o.Part.Of,
		Worker:      c.Worker,
		Environment: record.Fingerprint(), Extra: c.Extra, Flags: c.Flags,
	}
	if takes := r.o.Part.Takes; len(takes) > 0 {
		run.Offset = takes[0]
	}
	for i, t := range r.system.Targets {
		info := r.system.Servers[i]
		run.Targets = append(run.Targets, record.Target{
			Address: r.unproxied(t.Address), Protocol: p.Target.Protocol,
			Product: info.Product, Version: info.Version, Settings: info.Settings,
		})
	}
	for _, t := range p.Thresholds {
		run.Thresholds = append(run.Thresholds, record.Threshold{Text: t.Text, Limit: t.Limit})
	}
	run.Operations = make([]record.Operation, len(r.Workload.Operations))
	for i := range run.Operations {
		run.Operations[i].Name = r.Workload.Operations[i].Name
		run.Operations[i].Counters = r.Workload.Operations[i].Counters
	}
	run.Failover = accountOf(p, r.faults != nil)
	r.Record = run
	for i := range p.Load {
		run.Phases = append(run.Phases, r.phase(&p.Load[i]))
	}
}

// assemble completes the record after the load. Each part of the runner adds what it knows; the judges come last,
// because they read all the rest.
func (r *Runner) assemble() {
	run, outcome := r.Record, r.outcome
	record.Fill(run, r.collector.Tally())
	run.Ended, run.Complete = time.Now().UTC(), true
	run.Interrupted, run.Aborted = outcome.Interrupted, outcome.Aborted
	r.learn()
	r.opened()
	r.noted()
	run.Faults, run.Registers, run.Verified = r.injected, r.checked, r.verified
	run.Failures = r.bundle.Failures()
	run.Warnings = append(run.Warnings, schema.MissedReferences(r.system.Plan, run)...)
	r.watch.Windows().Fill(run)
	if i := r.watch.Aborted(); i >= 0 {
		run.Thresholds[i].Aborted = true
	}
	if r.outages != nil {
		r.outages.Fill(run)
	}
	fillLosses(run, r.lost)
	blame(run.Verified, run.Failover)
	addDivisions(run)
	r.within.Fill(run) // the verdict of adaptive phases depends on it
	verdict.Judge(run, r.collector.Total())
}

// noted adds the driver's notes about the load.
func (r *Runner) noted() {
	if d, ok := r.system.Driver.(protocol.Pooled); ok && d.Pooled(&r.Workload.Program) {
		r.warn(record.Notice("pooler"))
	}
	if d, ok := r.system.Driver.(protocol.Noting); ok {
		for _, text := range d.Notes() {
			r.warn(record.Warning{ID: text.ID, Text: text})
		}
	}
}

// accountOf returns the plan's settings for the account of outages, or nil if it has none and there are no faults.
func accountOf(p *plan.Plan, faults bool) *record.Failover {
	a := p.Account
	if !a.Enabled && !faults {
		return nil
	}
	return &record.Failover{
		Asked:       a.Enabled,
		DeadlineNs:  cmp.Or(int64(a.Deadline), min(failover.DefaultDeadlineNs, int64(p.Settings.OperationTimeout))),
		ToleranceNs: cmp.Or(int64(a.Tolerance), failover.DefaultToleranceNs),
		HoldNs:      cmp.Or(int64(a.Hold), max(failover.DefaultHoldNs, 3*int64(p.Settings.Interval))),
	}
}

// learn adds to the record what the servers' answers said about the servers.
func (r *Runner) learn() {
	d, ok := r.system.Driver.(protocol.Learner)
	if !ok {
		return
	}
	for i, t := range r.system.Targets {
		if info, ok := d.Learned(t); ok {
			to := &r.Record.Targets[i]
			to.Product, to.Version, to.Settings = info.Product, info.Version, info.Settings
		}
	}
}

// phase returns the record's entry for a phase before it begins.
func (r *Runner) phase(ph *plan.Phase) record.Phase {
	out := record.Phase{
		Name: ph.Name, Kind: string(ph.Kind), DurationNs: int64(ph.Duration),
		RateFrom: ph.RateFrom, RateTo: ph.RateTo, Arrivals: ph.Arrivals, WarmUp: ph.WarmUp,
		Sessions: r.Record.Sessions, Limit: ph.Operations,
	}
	if total := r.Workload.Total; total > 0 && (out.Limit == 0 || out.Limit > total) {
		out.Limit = total
	}
	if ph.Sessions > 0 {
		out.Sessions = ph.Sessions
	}
	if a := ph.Adaptive; a != nil {
		out.Adaptive = &record.Adaptive{Method: a.Method, Goal: goalText(a), MinPerS: a.MinPerS, MaxPerS: a.MaxPerS}
	}
	if ph.Kind == plan.Open || ph.Kind == plan.Closed {
		out.ScheduleNs = int64(ph.Duration)
	}
	return out
}
