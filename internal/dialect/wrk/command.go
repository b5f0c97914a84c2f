package wrk

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/measure"
	"brunt/internal/plan/script"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares wrk and wrk2.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "wrk", Formats: []string{"wrk", "wrk2"}, Programs: []string{"wrk", "wrk2"},
		Arguments: func(s *command.Env, args []string) []string { return append([]string{s.Program}, args...) },
		Commands: []dialect.Command{
			{Name: "wrk", New: func(s *command.Env) *cobra.Command { return newCommand(s, "wrk") }},
			{Name: "wrk2", New: func(s *command.Env) *cobra.Command { return newCommand(s, "wrk2") }},
		},
		Results: []result.Format{Results()}, Languages: []script.Language{Language{}},
		File: func(name string, _ []byte) []string {
			if filepath.Ext(name) != ".lua" {
				return nil
			}
			return []string{"wrk", "-s", name}
		},
	}
}

func newCommand(s *command.Env, program string) *cobra.Command {
	return httpload.NewCommand(command.Texts{Files: helpFiles, Folder: "help"}, program,
		func(w io.Writer) { usage(w, program) }, func(args []string) error { return execute(s, program, args) })
}

// usage writes the usage.
func usage(w io.Writer, program string) {
	rate := ""
	if program == "wrk2" {
		rate = "    -R, --rate        <T>  requests a second, over all connections (needed)\n" +
			"    -U, --u_latency        print latencies without waiting for connections, too\n" +
			"    -B, --batch_latency    take requests that are sent together as one\n"
	}
	_, _ = fmt.Fprintf(w, "Usage: %s <options> <url>\n  Options:\n"+
		"    -c, --connections <N>  connections that are kept open (10)\n"+
		"    -d, --duration    <T>  duration of the load (10s)\n"+
		"    -t, --threads     <N>  threads: environments of a script (2)\n\n"+
		"    -s, --script      <S>  Lua script\n"+
		"    -H, --header      <H>  header field \"Name: value\" (repeatable)\n"+
		"    -L, --latency          print the distribution of latencies\n"+
		"        --timeout     <T>  time for a request (2s)\n%s"+
		"    -v, --version          print the version\n\n"+
		"  Numbers may have a unit (1k, 1M, 1G), times too (2s, 2m, 2h).\n\n%s", program, rate, httpload.OwnHelp())
}

// exitUsage is wrk's exit code for a bad command line, and for a load that can't be sent.
const exitUsage = 1

// execute executes a command line.
func execute(s *command.Env, program string, args []string) error {
	replacing := s.Program != ""
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return refused(s, program, err, replacing)
	}
	if !replacing && len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		usage(s.Out, "brunt "+program)
		return nil
	}
	o, err := Parse(program, args)
	if o != nil && o.Version {
		fmt.Fprintf(s.Out, "%s 4.2.0 [brunt %s]\n", program, s.Version)
	}
	if errors.Is(err, ErrUsage) {
		if text := err.Error(); err != ErrUsage && text != "" {
			fmt.Fprintln(s.Err, text)
		}
		out := s.Out
		if s.PlanOnly {
			out = s.Err // in the place of the plan, it would be taken for one
			if err == ErrUsage && o.URL == "" {
				return exitcode.Usage(fmt.Errorf("%s: no URL is given; add one, such as http://localhost:8080/", program))
			}
		}
		usage(out, program)
		return code(nil, replacing)
	}
	if err != nil {
		return refused(s, program, err, replacing)
	}
	p, err := o.Plan()
	if err == nil {
		err = own.Apply(p)
	}
	if err != nil {
		return refused(s, program, err, replacing)
	}
	s.Flags = map[string]string{"sessions": "-c", "threshold": "--threshold"}
	if program == "wrk2" {
		s.Flags["rate"] = "-R"
	}
	e := &execution{o: o}
	l := &httpload.Load{Tool: program, Plan: p, Own: own, Replacing: replacing, Hooks: e.hooks,
		Code: func(int) int { return exitUsage }}
	for i := range p.Operations {
		if shows().MatchString(p.Operations[i].Script) {
			l.Beyond = []string{"done of " + o.Script + ": it isn't called, and what the script prints goes to standard error"}
		}
	}
	return l.Perform(s)
}

// shows matches a script that may print, or that has the function done.
var shows = lazyregexp.New(`\b(done|print|io\.write)\b`)

// refused returns the error of a command line that can't be carried out.
func refused(_ *command.Env, program string, err error, replacing bool) error {
	if c, ok := errors.AsType[*exitcode.Error](err); ok {
		err = c.Err
	}
	return code(fmt.Errorf("%s", strings.TrimPrefix(err.Error(), program+": ")), replacing)
}

