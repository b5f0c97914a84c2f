package loadtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol/protocols"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes"
)

// Shares returns an error if the load of p can't be divided among the workers. It doesn't check the engine that runs
// them; Ready does.
func (w *Workers) Shares(p *plan.Plan) error {
	if err := w.CheckTarget(p); err != nil {
		return err
	}
	part := *p
	if err := plan.Share(&part, 0, w.Number); err != nil {
		return fmt.Errorf("--workers %d: %w", w.Number, err)
	}
	return nil
}

// CheckTarget returns an error if workers can't share the database of p, because it runs inside brunt.
func (w *Workers) CheckTarget(p *plan.Plan) error {
	name := p.Target.Protocol
	d := protocols.Of(name)
	if !d.Embedded {
		return nil
	}
	inMemory := len(p.Target.Addresses) == 0 ||
		slices.ContainsFunc(p.Target.Addresses, func(a string) bool { return strings.Contains(a, ":memory:") })
	const instead = "name a server with --proto and -a, or omit --workers"
	switch {
	case w.On != Local:
		return fmt.Errorf("--on %s: %s runs inside brunt, so that each worker would have its own database; %s", w.On,
			name, instead)
	case !d.SharesFile:
		return fmt.Errorf("--workers: what %s stores is opened by one process; %s", name, instead)
	case inMemory && len(p.Tables) > 0:
		return fmt.Errorf(
			"--workers: %s without a file keeps its tables in the memory of one process; name a file with -a, or %s",
			name, instead)
	}
	return nil
}

// Ready returns an error if the workers can't be started where On says, as far as this can be checked before the target
// is changed. The error has an exit code.
func (w *Workers) Ready(ctx context.Context) error {
	d := &leading{l: &Test{Workers: *w}}
	if err := d.preflight(ctx); err != nil {
		return workerError(Failure(ctx, err))
	}
	return nil
}

// preflight does the checks of Workers.Ready. It also sets d.client for Kubernetes. For SSH it sets d.ssh and copies
// the program to the hosts.
func (d *leading) preflight(ctx context.Context) (err error) {
	w := &d.l.Workers
	if w.Listen != "" {
		if err := scale.CanListen(w.Listen); err != nil {
			return exitcode.Usage(err)
		}
	}
	switch w.On {
	case Kubernetes:
		if d.client, err = kubernetes.Open(w.Cluster.Source); err != nil {
			return err
		}
		if err := d.client.Check(ctx); err != nil {
			return err
		}
		_, err = d.callback(ctx, "0")
		return err
	case SSH:
		self, err := os.Executable()
		if err != nil {
			return err
		}
		d.ssh = &scale.SSH{Hosts: w.Hosts, Config: w.SSHConfig, Binary: self}
		return d.ssh.Copy(ctx)
	case Slurm:
		return scale.CheckSlurm(ctx)
	case External:
		_, err := scale.ReadPair(w.Ticket)
		return exitcode.Usage(err)
	}
	return nil
}
