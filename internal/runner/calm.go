package runner

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"brunt/internal/awake"
	"brunt/internal/plan"
	"brunt/internal/protocols"
	"brunt/internal/record"
)

// keepAwake readies the machine for the load of p and says in the record how.
func keepAwake(ctx context.Context, p *plan.Plan, run *record.Run) *awake.Keeper {
	var servers []string
	for i := range run.Targets {
		if !protocols.Embedded(run.Targets[i].Protocol) {
			servers = append(servers, run.Targets[i].Address)
		}
	}
	k := awake.Start(ctx, awake.Options{
		Mode: p.Settings.Awake, Quota: run.Environment.CPUQuota, Container: run.Environment.Container,
		Servers: servers, Scheduled: run.LoadModel != "closed" && !run.Spin,
	})
	run.Awake = k.State()
	return k
}

// loadGCPercent is the collector's target while client libraries carry the load. They allocate with
// every request, over a heap of some megabytes that would otherwise be collected several times a
// second; at most four times as much memory again is the price of a quarter of the collections.
const loadGCPercent = 400

// loopGCPercent is the target while event loops carry the load. They allocate nothing for a request;
// what remains, some kilobytes an interval, would need minutes to double the heap, and memory would
// seem to grow for as long. A collection of so small a heap takes a few milliseconds a minute.
const loopGCPercent = 25

// calmCollector keeps the garbage collector out of the load as far as possible: what the set-up left
// behind is collected before, and the target suits the tier unless the user has set GOGC. The
// function returned undoes it.
func calmCollector(tier string) (restore func()) {
	runtime.GC()
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	percent := loadGCPercent
	if tier == "codec" {
		percent = loopGCPercent
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
