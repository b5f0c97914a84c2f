package etcdbench

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/password"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/plan/script"
	"brunt/internal/run/loadtest"
)

// commandName is the command below brunt.
const commandName = "etcd-benchmark"

//go:embed help/*.txt
var helpFiles embed.FS

func texts() command.Texts { return command.Texts{Files: helpFiles, Folder: "help"} }

// Tool declares etcd's benchmark.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: commandName, Formats: []string{commandName}, Programs: []string{"benchmark"},
		Commands:  []dialect.Command{{Name: commandName, New: newBenchmark, Rewrite: rewrite}},
		Results:   []result.Format{Results()},
		Languages: []script.Language{Language{}, WatchLanguage{}},
	}
}

// names are benchmark's commands that send a load.
var names = []string{"put", "range", "stm", "txn-put", "txn-mixed", "watch", "watch-latency", "watch-get",
	"lease-keepalive"}

func newBenchmark(s *command.Env) *cobra.Command {
	var all []*cobra.Command
	for _, name := range names {
		all = append(all, newLoad(s, name))
	}
	cmd := texts().Group(commandName, all...)
	cmd.AddCommand(&cobra.Command{Use: "mvcc", Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError(s, errors.New("mvcc isn't supported: it measures etcd's storage inside the process of benchmark, "+
				"not a server; use etcd's own benchmark"))
		}})
	return cmd
}

// rewrite moves the command before the flags that precede it.
func rewrite(args []string) ([]string, error) {
	known := append([]string{"mvcc"}, names...)
	bools := map[string]bool{"precise": true, "sample": true, "insecure-skip-tls-verify": true, "target-leader": true,
		"report-perfdash": true}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		switch {
		case isFlag && !strings.Contains(name, "=") && !bools[name] && name != "help":
			i++ // its value
		case isFlag || args[i] == "-h":
		default:
			for _, k := range known {
				if args[i] == k {
					return append(append([]string{k}, args[:i]...), args[i+1:]...), nil
				}
			}
			return args, nil
		}
	}
	return args, nil
}

// load is a command that sends a load.
type load struct {
	command.LiveFlags
	command.RecordFlags
	command.WorkerFlags
	Options
	cmd        *cobra.Command
	latency    string
	thresholds []string
	report     bool
	quiet      bool
}

func newLoad(s *command.Env, name string) *cobra.Command {
	l := &load{Options: Options{Command: name}}
	args := cobra.NoArgs
	if name == "range" || name == "txn-mixed" {
		args = cobra.MaximumNArgs(2)
	}
	cmd := texts().New(name, args, func(_ *cobra.Command, args []string) error {
		l.Args = args
		return l.run(s)
	})
	l.cmd = cmd
	l.bind(cmd)
	return command.HasPlan(cmd)
}

func (l *load) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	l.bindOwn(fs)
	var own []string
	fs.VisitAll(func(f *pflag.Flag) { own = append(own, f.Name) })
	usage.InGroup(fs, usage.Load, own...)
	l.bindAll(fs)
	l.WorkerFlags.Bind(cmd)
	fs.StringVar(&l.Tier, "tier", "auto", "auto, codec (event loops) or library (a goroutine a client)")
	fs.StringVar(&l.Awake, "awake", "auto", "keep this machine's cores from sleeping during the load: auto, on or off")
	usage.InGroup(fs, usage.Machine)
	fs.Uint64Var(&l.Seed, "seed", 0, "seed of keys and values")
	fs.StringVar(&l.latency, "latency", "response",
		"with --rate, what the report's times count from: response (when the request was due) or service (its send)")
	usage.InGroup(fs, usage.Load)
	command.BindThresholds(fs, &l.thresholds)
	l.RecordFlags.Bind(fs)
	l.LiveFlags.Bind(fs)
	fs.BoolVar(&l.report, "report", false, "also print brunt's own report, and exit by its verdict")
	fs.BoolVar(&l.quiet, "quiet", false, "no notices")
	usage.InGroup(fs, usage.Output, "results", "bundle", "no-record", "report")
}

