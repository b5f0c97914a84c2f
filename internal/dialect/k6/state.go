//go:build !nok6

package k6x

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.k6.io/k6/v2/cmd/state"

	k6output "brunt/internal/dialect/k6/output"
)

// probeName is the subcommand through which brunt gets access to k6's state. It is hidden and does nothing.
const probeName = "brunt"

// probe is called by k6 while it builds its commands, before it parses its flags. k6 uses the state as probe changes
// it. k6 doesn't document that, so its version is pinned, and tests verify it.
func (r *run) probe(gs *state.GlobalState) *cobra.Command {
	r.gs = gs
	if gs.Env[state.AutoExtensionResolution] == "" {
		gs.Flags.AutoExtensionResolution = false
	}
	if gs.Env["K6_NO_USAGE_REPORT"] == "" {
		gs.Env["K6_NO_USAGE_REPORT"] = "true"
	}
	gs.OSExit = r.exit
	r.watchSignals(gs)
	file := gs.BinaryName
	gs.BinaryName = r.o.Name
	r.sources = &sources{Fs: gs.FS, config: gs.Flags.ConfigFilePath, sums: map[string][sha256.Size]byte{}}
	gs.FS, gs.Stdin = r.sources, &stdinOf{from: gs.Stdin, s: r.sources}
	if !plainRun(gs.CmdArgs[1:]) {
		gs.Stdout.Writer = newRenamer(gs.Stdout.Writer, file, r.o.Name)
	}
	gs.Logger.AddHook(&hints{name: r.o.Name, known: r.known(), threw: r.session.Threw})
	gs.Logger.AddHook(redactor{})
	r.watchEnd(gs)
	r.watchStart(gs)
	if r.o.Led != nil {
		gs.Stdout.Writer = io.Discard // the coordinator has the report of all workers
		gs.Stderr.Writer = unjudged{gs.Stderr.Writer}
	}
	r.command = &cobra.Command{Use: probeName, Hidden: true, Run: func(*cobra.Command, []string) {}}
	cobra.OnInitialize(r.addOutput)
	return r.command
}

// plainRun reports whether the command line runs a script, and asks for no help.
func plainRun(args []string) bool {
	for _, a := range args {
		if a == "-h" || a == "--help" || a == "--" {
			return a == "--"
		}
	}
	return len(args) > 0 && args[0] == "run"
}

// Values of k6's events of these names. Their type is internal to k6.
const (
	testStart = 2
	testEnd   = 3
)

// watchStart makes the run begin when the coordinator starts it, if there is one.
func (r *run) watchStart(gs *state.GlobalState) {
	_, events := gs.Events.Subscribe(testStart)
	go func() {
		for e := range events {
			if r.o.Led != nil {
				r.begin()
			} else {
				r.session.RunBegins()
			}
			e.Done()
		}
	}()
}

// watchEnd completes the sums at the end of the load, before k6 judges its thresholds for the last time.
func (r *run) watchEnd(gs *state.GlobalState) {
	_, events := gs.Events.Subscribe(testEnd)
	go func() {
		for e := range events {
			r.session.LoadOver()
			r.session.Flush()
			e.Done()
		}
	}()
}

// watchSignals intercepts the signals to k6. On the second one, k6 closes its channel of samples without waiting. The
// session must have stopped sending before k6 receives that signal.
func (r *run) watchSignals(gs *state.GlobalState) {
	notify, stop := gs.SignalNotify, gs.SignalStop
	ours := map[chan<- os.Signal]chan os.Signal{}
	var mu sync.Mutex
	gs.SignalNotify = func(to chan<- os.Signal, signals ...os.Signal) {
		if !slices.Contains(signals, os.Interrupt) { // SIGWINCH, for the terminal's size
			notify(to, signals...)
			return
		}
		from := make(chan os.Signal, 2)
		mu.Lock()
		ours[to] = from
		mu.Unlock()
		notify(from, signals...)
		go func() {
			first := true
			for sig := range from {
				if !first {
					r.session.Abort()
				}
				first = false
				select {
				case to <- sig:
				default: // drop it, as the runtime does: k6 needs two
				}
			}
		}()
	}
	gs.SignalStop = func(to chan<- os.Signal) {
		mu.Lock()
		from, known := ours[to]
		delete(ours, to)
		mu.Unlock()
		if !known {
			stop(to)
			return
		}
		stop(from)
		close(from) // after stop, nothing sends to it
	}
}

// unjudged removes messages about crossed thresholds, which are judged over all workers. k6 writes a line at a time.
type unjudged struct{ io.Writer }

// Write implements io.Writer.
func (u unjudged) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("thresholds on metrics '")) {
		return len(line), nil
	}
	return u.Writer.Write(line)
}

// addOutput makes brunt's output the last one that the user configures. k6 calls it after it has parsed its flags.
func (r *run) addOutput() {
	r.session.Quiet(r.gs.Flags.Quiet)
	r.sources.config = r.gs.Flags.ConfigFilePath
	if args := r.gs.CmdArgs[1:]; len(args) > 0 && args[0] == "completion" {
		r.command.Root().Use = "k6" // brunt has its own completion: this is for the binary named k6
	}
	root := r.command.Root()
	command, _, err := root.Find([]string{"run"})
	if err != nil || !command.Flags().Parsed() {
		return
	}
	flags := command.Flags()
	outs, err := flags.GetStringArray("out")
	if err != nil {
		return
	}
	if !flags.Changed("out") {
		outs = r.configured()
	}
	add := func(name string) {
		for _, out := range outs {
			if kind, _, _ := strings.Cut(out, "="); kind == name {
				return
			}
		}
		outs = append(outs, name)
	}
	if on, _ := strconv.ParseBool(r.gs.Env["K6_WEB_DASHBOARD"]); on {
		delete(r.gs.Env, "K6_WEB_DASHBOARD") // k6 would add it after brunt's output
		add("web-dashboard")
	}
	var ours string
	rest := outs[:0:0]
	for _, out := range outs {
		if kind, argument, _ := strings.Cut(out, "="); kind == k6output.Name {
			ours = argument
		} else {
			rest = append(rest, out)
		}
	}
	r.session.Configure(ours)
	r.outputs = len(rest) > 0
	value, ok := flags.Lookup("out").Value.(interface{ Replace([]string) error })
	if !ok {
		return
	}
	if err := value.Replace(append(append([]string{k6output.TagsName}, rest...), k6output.Name)); err == nil {
		flags.Lookup("out").Changed = true
	}
}

// configured returns the outputs in the environment or the configuration file.
func (r *run) configured() []string {
	if text := r.gs.Env["K6_OUT"]; text != "" {
		return strings.Split(text, ",")
	}
	data, err := os.ReadFile(r.gs.Flags.ConfigFilePath)
	if err != nil {
		return nil
	}
	var file struct {
		Out []string `json:"out"`
	}
	_ = json.Unmarshal(data, &file) // k6 reads it too, and reports errors
	return file.Out
}
