package jmeter

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	judged "brunt/internal/judge/result"
	"brunt/internal/measure"
	"brunt/internal/plan/script"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Version is the version of JMeter whose behaviour this is.
const Version = "5.6.3"

// Tool declares JMeter.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "jmeter", Formats: []string{"jmeter"}, Programs: []string{"jmeter"},
		Advice: func(word string) string {
			if strings.HasSuffix(strings.ToLower(word), ".jmx") {
				return "brunt jmeter -n -t " + word
			}
			return ""
		},
		Commands:  []dialect.Command{{Name: "jmeter", New: newCommand, Letters: secret.Flags{Plain: "p", Whole: "a"}}},
		Results:   []judged.Format{Results()},
		Languages: []script.Language{Language{}},
		File: func(name string, _ []byte) []string {
			if !strings.EqualFold(filepath.Ext(name), ".jmx") {
				return nil
			}
			return []string{"jmeter", "-n", "-t", name}
		},
	}
}

func newCommand(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("jmeter", nil, func(_ *cobra.Command, args []string) error { return execute(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { usage(cmd.OutOrStdout()) })
	return command.HasPlan(cmd)
}

// usage writes the usage.
func usage(w io.Writer) {
	_, _ = io.WriteString(w, `Usage: jmeter -n -t PLAN.jmx [options]

JMeter's options:
  -n, --nongui                    run without a window (needed)
  -t, --testfile FILE             the test plan
  -l, --logfile FILE              write the results (JTL) to a file
  -f, --forceDeleteResultFile     replace the file of results instead of adding to it, and the report
  -e, --reportatendofloadtests    make a report: brunt's page about the record, DIR/index.html
  -o, --reportoutputfolder DIR    the folder of the report (report-output)
  -J, --jmeterproperty NAME=VALUE set a property (repeatable)
  -G, --globalproperty NAME=VALUE the same, or a file of properties
  -D, --systemproperty NAME=VALUE the same
  -q, --addprop FILE              read properties from a file (repeatable); so do -p and -S
  -j, --jmeterlogfile FILE        write what scripts log to a file instead of standard error
  -v, --version                   print the version

For campaigns and searches, with brunt convert:
      --scaled-by NAME=RATE       the property that multiplies the plan's load, and the operations a second at 1

`+httpload.OwnHelp())
}

// exitUsage is JMeter's exit code for a command line that it can't carry out.
const exitUsage = 1

// execute executes a command line.
func execute(s *command.Env, args []string) error {
	replacing := s.Program != ""
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitUsage)
	}
	scaledBy, args, err := takeScale(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitUsage)
	}
	o, err := ParseOptions(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitUsage)
	}
	if o.Help {
		usage(s.Out)
		return nil
	}
	if o.Version {
		fmt.Fprintf(s.Out, "%s [brunt %s]\n", Version, s.Version)
		return nil
	}
	e := &execution{o: o, scaledBy: scaledBy, replacing: replacing, quiet: own.Quiet || replacing,
		workers: own.Workers.Workers.Number > 0}
	l, err := e.test(s, own)
	if err != nil {
		return httpload.Refused(err, replacing, exitUsage)
	}
	err = l.Perform(s.Out, s.Err)
	if c, ok := errors.AsType[*exitcode.Error](err); ok && replacing && c.Err != nil {
		return exitcode.With(exitUsage, c.Err)
	}
	return err
}

// scale is the property that multiplies a plan's load, with the rate of the load at 1.
type scale struct {
	property string
	ratePerS float64
}

// takeScale removes --scaled-by from a command line.
func takeScale(args []string) (s scale, rest []string, err error) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	text := fs.String("scaled-by", "", "")
	if rest, err = command.TakeFlags(fs, args); err != nil || *text == "" {
		return s, rest, err
	}
	name, rate, _ := strings.Cut(*text, "=")
	if s.ratePerS, err = strconv.ParseFloat(rate, 64); err != nil || name == "" || !(s.ratePerS > 0) {
		return s, nil, fmt.Errorf("--scaled-by %s: write a property's name and a rate above 0, such as N=34", *text)
	}
	s.property = name
	return s, rest, nil
}

