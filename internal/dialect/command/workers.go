package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/scale"
)

// WorkerFlags are the flags that distribute a load over workers.
type WorkerFlags struct {
	Workers loadtest.Workers
	flags   *pflag.FlagSet
	slurm   string
	count   string // name of the flag with their number
}

// Bind binds the flags to a command.
func (f *WorkerFlags) Bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.BindPlaces(cmd, "workers", "spread the load over so many processes, which begin at one instant")
	fs.StringVar(&f.Workers.OnLost, "on-lost", scale.GoOn,
		"what to do when a worker is lost: go-on (without its share), redistribute (others send it) or abort")
	fs.BoolVar(&f.Workers.MixedCores, "mixed-cores", false, "let workers have different numbers of cores")
	fs.BoolVar(&f.Workers.Cluster.Print, "manifest", false,
		"with --on kubernetes: print the objects of a coordinator and its workers for kubectl, and send nothing")
	usage.InGroup(fs, usage.Workers)
	ProposeValues(cmd, "on-lost", scale.Policies())
}

// BindPlaces binds only the flags that say how many workers there are, by the flag count, and where.
func (f *WorkerFlags) BindPlaces(cmd *cobra.Command, count, what string) {
	fs := cmd.Flags()
	f.flags, f.count = fs, count
	fs.IntVar(&f.Workers.Number, count, 0, what)
	fs.StringVar(&f.Workers.On, "on", loadtest.Local,
		"where workers run: local (this machine), ssh (--hosts), slurm, kubernetes (--image) or external (--ticket)")
	fs.StringSliceVar(&f.Workers.Hosts, "hosts", nil, "with --on ssh: host[,user@host:port…], which get workers in turn")
	fs.StringVar(&f.Workers.SSHConfig, "ssh-config", "", "with --on ssh: settings of the ssh client (default: yours)")
	fs.StringVar(&f.slurm, "slurm-options", "", "with --on slurm: further arguments of srun, such as --partition=NAME")
	fs.StringVar(&f.Workers.Listen, "listen", "", "host:port at which workers reach this process (default: a free port)")
	fs.DurationVar(&f.Workers.JoinTimeout, "join-timeout", 0,
		"how long to wait for workers to join and to be ready (default 30s; kubernetes 2m, external 10m)")
	f.bindCluster(fs)
	usage.InGroup(fs, usage.Workers)
	ProposeValues(cmd, "on", loadtest.Places())
}

// bindCluster binds the flags for workers that Kubernetes or the user starts.
func (f *WorkerFlags) bindCluster(fs *pflag.FlagSet) {
	w := &f.Workers
	fs.StringVar(&w.Advertise, "advertise", "", "host:port that workers call, if it isn't that of --listen")
	fs.StringVar(&w.Ticket, "ticket", "",
		"with --on external: file of the ticket for workers, to be written, or coordinator.json of brunt ticket")
	c := &w.Cluster
	fs.StringVar(&c.Pods.Image, "image", "", "with --on kubernetes: image of brunt, of the same version")
	fs.StringVar(&c.Pods.PullSecret, "image-pull-secret", "", "with --on kubernetes: secret for the image's registry")
	fs.StringVar(&c.Source.Namespace, "namespace", "", "with --on kubernetes: namespace (default: the context's)")
	fs.StringVar(&c.Source.Kubeconfig, "kubeconfig", "", "with --on kubernetes: kubeconfig (default: $KUBECONFIG, ~/.kube/config)")
	fs.StringVar(&c.Source.Context, "kube-context", "", "with --on kubernetes: context (default: the current one)")
	fs.StringVar(&c.Pods.CPU, "cpu", "1", "with --on kubernetes: cores of each worker, as request and as limit")
	fs.StringVar(&c.Pods.Memory, "memory", "512Mi", "with --on kubernetes: memory of each worker, as request and as limit")
	fs.StringVar(&c.Pods.EnvSecret, "env-secret", "", "with --on kubernetes: secret whose keys become variables of the workers")
}

// given returns the worker flags that the command line has given.
func (f *WorkerFlags) given() loadtest.Flags {
	f.Workers.Slurm = strings.Fields(f.slurm)
	given := loadtest.Flags{Count: f.count}
	if f.flags != nil {
		given.Given = f.flags.Changed
	}
	return given
}

// Spread reports whether the load is to be distributed over workers.
func (f *WorkerFlags) Spread() bool { return f.flags != nil && f.flags.Changed(f.count) }

// CheckWorkers returns an error if --workers can't be used for a load. plans are the load's plans, as far as known.
func (f *WorkerFlags) CheckWorkers(record *loadtest.Record, plans ...*plan.Plan) error {
	return exitcode.Usage(f.Workers.Check(f.given(), record, plans...))
}

// CheckSeries is CheckWorkers for several loads in sequence.
func (f *WorkerFlags) CheckSeries(record *loadtest.Record, plans ...*plan.Plan) error {
	if err := f.CheckWorkers(record, plans...); err != nil {
		return err
	}
	return exitcode.Usage(f.Workers.CheckSeries(record))
}

// CheckFilling returns an error if the flags can't be used to fill tables.
func (f *WorkerFlags) CheckFilling() error { return f.Workers.CheckFilling(f.given()) }

// TakeWorkers removes the worker flags from a command line of another tool, whose flag parser doesn't know them. Flags
// may have one dash or two. Arguments after -- are left unchanged.
func TakeWorkers(args []string) (f *WorkerFlags, rest []string, err error) {
	f = &WorkerFlags{}
	cmd := &cobra.Command{}
	f.Bind(cmd)
	rest, err = TakeFlags(cmd.Flags(), args)
	return f, rest, err
}

// AboutWorkers is what the help of such a tool says about the flags that TakeWorkers takes.
const AboutWorkers = "\nThe load can be sent from several processes or hosts: --workers N, --on, --hosts; see docs/scale.md.\n"

// TakeFlags sets the flags of fs that a command line of another tool contains, whose flag parser doesn't know them, and
// returns the rest. Flags may have one dash or two. Arguments after -- are left unchanged.
func TakeFlags(fs *pflag.FlagSet, args []string) (rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		flag := fs.Lookup(name)
		switch {
		case args[i] == "--":
			return append(rest, args[i:]...), nil
		case args[i] == "" || args[i][0] != '-' || flag == nil || name == usage.HelpAll:
			rest = append(rest, args[i])
			continue
		case joined:
		case flag.NoOptDefVal != "":
			value = flag.NoOptDefVal
		case i+1 == len(args):
			return nil, fmt.Errorf("flag needs an argument: --%s", name)
		default:
			i++
			value = args[i]
		}
		if err := fs.Set(name, value); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
