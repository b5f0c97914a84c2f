package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/cli/usage"
	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/scale"
)

// workerFlags are the flags that distribute a load over workers.
type workerFlags struct {
	workersFlags *pflag.FlagSet
	workers      loadtest.Workers
	slurm        string
	count        string // name of the flag with their number
}

func (f *workerFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.bindPlaces(cmd, "workers", "spread the load over so many processes, which begin at one instant")
	fs.StringVar(&f.workers.OnLost, "on-lost", scale.GoOn,
		"what to do when a worker is lost: go-on (without its share), redistribute (others send it) or abort")
	fs.BoolVar(&f.workers.MixedCores, "mixed-cores", false, "let workers have different numbers of cores")
	fs.BoolVar(&f.workers.Cluster.Print, "manifest", false,
		"with --on kubernetes: print the objects of a coordinator and its workers for kubectl, and send nothing")
	usage.InGroup(fs, usage.Workers)
	proposeValues(cmd, "on-lost", scale.Policies())
}

// bindPlaces binds the flags that say how many workers there are, by the flag count, and where.
func (f *workerFlags) bindPlaces(cmd *cobra.Command, count, what string) {
	fs := cmd.Flags()
	f.workersFlags, f.count = fs, count
	fs.IntVar(&f.workers.Number, count, 0, what)
	fs.StringVar(&f.workers.On, "on", loadtest.Local,
		"where workers run: local (this machine), ssh (--hosts), slurm, kubernetes (--image) or external (--ticket)")
	fs.StringSliceVar(&f.workers.Hosts, "hosts", nil, "with --on ssh: host[,user@host:port…], which get workers in turn")
	fs.StringVar(&f.workers.SSHConfig, "ssh-config", "", "with --on ssh: settings of the ssh client (default: yours)")
	fs.StringVar(&f.slurm, "slurm-options", "", "with --on slurm: further arguments of srun, such as --partition=NAME")
	fs.StringVar(&f.workers.Listen, "listen", "", "host:port at which workers reach this process (default: a free port)")
	fs.DurationVar(&f.workers.JoinTimeout, "join-timeout", 0,
		"how long to wait for workers to come and to be ready (default 30s; kubernetes 2m, external 10m)")
	f.bindCluster(fs)
	usage.InGroup(fs, usage.Workers)
	proposeValues(cmd, "on", engines())
}

func engines() []string {
	return []string{loadtest.Local, loadtest.SSH, loadtest.Slurm, loadtest.Kubernetes, loadtest.External}
}

// mostWorkers is the maximum number of workers of one load.
const mostWorkers = mostParts

// checkWorkers returns an error if --workers can't be used for a load. plans are the load's plans, as far as known.
func (f *workerFlags) checkWorkers(record *loadtest.Record, plans ...*plan.Plan) error {
	if f.workersFlags == nil {
		return nil
	}
	if err := f.checkPlaces(); err != nil || !f.workersFlags.Changed(f.count) {
		return err
	}
	if record.None {
		return errors.New("--no-record: the result is made of the workers' records; remove the flag")
	}
	if err := oneOf("on-lost", f.workers.OnLost, scale.Policies()); err != nil {
		return err
	}
	f.workers.Cluster.Pods.Upload = record.Upload
	if err := f.checkCluster(); err != nil {
		return err
	}
	for _, l := range plans {
		if err := f.redistributes(l); err != nil {
			return err
		}
		p := *l
		if err := plan.Share(&p, 0, f.workers.Number); err != nil {
			return fmt.Errorf("--workers %d: %w", f.workers.Number, err)
		}
	}
	return nil
}

// checkPlaces refuses what can't say where workers run.
func (f *workerFlags) checkPlaces() error {
	set := f.workersFlags.Changed
	if !set(f.count) {
		for _, name := range append([]string{"on", "on-lost", "listen", "join-timeout", "mixed-cores", "hosts",
			"ssh-config", "slurm-options", "advertise", "ticket"}, clusterFlags()...) {
			if set(name) {
				return fmt.Errorf("--%s is for --%s; give --%s N", name, f.count, f.count)
			}
		}
		return nil
	}
	switch {
	case f.workers.Number < 1 || f.workers.Number > mostWorkers:
		return fmt.Errorf("--%s %d: give a number from 1 to %d", f.count, f.workers.Number, mostWorkers)
	case !slices.Contains(engines(), f.workers.On):
		return fmt.Errorf("--on %s: use %s", f.workers.On, strings.Join(engines(), ", "))
	case f.workers.On == loadtest.SSH && len(f.workers.Hosts) == 0:
		return errors.New("--on ssh: name the hosts with --hosts")
	case f.workers.On == loadtest.SSH &&
		slices.ContainsFunc(f.workers.Hosts, func(h string) bool { return h == "" || h[0] == '-' }):
		return fmt.Errorf("--hosts %s: write host, user@host or user@host:port", strings.Join(f.workers.Hosts, ","))
	case f.workers.On != loadtest.SSH && (len(f.workers.Hosts) > 0 || f.workers.SSHConfig != ""):
		return errors.New("--hosts and --ssh-config are for --on ssh; add that")
	case f.workers.On != loadtest.Slurm && f.slurm != "":
		return errors.New("--slurm-options is for --on slurm; add that")
	case set("join-timeout") && f.workers.JoinTimeout <= 0:
		return durationFlag("join-timeout", f.workers.JoinTimeout)
	}
	f.workers.Slurm = strings.Fields(f.slurm)
	return nil
}

// redistributes returns an error if --on-lost redistribute is given for a load whose operations can't move to other
// workers.
func (f *workerFlags) redistributes(p *plan.Plan) error {
	for i := range p.Load {
		if ph := &p.Load[i]; f.workers.OnLost == scale.Redistribute && ph.Kind == plan.Closed {
			return fmt.Errorf(
				"--on-lost redistribute: phase %q is closed, and its sessions can't move to other workers; use go-on or abort",
				ph.Name)
		}
	}
	return nil
}

// takeWorkers removes the worker flags from a command line of another tool, whose flag parser doesn't know them. Flags
// may have one dash or two. Arguments after -- are left unchanged.
func takeWorkers(args []string) (f *workerFlags, rest []string, err error) {
	f = &workerFlags{}
	cmd := &cobra.Command{}
	f.bind(cmd)
	fs := cmd.Flags()
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		flag := fs.Lookup(name)
		switch {
		case args[i] == "--":
			return f, append(rest, args[i:]...), nil
		case args[i] == "" || args[i][0] != '-' || flag == nil || name == usage.HelpAll:
			rest = append(rest, args[i])
			continue
		case joined:
		case flag.NoOptDefVal != "":
			value = flag.NoOptDefVal
		case i+1 == len(args):
			return nil, nil, fmt.Errorf("flag needs an argument: --%s", name)
		default:
			i++
			value = args[i]
		}
		if err := fs.Set(name, value); err != nil {
			return nil, nil, err
		}
	}
	return f, rest, nil
}