// test makes the load of a command line.
func (e *execution) test(s *command.Env, own *httpload.Own) (*loadtest.Test, error) {
	text, err := command.ReadFile(e.o.Plan)
	if err != nil {
		return nil, fmt.Errorf("the test plan: %w", err)
	}
	if err := e.o.checkPage(own.Record.None); err != nil && !s.PlanOnly {
		return nil, err
	}
	dir := filepath.Dir(e.o.Plan)
	in := &input{file: e.o.Plan, text: text, props: maps.Clone(e.o.Props), seed: own.Seed, files: newFiles(dir)}
	p, faults, notes := compile(in)
	if len(faults) > 0 {
		all := make([]error, len(faults))
		for i, f := range faults {
			all[i] = f
		}
		return nil, errors.Join(all...)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	shown, secrets := veil(string(text))
	options := map[string]string{"jmx": shown, "file": filepath.Base(e.o.Plan), "dir": absolute}
	for name, value := range secrets {
		options[propertyOption+name] = value
	}
	for name, value := range e.o.Props {
		options[propertyOption+name] = value
	}
	out, err := p.toPlan(strings.TrimSuffix(filepath.Base(e.o.Plan), filepath.Ext(e.o.Plan)), options, own.Seed)
	if err != nil {
		return nil, err
	}
	if e.scaledBy.property != "" {
		out.Scripts.ScaledBy, out.Scripts.RatePerS = propertyOption+e.scaledBy.property, e.scaledBy.ratePerS
	}
	if err := own.Apply(out); err != nil {
		return nil, err
	}
	if e.workers && e.o.Log != "" {
		return nil,
			errors.New("-l: with --workers there are no results of single samples; the record has those of all workers")
	}
	if e.workers && len(p.waves) > 1 {
		return nil, errors.New("--workers: the plan's thread groups run one after the other, which workers can't do")
	}
	if e.notes = notes; !s.PlanOnly {
		e.header(s)
	}
	s.Flags = map[string]string{"threshold": "--threshold"}
	beyond := []string{"JMeter's lines and results (JTL), those of listeners with a file, and what scripts log: brunt run " +
		"prints its own report"}
	if e.o.Page {
		beyond = append(beyond, "-e -o: the page about the record; see brunt report --html")
	}
	if p.tearsDown && slices.ContainsFunc(p.groups, func(g *group) bool { return g.kind == tearDown }) {
		beyond = append(beyond, "tearDown groups after an interrupt: brunt run ends without them")
	}
	for _, n := range notes {
		beyond = append(beyond, "not carried over: "+n)
	}
	return &loadtest.Test{
		Plan: out, Process: s.Process(), Workers: own.Workers.Workers,
		Options: runner.Options{NoSetup: true, Recording: runner.Recording{Extra: map[string]string{"dialect": "jmeter"}}},
		Record:  own.Record, Live: own.Live, Quiet: e.quiet, Hooks: e.hooks, Beyond: beyond,
	}, nil
}

// header prints what was left out.
func (e *execution) header(s *command.Env) {
	if e.quiet && !e.replacing {
		return
	}
	for _, n := range e.notes {
		fmt.Fprintf(s.Err, "brunt: note: %s\n", n)
	}
}

// execution is a load that prints what JMeter prints.
type execution struct {
	o                *Options
	replacing, quiet bool
	workers          bool
	notes            []string
	scaledBy         scale

	outputs *loadtest.Outputs
	program *Program                // nil with workers
	sent    atomic.Pointer[Program] // program, when its load begins
	results *jtl
	summary *summary
	every   time.Duration
	logMu   sync.Mutex
	log     io.WriteCloser
}

var _ measure.Sink = (*execution)(nil)

func (e *execution) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	e.outputs = out
	v := runner.Hooks{Sinks: []measure.Sink{e}, Attach: e.attach, Stop: e.stop, Ready: e.ready, Result: e.result,
		Exit:  e.exit,
		Close: e.close}
	if !e.quiet {
		v.Notice = loadtest.Notices(out)
	}
	var err error
	if e.o.Log != "" {
		xml := strings.EqualFold(e.o.Props["jmeter.save.saveservice.output_format"], "xml")
		if e.results, err = openJTL(e.o.Log, e.o.Force, xml); err != nil {
			return v, fmt.Errorf("-l: %w", err)
		}
	}
	if e.o.LogFile != "" {
		if e.log, err = os.Create(e.o.LogFile); err != nil {
			return v, fmt.Errorf("-j: %w", err)
		}
	}
	return v, nil
}