// bindAll binds the flags that all commands of benchmark have.
func (l *load) bindAll(fs *pflag.FlagSet) {
	fs.StringSliceVar(&l.Endpoints, "endpoints", []string{"127.0.0.1:2379"}, "addresses of etcd's members")
	fs.UintVar(&l.Conns, "conns", 1, "connections, which the clients share")
	fs.UintVar(&l.Clients, "clients", 1, "clients: requests in flight")
	fs.BoolVar(&l.Precise, "precise", false, "all digits of times")
	fs.BoolVar(&l.Sample, "sample", false, "add a table of seconds to the report")
	fs.BoolVar(&l.TargetLeader, "target-leader", false, "send to the leader only")
	fs.StringVar(&l.Cert, "cert", "", "client's certificate (PEM)")
	fs.StringVar(&l.Key, "key", "", "client's key (PEM)")
	fs.StringVar(&l.CACert, "cacert", "", "certificates of the authorities of servers (PEM)")
	fs.BoolVar(&l.Insecure, "insecure-skip-tls-verify", false, "don't verify servers' certificates")
	fs.StringVar(&l.User, "user", "", "username[:password]; asks for a password that isn't given")
	fs.DurationVar(&l.DialTimeout, "dial-timeout", 0, "how long connecting may take (0: 5s)")
	fs.DurationVar(&l.AutoSync, "auto-sync-interval", 0, "ask for the cluster's members so often (0: never)")
	fs.BoolVar(&l.PerfDash, "report-perfdash", false, "also write quantiles as JSON into $ARTIFACTS or ./_artifacts")
	usage.InGroup(fs, usage.Target, "endpoints", "conns", "clients", "precise", "sample", "user")
}

// bindOwn binds the flags of the command.
func (l *load) bindOwn(fs *pflag.FlagSet) {
	if strings.HasPrefix(l.Command, "watch") {
		l.bindWatch(fs)
		return
	}
	fs.IntVar(&l.Total, "total", 10000, "requests to send")
	if l.Command != "lease-keepalive" {
		fs.IntVar(&l.Rate, "rate", 0, "requests a second, whatever etcd does (0: as fast as the clients can)")
	}
	switch l.Command {
	case "put", "txn-put", "txn-mixed":
		fs.IntVar(&l.KeySize, "key-size", 8, "bytes of a key")
		fs.IntVar(&l.ValSize, "val-size", 8, "bytes of a value")
		fs.IntVar(&l.KeySpace, "key-space-size", 1, "how many numbers keys are made of")
	}
	switch l.Command {
	case "put":
		fs.BoolVar(&l.Sequential, "sequential-keys", false, "keys in order instead of at random")
		fs.StringVar(&l.Prefix, "prefix", "", "what keys begin with")
		fs.DurationVar(&l.Compact, "compact-interval", 0, "compact the database so often (0: never)")
		fs.Int64Var(&l.CompactDelta, "compact-index-delta", 1000, "revisions that a compaction leaves")
		fs.BoolVar(&l.HashKV, "check-hashkv", false, "ask for the hash of the database at the end")
	case "range":
		fs.Int64Var(&l.Limit, "limit", 0, "most results of a request (0: all)")
		fs.BoolVar(&l.CountOnly, "count-only", false, "only the number of keys")
		fs.BoolVar(&l.KeysOnly, "keys-only", false, "keys without values")
		fs.BoolVar(&l.ByPrefix, "prefix", false, "all keys that begin with the key")
		fs.BoolVar(&l.Stream, "stream", false, "not supported")
		fs.BoolVar(&l.Paginate, "paginate", false, "not supported")
	case "txn-put":
		fs.IntVar(&l.TxnOps, "txn-ops", 1, "puts of a transaction")
	case "txn-mixed":
		var none string
		fs.StringVar(&none, "end-key", "", "without effect, as in benchmark")
		fs.Int64Var(&l.Limit, "limit", 1000, "most results of a read")
		fs.Float64Var(&l.RWRatio, "rw-ratio", 1, "reads for each write")
	case "stm":
		fs.StringVar(&l.STM.Isolation, "isolation", "r",
			"read committed (c), repeatable reads (r), serializable (s) or snapshot (ss)")
		fs.IntVar(&l.STM.Keys, "keys", 1, "keys to choose from")
		fs.IntVar(&l.STM.KeysPerTxn, "keys-per-txn", 1, "keys that a transaction reads")
		fs.IntVar(&l.STM.WritePercent, "txn-wr-percent", 50, "share of these that it writes")
		fs.StringVar(&l.STM.Locker, "stm-locker", "stm", "lock around each transaction: none (stm) or lock-rpc")
		fs.IntVar(&l.ValSize, "val-size", 8, "bytes of a value")
	}
	if l.Command == "range" || l.Command == "txn-mixed" {
		fs.StringVar(&l.Consistency, "consistency", "l", "reads: linearizable (l) or serializable (s)")
	}
}

