package runner

import (
	"context"

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