// attach is called with the compiled plan.
func (e *execution) attach(w *workload.Workload) {
	p, ok := w.Scripts().(*Program)
	if !ok || e.workers {
		return
	}
	name := e.o.Props["summariser.name"]
	if name == "" {
		name = "summary"
	}
	seconds := 30.0
	if v, ok := p.property("summariser.interval"); ok {
		fmt.Sscan(v, &seconds)
	}
	e.every = time.Duration(max(seconds, 1) * float64(time.Second))
	e.program, e.summary = p, &summary{name: name}
	p.writesFiles = true
	p.logLines = e.line
	p.sinks = append(p.sinks, e.summary)
	if e.results != nil {
		p.sinks = append(p.sinks, e.results)
	}
}

// stop ends the test as JMeter's shutdown does: samples under way end, and tear down groups run if the plan says so.
func (e *execution) stop(over func()) (later bool) {
	p := e.sent.Load()
	return p != nil && p.shutDown(over)
}

// line prints a line of a script.
func (e *execution) line(text string) {
	e.logMu.Lock()
	defer e.logMu.Unlock()
	if e.log != nil {
		fmt.Fprintln(e.log, text)
	} else {
		fmt.Fprintf(e.outputs.Err, "jmeter: %s\n", text)
	}
}

// stamp is a time as JMeter prints it.
func stamp(t time.Time) string {
	return fmt.Sprintf("%s (%d)", javaTime("yyyy MMM d HH:mm:ss z", t), t.UnixMilli())
}

// ready prints the first lines.
func (e *execution) ready(context.Context) error {
	now := time.Now()
	if e.summary == nil {
		return nil
	}
	e.sent.Store(e.program)
	e.summary.all.from, e.summary.last.from, e.summary.next = now, now, now.Truncate(e.every).Add(e.every)
	_, err := fmt.Fprintf(e.outputs.Out, "Creating summariser <%s>\nCreated the tree successfully using %s\n"+
		"Starting standalone test @ %s\n", e.summary.name, e.o.Plan, stamp(now))
	return err
}

// Interval implements measure.Sink: it prints the summariser's lines in time.
func (e *execution) Interval(*measure.Interval) error {
	if e.summary == nil {
		return nil
	}
	now := time.Now()
	if now.Before(e.summary.next) {
		return nil
	}
	e.summary.next = now.Truncate(e.every).Add(e.every)
	_, err := io.WriteString(e.outputs.Out, e.summary.stretch(now, e.program.activeThreads(nil), e.program.started()))
	return err
}

// result prints the last lines.
func (e *execution) result(run *record.Run, dir string) error {
	err := loadtest.Drain(e.outputs.Out)
	if e.program != nil {
		now := time.Now()
		_, werr := fmt.Fprintf(e.outputs.Out, "%sTidying up ...    @ %s\n... end of run\n",
			e.summary.end(now, e.program.activeThreads(nil), e.program.started()), stamp(now))
		err = errors.Join(err, werr, e.program.closeFiles())
	}
	if e.results != nil {
		err = errors.Join(err, e.results.close())
	}
	if !e.quiet {
		command.Tell(e.outputs, run, dir)
	}
	return errors.Join(err, e.writePage(dir))
}

// close ends the files.
func (e *execution) close() (err error) {
	if e.results != nil {
		err = e.results.close()
	}
	if e.log != nil {
		err = errors.Join(err, e.log.Close())
	}
	return err
}

// exit returns the error for the exit code. JMeter's is 0, whatever the samples were.
func (e *execution) exit(run *record.Run) error { return httpload.Exit(run, e.replacing) }

// started returns how many threads have begun.
func (p *Program) started() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}
