package runner

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/machine"
	"brunt/internal/engine/pool"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/target"
)

// newFleet chooses the tier and creates its fleet.
func (r *Runner) newFleet() error {
	r.fewSessions()
	p := r.system.Plan
	s := &p.Settings
	cfg := engine.FleetConfig{
		Workload: r.Workload, Driver: r.system.Driver, Collector: r.collector, Clock: r.clock, OnError: r.failed,
		Sessions: r.Record.Sessions, AtFirst: r.atFirst(), OperationTimeout: s.OperationTimeout, Spin: s.Spin,
		Dialing: engine.Dialing{ConnectTimeout: s.ConnectTimeout, Reconnect: s.Reconnect, OnDial: r.o.Hooks.Dialed},
		Retrying: engine.Retrying{Retries: max(s.Retries, 0), RetryErrors: s.RetryErrors, RetryPause: s.RetryPause,
			RetryWithin: s.RetryWithin},
		Lateness: engine.Lateness{DropLate: s.LatePolicy == "drop", DropAfter: s.DropAfter, EndOnTime: s.EndOnTime,
			SendAll: s.LatePolicy == "all", OutageWait: s.Outage == "wait"},
		ForLoops: engine.ForLoops{Loops: s.Loops, Pipeline: r.Record.Pipeline, TimingTolerance: s.TimingTolerance,
			ClosedOnly: r.o.PeakPerS == 0, PeakPerS: r.o.PeakPerS},
	}
	if r.o.Part.Shared != nil && !r.Record.SessionsAsNeeded { // for those of lost workers
		cfg.Standby = max(s.SessionsOfAll-cfg.Sessions, 0)
		cfg.Sessions += cfg.Standby
	}
	var err error
	if cfg.Where, err = r.where(); err != nil {
		return &target.UsageError{Err: err}
	}
	r.Record.Tier, r.Record.TierReason = plan.TierLibrary, message.New("tier.asked")
	if s.Tier != plan.TierLibrary {
		why := r.takeCodec(cfg)
		if r.fleet != nil {
			return nil
		}
		if s.Tier == plan.TierCodec {
			return &target.UsageError{Err: fmt.Errorf("the codec tier was asked for, but %s", why)}
		}
		r.Record.TierReason = why
	}
	r.noPipeline(message.New("pipeline-ignored.library"))
	fleet, err := pool.NewPool(cfg)
	if err != nil {
		return err
	}
	r.fleet = fleet
	return nil
}

// fewSessions warns about addresses without a session, unless requests name their addresses.
func (r *Runner) fewSessions() {
	if d, ok := r.system.Driver.(protocol.Routed); ok && d.Router(r.nodes, &r.Workload.Program) != nil ||
		r.system.Plan.ByRequest() {
		return
	}
	if n := len(r.system.Targets); r.Record.Sessions < n {
		r.warn(record.NewWarning("few-sessions", message.Count("sessions", r.Record.Sessions), message.Count("addresses", n),
			message.Count("idle", n-r.Record.Sessions)))
	}
}

// takeCodec creates a fleet of event loops if the protocol has a codec for the program. Otherwise why is the reason.
func (r *Runner) takeCodec(cfg engine.FleetConfig) (why message.Message) {
	p, ok := r.system.Driver.(protocol.CodecDriver)
	if !ok {
		return message.New("tier.no-codec", message.Text("protocol", r.system.Driver.Name()))
	}
	for _, t := range cfg.Targets {
		if why, ok := protocol.LoopsTake(p, t, &r.Workload.Program); !ok {
			return message.Literal(why)
		}
	}
	fleet, err := loop.NewFleet(cfg, p)
	if err != nil {
		return message.OfError(err)
	}
	r.fleet, r.Record.Tier, r.Record.TierReason = fleet, plan.TierCodec, message.Message{}
	return why
}

// noPipeline warns that the requested pipeline isn't used.
func (r *Runner) noPipeline(why message.Message) {
	if r.Record.Pipeline > 1 {
		r.warn(record.Notice("pipeline-ignored", message.Nested("why", why)))
		r.Record.Pipeline = 1
	}
}

// failed adds samples of failures to the record.
func (r *Runner) failed(e engine.ErrorEvent) {
	r.suspects(&e)
	sample := record.ErrorSample{
		Time: time.Unix(0, r.clock.Unix(e.AtNs)).UTC(), Class: e.Failure.Class.String(), Code: e.Failure.Code,
		Text: r.unveiled(secret.Redact(e.Failure.Text, r.secrets)), Index: e.Index,
		Address: r.unproxied(r.nodes.At(e.Address).Address), Attempt: e.Attempt,
	}
	if e.Operation >= 0 {
		sample.Operation = r.Workload.Operations[e.Operation].Name
	}
	r.bundle.Failed(&sample)
	if r.o.Hooks.Failed != nil {
		r.o.Hooks.Failed(sample)
	}
}

// keepAwake prepares the machine for the load of s, and adds the measures that it took to the record.
func keepAwake(ctx context.Context, s *target.System, run *record.Run) *machine.Keeper {
	var servers []string
	for i := range run.Targets {
		if !s.Protocol.Embedded {
			servers = append(servers, run.Targets[i].Address)
		}
	}
	p := s.Plan
	k := machine.Start(ctx, machine.Options{
		Mode: p.Settings.Awake, Quota: run.Environment.CPUQuota, Container: run.Environment.Container,
		Servers: servers, Scheduled: run.LoadModel != "closed" && !run.Spin,
	})
	run.Awake = awakeRecord(k)
	run.ServerHere, _ = machine.Local(ctx, servers)
	return k
}

// awakeRecord returns the keeper's state in the form of the record.
func awakeRecord(k *machine.Keeper) *record.Awake {
	a := record.Awake(k.State())
	return &a
}

// loadGCPercent is the garbage collector's target during a load on client libraries. They allocate for every request,
// and at the default target a heap of a few megabytes would be collected several times a second. This target reduces
// the collections to a quarter, and can use up to four times as much additional memory.
const loadGCPercent = 400

// loopGCPercent is the target during a load on event loops. They allocate nothing for a request. With the default
// target, the remaining garbage of a few kilobytes per interval would take minutes to double the heap, and memory would
// seem to grow for that time. Collecting such a small heap takes a few milliseconds per minute.
const loopGCPercent = 25

// scriptGCPercent is the target during a load on event loops whose operations are scripts. They allocate for each
// operation: with the target for other loads, a heap of ten megabytes would be collected several times a second.
const scriptGCPercent = 50

// tuneGC reduces garbage collection during the load: it collects the garbage of the set-up first, and sets a target for
// the tier, unless the user has set GOGC. The returned function restores the target.
func tuneGC(run *record.Run, scripts bool) (restore func()) {
	runtime.GC()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	percent := loadGCPercent
	switch {
	case run.OnLoops() && scripts:
		percent = scriptGCPercent
	case run.OnLoops():
		percent = loopGCPercent
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
