//go:build !nok6

// Package k6x embeds k6 in brunt: all of k6's commands run in this process, with brunt's modules, executors and output.
// The build tag nok6 leaves k6 out of the binary.
package k6x

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd"
	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/output"
	"go.k6.io/k6/v2/subcommand"

	"brunt/internal/dialect/k6/brunt"
	"brunt/internal/dialect/k6/datagen"
	"brunt/internal/dialect/k6/executor"
	k6output "brunt/internal/dialect/k6/output"
	"brunt/internal/dialect/k6/picostress"
	"brunt/internal/dialect/k6/script"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/dialect/k6/tarantool"
	"brunt/internal/measure"
	"brunt/internal/record"
)

// modulePath is the module path of the embedded k6.
const modulePath = "go.k6.io/k6/v2"

// Options are the settings for the embedded k6.
type Options struct {
	Name    string   // name that k6 uses for itself: "k6" or "brunt k6"
	Version string   // of brunt
	Command []string // the command line for the record, without secrets
	Err     io.Writer
	Led     *Led // nil: this process sends all of the load
	// Inspected are the servers to ask what they did: those of --inspect.
	Inspected []string
}

// Version returns the version of the embedded k6.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == modulePath {
				return d.Version
			}
		}
	}
	return "unknown"
}

// Main runs k6 and ends the process with k6's exit code. args is the command line without the program's name. It must
// be called once.
func Main(o Options, args []string) {
	r := &run{o: o}
	r.session = session.New(r.sessionOptions())
	for name, m := range moduleTable(r.session) {
		modules.Register(name, m)
	}
	executor.Register(r.session)
	tags := &k6output.Tags{Requests: func() bool { return r.sources.requests() }}
	output.RegisterExtension(k6output.TagsName, tags.NewConstructor())
	output.RegisterExtension(k6output.Name, k6output.New(r.session, k6output.Host{
		Tags: tags, MayCall: func() bool { return r.sources.mayCall() },
		MaySetUp: func() bool { return r.sources.maySetUp() },
		Ended:    r.outputsEnded, Served: r.served, Outputs: func() bool { return r.outputs },
		Sums:   func(script string) (string, string) { return r.sources.sum(script) },
		Script: r.ledScript(), Judged: r.judged(),
	}))
	// k6 builds its subcommands before it reads its flags, and gives each of them its state.
	subcommand.RegisterExtension(probeName, r.probe)
	os.Args = append([]string{"k6"}, args...)
	cmd.Execute()
}

// run is the state of a run of k6.
type run struct {
	o       Options
	session *session.Session
	ending  sync.Mutex // guards outcome; exit never unlocks it
	outcome session.Outcome
	gs      *state.GlobalState
	sources *sources
	outputs bool           // the user has asked for other outputs
	command *cobra.Command // brunt's command, which leads to k6's root command
}

// outputsEnded stores how the run ended. k6 calls it before it prints its summary.
func (r *run) outputsEnded(o session.Outcome) {
	r.ending.Lock()
	r.outcome = o
	r.ending.Unlock()
}

// served reports whether k6's REST API listens. k6 has read its flags by then, with K6_ADDRESS as a default.
func (r *run) served() bool { return r.gs.Flags.Address != "" }

// codeIncomplete is the exit code if k6 succeeded, but the record or an export is incomplete.
const codeIncomplete = 1

// exit completes the record and ends the process. After a second interrupt, k6 calls it from another goroutine, perhaps
// while it is already running. The first call completes the record; the process ends when that is done.
func (r *run) exit(code int) {
	r.ending.Lock()
	// k6 exits with -1 for errors that have no exit code of their own.
	r.outcome.Code = code & 0xff
	if err := r.session.Close(r.outcome); err != nil {
		fmt.Fprintln(r.o.Err, "brunt:", err)
		code = cmp.Or(code, codeIncomplete)
	}
	if led := r.o.Led; led != nil {
		_, err := os.Stat(filepath.Join(led.Dir, record.RunFile))
		code = led.Ended(code&0xff, err == nil)
	}
	os.Exit(code)
}

// judged returns what receives the thresholds that a coordinator judges; nil if this process sends all of the load.
func (r *run) judged() func([]record.AbortRule) {
	if r.o.Led == nil {
		return nil
	}
	return r.o.Led.Judged
}

// ledScript returns the name of the script of a worker, "" if this process sends all of the load.
func (r *run) ledScript() string {
	if r.o.Led == nil {
		return ""
	}
	return r.o.Led.Script
}

// begin waits for the time at which all workers begin.
func (r *run) begin() {
	start, err := r.o.Led.Begin()
	if err != nil {
		fmt.Fprintln(r.o.Err, "brunt:", err)
		interrupt()
		return
	}
	r.session.LoadBegins(start)
	go func() {
		select {
		case <-r.o.Led.Stop:
		case <-r.o.Led.Hard:
		}
		interrupt()
		<-r.o.Led.Hard
		interrupt()
	}()
}

// interrupt sends SIGINT to this process, like Ctrl-C.
func interrupt() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(os.Interrupt) // a process can signal itself
	}
}

// moduleTable returns brunt's JavaScript modules by the names that scripts import.
func moduleTable(s *session.Session) map[string]modules.Module {
	return map[string]modules.Module{
		"k6/x/brunt":      brunt.New(s),
		"k6/x/datagen":    datagen.New(s),
		"k6/x/picostress": picostress.New(s),
		"k6/x/tarantool":  tarantool.New(s),
	}
}

// Environment variables for the record, in addition to k6's own.
const (
	envResults = "BRUNT_RESULTS" // folder for bundles
	envBundle  = "BRUNT_BUNDLE"  // this run's bundle
	envSeed    = "BRUNT_SEED"    // seed of the values that modules generate
	envExport  = "BRUNT_EXPORT"  // destinations of intervals, separated by spaces
	envMetrics = "BRUNT_METRICS_ADDR"
	envInspect = script.EnvInspect // servers to ask, separated by spaces
)

func (r *run) sessionOptions() session.Options {
	seed, fault := seed()
	if led := r.o.Led; led != nil {
		return session.Options{
			Version: r.o.Version, Command: r.o.Command, Seed: seed, Fault: fault, Dir: led.Dir, Epoch: led.Epoch,
			Worker: led.Worker, Sinks: []measure.Sink{led.Sink},
			Tell: func(text string) { fmt.Fprintln(r.o.Err, text) },
		}
	}
	return session.Options{
		Version: r.o.Version, Command: r.o.Command, Seed: seed,
		Fault: fault, Root: os.Getenv(envResults), Dir: os.Getenv(envBundle),
		Live: session.Live{MetricsAddr: os.Getenv(envMetrics), Destinations: strings.Fields(os.Getenv(envExport)),
			Inspected: append(strings.Fields(os.Getenv(envInspect)), r.o.Inspected...)},
		Tell: func(text string) { fmt.Fprintln(r.o.Err, text) },
	}
}

// seed returns the seed from the environment. The default is 0, so that all runs generate the same values.
func seed() (uint64, error) {
	text := os.Getenv(envSeed)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: write a whole number from 0 to 18446744073709551615", envSeed, text)
	}
	return n, nil
}