func code(err error, replacing bool) error {
	if replacing {
		return exitcode.With(exitUsage, err)
	}
	return exitcode.With(exitcode.BadPlan, err)
}

// execution is a load that prints what wrk prints.
type execution struct {
	o *Options

	outputs   *loadtest.Outputs
	program   *Program // nil without a script
	service   *measure.Histogram
	response  *measure.Histogram
	requests  *Stats
	counts    measure.Counts
	runtimeNs int64
	told      uint64 // answers of the script before the interval

	mu      sync.Mutex
	failed  *measure.Histogram // answers with a bad status
	failedR *measure.Histogram // their response times
	read    uint64             // connections lost while an answer was awaited
	late    uint64             // requests that may have changed something and were not answered in time
}

var _ measure.Sink = (*execution)(nil)

func (e *execution) hooks(out *loadtest.Outputs) runner.Hooks {
	e.outputs = out
	e.service, e.response, e.failed, e.failedR = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram(),
		measure.NewHistogram()
	e.requests = NewStats()
	return runner.Hooks{Sinks: []measure.Sink{e}, Attach: e.attach, Ready: e.ready, Result: e.result}
}

// attach is called with the compiled plan.
func (e *execution) attach(w *workload.Workload) {
	w.Timed = e.timed
	if p, ok := w.Scripts().(*Program); ok {
		e.program, p.Out = p, e.outputs.Out
	}
}

// ready runs the script up to the first request, and prints the first lines.
func (e *execution) ready(context.Context) error {
	if e.program != nil {
		if err := e.program.Begin(); err != nil {
			return exitcode.Usage(err)
		}
	}
	_, err := io.WriteString(e.outputs.Out, e.o.Header())
	return err
}

// timed keeps the times of answers with a bad status, which wrk counts among all.
func (e *execution) timed(t workload.Timing) {
	if t.Class == protocol.OK {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case t.Class == protocol.Server:
		e.failed.Record(t.EndNs - t.SentNs)
		e.failedR.Record(t.EndNs - t.IntendedNs)
	case t.Class == protocol.UnknownOutcome && protocol.Overdue(t.Class, t.Text):
		e.late++
	case (t.Class == protocol.Connect || t.Class == protocol.UnknownOutcome) && t.SentNs != 0:
		e.read++
	}
}

// Interval implements measure.Sink.
func (e *execution) Interval(iv *measure.Interval) error {
	if iv.WarmUp {
		return nil
	}
	var done uint64
	for i := range iv.Operations {
		op := &iv.Operations[i]
		e.counts.Add(&op.Counts)
		e.service.Merge(op.Service)
		e.response.Merge(op.Response)
		done += op.OK() + op.Errors[protocol.Server]
	}
	if e.program != nil {
		all, _ := e.program.Answers()
		done, e.told = all-e.told, all
	}
	length := iv.EndNs - iv.StartNs
	e.runtimeNs += length
	if done > 0 && length > 0 && !iv.Drain {
		e.requests.Add(int64(float64(done)/float64(e.o.Threads)*1e9/float64(length)), uint64(e.o.Threads))
	}
	return nil
}

// outcome is what wrk says about the load.
func (e *execution) outcome() *Outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &e.counts
	o := &Outcome{Latency: NewStats(), Requests: e.requests, Runtime: time.Duration(e.runtimeNs), Bytes: c.BytesIn}
	o.Latency.AddNs(e.service)
	o.Latency.AddNs(e.failed)
	o.Complete = c.OK() + c.Errors[protocol.Server]
	o.Errors = Errors{Timeout: c.Errors[protocol.Timeout] + e.late, Status: c.Errors[protocol.Server],
		Read: e.read + c.Errors[protocol.Protocol]}
	if lost := c.Errors[protocol.Connect] + c.Errors[protocol.UnknownOutcome]; lost > e.read+e.late {
		o.Errors.Connect = lost - e.read - e.late
	}
	if e.program != nil {
		o.Complete, o.Errors.Status = e.program.Answers()
	}
	if each := o.Complete / uint64(e.o.Connections); each > 0 && e.o.Program == "wrk" {
		o.Latency.Correct(o.Runtime.Microseconds() / int64(each))
	}
	return o
}

// result prints the report.
func (e *execution) result(*record.Run, string) error {
	o := e.outcome()
	text := ""
	if e.o.Program == "wrk2" {
		text = e.report2(o)
	} else {
		text = e.o.Report(o)
	}
	_, err := io.WriteString(e.outputs.Out, text)
	if e.program != nil {
		err = errors.Join(err, e.program.Done(o))
	}
	return err
}