// bindWatch binds the flags of a command that watches.
func (l *load) bindWatch(fs *pflag.FlagSet) {
	w := &l.Options.Watch
	l.KeySize, l.KeySpace, w.Keys = 32, 1, 1
	switch l.Command {
	case "watch":
		fs.IntVar(&w.Streams, "streams", 10, "streams of events")
		fs.IntVar(&w.PerStream, "watch-per-stream", 100, "watches of each stream")
		fs.IntVar(&w.Keys, "watched-key-total", 1, "keys that are watched")
		fs.IntVar(&w.PutRate, "put-rate", 0, "puts a second (0: as fast as the clients can)")
		fs.IntVar(&w.Puts, "put-total", 1000, "puts to send")
		fs.IntVar(&l.KeySize, "key-size", 32, "bytes of a key")
		fs.IntVar(&l.KeySpace, "key-space-size", 1, "how many numbers keys are made of")
		fs.BoolVar(&l.Sequential, "sequential-keys", false, "keys in order instead of at random")
	case "watch-latency":
		fs.IntVar(&w.Streams, "streams", 10, "streams of events")
		fs.IntVar(&w.PerStream, "watchers-per-stream", 10, "watches of each stream")
		fs.BoolVar(&w.PrevKV, "prevkv", false, "ask for the previous value with each event")
		fs.IntVar(&w.Puts, "put-total", 1000, "puts to send")
		fs.IntVar(&w.PutRate, "put-rate", 100, "puts a second")
		fs.IntVar(&l.KeySize, "key-size", 32, "bytes of the key")
		fs.IntVar(&l.ValSize, "val-size", 32, "bytes of a value")
	case "watch-get":
		fs.IntVar(&w.PerStream, "watchers", 10000, "watches of all streams")
		fs.IntVar(&w.Streams, "streams", 1, "streams of events")
		fs.IntVar(&w.Puts, "events", 8, "events of each watch")
	}
}

// run sends the load.
func (l *load) run(s *command.Env) error {
	o := &l.Options
	if err := o.Check(); err != nil {
		return usageError(s, err)
	}
	for _, err := range []error{flags.OneOf("awake", l.Awake, flags.Choices("awake")),
		flags.OneOf("latency", l.latency, []string{"response", "service"}),
		flags.OneOf("tier", l.Tier, []string{"auto", "codec", "library"})} {
		if err != nil {
			return exitcode.Usage(err)
		}
	}
	o.Service = l.latency == "service"
	_, given, ask := o.Credentials()
	var err error
	if o.Password, err = password.Find(given, "", ask && !s.PlanOnly, s.In, s.Err); err != nil {
		return exitcode.Usage(err)
	}
	p, err := o.Plan()
	if err == nil {
		err = p.Require(l.thresholds)
	}
	if err != nil {
		return usageError(s, err)
	}
	if problems := p.Validate(); len(problems) > 0 {
		return usageError(s, problems)
	}
	s.Flags = map[string]string{"sessions": "--clients", "threshold": "--threshold", "awake": "--awake"}
	if l.cmd.Flags().Lookup("rate") != nil {
		s.Flags["rate"] = "--rate"
	}
	if err := l.CheckWorkers(&l.Record, p); err != nil {
		return err
	}
	if strings.HasPrefix(o.Command, "watch") && l.Workers.Number > 0 {
		return usageError(s, fmt.Errorf("%s: events are compared with puts in one process; leave --workers out", o.Command))
	}
	e := &execution{o: o, plan: p, report: l.report, quiet: l.quiet}
	t := &loadtest.Test{
		Plan: p, Record: l.Record, Live: l.Live, Process: s.Process(), Quiet: l.quiet, Workers: l.Workers, Hooks: e.hooks,
		Beyond: o.beyond(),
	}
	t.Options.Recording.Extra = map[string]string{"dialect": commandName}
	return t.Perform(s.Out, s.Err)
}

// usageError marks an error as the user's, with benchmark's exit code if brunt was called by its name.
func usageError(s *command.Env, err error) error {
	if s.Program != "" {
		return exitcode.With(1, err)
	}
	return exitcode.Usage(err)
}

// beyond returns what of the command no plan describes.
func (o *Options) beyond() []string {
	out := []string{"benchmark's report: brunt run prints its own"}
	if o.Service {
		out = append(out, "--latency=service: brunt run reports response and service times")
	}
	if o.PerfDash {
		out = append(out, "--report-perfdash: the file of quantiles")
	}
	if o.Compact > 0 {
		out = append(out, "--compact-interval: compactions during the load")
	}
	if o.HashKV {
		out = append(out, "--check-hashkv: the hash at the end")
	}
	return out
}
