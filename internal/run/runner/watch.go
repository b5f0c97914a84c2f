package runner

import (
	"context"
	"slices"

	"brunt/internal/engine"
	"brunt/internal/protocol"
	"brunt/internal/protocol/topology"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/target"
)

// meetNodes determines the roles of the nodes before sessions connect, if the load uses roles.
func (r *Runner) meetNodes(ctx context.Context) error {
	if r.system.Topology == nil {
		return nil
	}
	err := topology.Look(ctx, r.system.Topology, r.nodes, r.system.Targets[0])
	if err != nil {
		return target.NotConnected(r.system.Plan, err)
	}
	return nil
}

// watchNodes updates the nodes from the topology until the load ends.
func (r *Runner) watchNodes(ctx context.Context) (stop func()) {
	if r.system.Topology == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		topology.Watch(ctx, r.system.Topology, r.nodes, r.system.Targets[0], r.system.Every(), r.suspect,
			func(err error) {
				r.arrivals.note(record.Notice("topology-silent", message.Text("why", protocol.Line(err.Error(), ""))))
			})
	}()
	return func() {
		cancel()
		<-done
	}
}

// suspected contains codes of failures that indicate a change of roles: read_only_sql_transaction, cannot_connect_now
// and admin_shutdown of PostgreSQL, and those of Redis.
var suspected = []string{"25006", "57P03", "57P01", "READONLY", "MASTERDOWN", "LOADING"}

// suspects requests a refresh of the nodes if a failure indicates a change.
func (r *Runner) suspects(e *engine.ErrorEvent) {
	if r.buckets != nil && (e.Failure.Misdirected || e.Failure.Class == protocol.Connect || e.Failure.Fatal) {
		r.buckets.doubt()
	}
	if e.Failure.Class != protocol.Connect && !e.Failure.Fatal && !slices.Contains(suspected, e.Failure.Code) {
		return
	}
	select {
	case r.suspect <- struct{}{}:
	default:
	}
}
