package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/scale"
)

// workerFlags say over which workers a load is spread.
type workerFlags struct {
	workersCmd *cobra.Command
	workers    loadtest.Workers
}

func (f *workerFlags) bind(cmd *cobra.Command) {
	f.workersCmd = cmd
	fs := cmd.Flags()
	fs.IntVar(&f.workers.Number, "workers", 0, "spread the load over so many processes, which begin at one instant")
	fs.StringVar(&f.workers.On, "on", loadtest.Local, "where workers run: local (this machine) or ssh (--hosts)")
	fs.StringSliceVar(&f.workers.Hosts, "hosts", nil, "with --on ssh: host[,user@host:port…], which get workers in turn")
	fs.StringVar(&f.workers.SSHConfig, "ssh-config", "", "with --on ssh: settings of the ssh client (default: yours)")
	fs.StringVar(&f.workers.OnLost, "on-lost", scale.GoOn, "what to do when a worker is lost: go-on (without its share) or abort")
	fs.StringVar(&f.workers.Listen, "listen", "", "host:port at which workers reach this process (default: a free port)")
	fs.DurationVar(&f.workers.JoinTimeout, "join-timeout", 30*time.Second, "how long to wait for workers to come and to be ready")
	fs.BoolVar(&f.workers.MixedCores, "mixed-cores", false, "let workers have different numbers of cores")
	inGroup(fs, groupWorkers)
	proposeValues(cmd, "on", engines())
	proposeValues(cmd, "on-lost", scale.Policies())
}

func engines() []string { return []string{loadtest.Local, loadtest.SSH} }

// mostWorkers bounds the workers of one load.
const mostWorkers = mostParts

// checkWorkers refuses what --workers can't do for a plan's load.
func (f *loadFlags) checkWorkers(l *plan.Plan) error {
	if f.workersCmd == nil {
		return nil
	}
	set := f.workersCmd.Flags().Changed
	if !set("workers") {
		for _, name := range []string{"on", "on-lost", "listen", "join-timeout", "mixed-cores", "hosts",
			"ssh-config"} {
			if set(name) {
				return fmt.Errorf("--%s is for --workers; give --workers N", name)
			}
		}
		return nil
	}
	switch {
	case f.workers.Number < 1 || f.workers.Number > mostWorkers:
		return fmt.Errorf("--workers %d: give a number from 1 to %d", f.workers.Number, mostWorkers)
	case !slices.Contains(engines(), f.workers.On):
		return fmt.Errorf("--on %s: use %s", f.workers.On, strings.Join(engines(), " or "))
	case f.workers.On == loadtest.SSH && len(f.workers.Hosts) == 0:
		return errors.New("--on ssh: name the hosts with --hosts")
	case f.workers.On == loadtest.SSH &&
		slices.ContainsFunc(f.workers.Hosts, func(h string) bool { return h == "" || h[0] == '-' }):
		return fmt.Errorf("--hosts %s: write host, user@host or user@host:port", strings.Join(f.workers.Hosts, ","))
	case f.workers.On != loadtest.SSH && (len(f.workers.Hosts) > 0 || f.workers.SSHConfig != ""):
		return errors.New("--hosts and --ssh-config are for --on ssh; add that")
	case f.workers.OnLost == "redistribute":
		return errors.New("--on-lost redistribute: the share of a lost worker can't be given to others; use go-on or abort")
	case f.record.None:
		return errors.New("--no-record: the result is made of the workers' records; remove the flag")
	case f.workers.JoinTimeout <= 0:
		return durationFlag("join-timeout", f.workers.JoinTimeout)
	}
	if err := oneOf("on-lost", f.workers.OnLost, scale.Policies()); err != nil {
		return err
	}
	for k := range f.workers.Number {
		p := *l
		if err := plan.Share(&p, k, f.workers.Number); err != nil {
			return fmt.Errorf("--workers %d: %w", f.workers.Number, err)
		}
	}
	return nil
}
