package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/slowcooker"
	"brunt/internal/exitcode"
	"brunt/internal/hints"
	"brunt/internal/loadtest"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/protocol"
	httpproto "brunt/internal/protocol/http"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/runner"
	"brunt/internal/secret"
	"brunt/internal/spool"
	"brunt/internal/target"
	"brunt/internal/units"
	"brunt/internal/verdict"
	"brunt/internal/workload"
)

// exitCookUsage is what slow_cooker returns for a bad command line.
const exitCookUsage = 64

func newCook(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cook [flags] <url | @file | @->",
		Short: "Load an HTTP service for as long as you like and report as it goes (slow_cooker's flags)",
		Long: `Load an HTTP service at a steady rate, for minutes or weeks, and print a line every interval. The
flags and lines are slow_cooker's; called by that name brunt takes its place. Latency counts from
the moment at which a request was meant to start.`,
		Example:            "  brunt cook -qps 50 -concurrency 10 http://127.0.0.1:8080/",
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return cook(s, args) },
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { slowcooker.Usage(cmd.OutOrStdout(), "brunt cook") })
	return cmd
}

// cook runs a command line of slow_cooker.
func cook(s *streams, args []string) error {
	name, summary := "brunt cook", "report"
	replacing := s.dialect.tool != ""
	if replacing {
		name, summary = s.dialect.tool, ""
	}
	workers, args, err := takeWorkers(args)
	if err != nil {
		return cookUsage(err, replacing)
	}
	o, err := slowcooker.Parse(args, s.in, summary)
	switch {
	case errors.Is(err, slowcooker.ErrHelp) && replacing:
		slowcooker.Usage(s.err, name)
		return exitcode.With(exitCookUsage, nil)
	case errors.Is(err, slowcooker.ErrHelp):
		slowcooker.Usage(s.out, name)
		return nil
	case err != nil:
		return cookUsage(err, replacing)
	}
	c := &cooking{s: s, o: o, workers: workers, replacing: replacing}
	err = c.run()
	var e *exitcode.Error
	if errors.As(err, &e) && e.Code == exitcode.BadPlan {
		return cookUsage(e.Err, replacing)
	}
	return err
}

// cookUsage marks an error as the user's, with the exit code of the name that was called.
func cookUsage(err error, replacing bool) error {
	if replacing {
		return exitcode.With(exitCookUsage, err)
	}
	return exitcode.Usage(err)
}

// cooking is a run of cook.
type cooking struct {
	s         *streams
	o         *slowcooker.Options
	workers   *workerFlags
	replacing bool // called as slow_cooker

	outputs *loadtest.Outputs
	out     *spool.Spool // where lines go
	lines   *slowcooker.Lines
	closers []func() error
}

func (c *cooking) run() error {
	p, err := c.o.Plan(endpoints.Proxied(c.o.URLs))
	if err != nil {
		return exitcode.Usage(err)
	}
	c.s.flags = adjusting("-", slowcooker.Has)
	if err := c.workers.checkWorkers(&loadtest.Record{None: c.o.NoRecord}, p); err != nil {
		return exitcode.Usage(err)
	}
	l := &loadtest.Test{
		Plan: p, Process: c.s.process(), Workers: c.workers.workers,
		Options: runner.Options{
			NoSetup: true, Wait: c.o.Wait,
			Recording: runner.Recording{Extra: map[string]string{"dialect": "slow_cooker"}},
		},
		Record: loadtest.Record{Root: c.o.Results, Dir: c.o.Bundle, None: c.o.NoRecord, HDRLog: c.o.HDRLog},
		Live:   loadtest.Live{MetricsAddr: c.o.MetricAddr, Destinations: c.o.Exports, Watched: c.o.Watched},
		Quiet:  c.o.Quiet || c.replacing, ReopensLog: c.o.Log != "",
		Hooks: c.hooks, Open: c.open,
	}
	return l.Perform(c.s.out, c.s.err)
}

// hooks prints slow_cooker's lines.
func (c *cooking) hooks(out *loadtest.Outputs) (loadtest.Hooks, error) {
	c.outputs, c.out = out, out.Out
	if err := c.openLog(); err != nil {
		return loadtest.Hooks{}, err
	}
	c.lines = slowcooker.NewLines(c.o, c.out, time.Now)
	failures := &slowcooker.FailureLines{W: out.Err}
	v := loadtest.Hooks{
		Sinks:  []measure.Sink{c.lines, failures},
		Attach: func(w *workload.Workload) { w.Timed = c.lines.Timed },
		Began:  func(*record.Run) { c.report(c.lines.Begin()) },
		Ended:  func() { c.report(c.lines.Finish()) },
		Result: c.summarize, Exit: c.exit, Close: c.close,
	}
	v.Tell.Failed = func(e record.ErrorSample) { failures.Failed(e.Class, e.Text) }
	v.Tell.Hint = func(h record.Hint) {
		if h.Metric != string(hints.Generator) {
			c.lines.Comment(report.HintText(&h, units.English))
		}
	}
	if !c.o.Quiet {
		v.Tell.Notice, v.Tell.Waiting = loadtest.Notices(out), loadtest.Waiting(out, c.o.Wait)
	}
	return v, nil
}

// open begins although the service is down where slow_cooker does: it counts failures until the
// service comes up. Sessions then connect when a request needs it, so that each request that can't be
// sent is a failure at once. A certificate that isn't trusted is no such thing.
func (c *cooking) open(ctx context.Context, p *plan.Plan, o runner.Options) (*runner.Runner, error) {
	r, err := runner.Open(ctx, p, o)
	var down *target.UnreachableError
	var fault *protocol.Error
	if !(c.replacing || c.o.Compat) || !errors.As(err, &down) || errors.As(err, &fault) &&
		fault.Code == httpproto.TLSFault {
		return r, err
	}
	if !c.o.Quiet {
		fmt.Fprintf(c.outputs.Err, "brunt: note: begins although the service is down: %s\n", secret.Text(err.Error()))
	}
	p.Target.Options["lazy"] = "on"
	if o.Recording.Plan, err = planfile.Write(p); err != nil {
		return nil, err
	}
	o.Wait, o.StartDown = 0, true
	return runner.Open(ctx, p, o)
}

// openLog makes lines go into the log that the flags name.
func (c *cooking) openLog() error {
	if c.o.Log != "" {
		l, err := spool.OpenLog(c.o.Log, func(err error) { c.report(err) })
		if err != nil {
			return err
		}
		c.out = c.outputs.Add(l, "the log")
		c.closers = append(c.closers, func() error {
			if c.out.Busy() {
				return nil // somebody holds it up, and Close would wait for him
			}
			return l.Close()
		})
	}
	c.out.Gap = func(lines int) string {
		return fmt.Sprintf("# %d report lines are missing here: %s didn't take them\n", lines, c.out.Name)
	}
	return nil
}

func (c *cooking) close() (err error) {
	for _, f := range c.closers {
		err = errors.Join(err, f())
	}
	return err
}

// report tells of an error that must not end the load.
func (c *cooking) report(err error) {
	if err != nil {
		fmt.Fprintf(c.outputs.Err, "brunt: %v\n", err)
	}
}

// summarize prints what comes at the end.
func (c *cooking) summarize(run *record.Run, dir string) error {
	errs := []error{loadtest.Drain(c.out)}
	if c.o.Summary == "report" {
		errs = append(errs, (&loadtest.Report{}).Print(c.out, run, dir))
	} else {
		errs = append(errs, slowcooker.WriteSummary(c.out, c.o, c.lines.Total()))
	}
	if c.o.CSV != "" {
		errs = append(errs, c.writeCSV())
	}
	if !c.o.Quiet && c.o.Summary != "report" {
		fmt.Fprintf(c.outputs.Err, "brunt: %s; record in %s\n", run.Verdict.Result, dir)
		if run.Verdict.Result != verdict.Pass {
			for _, r := range run.Verdict.Reasons {
				fmt.Fprintf(c.outputs.Err, "brunt: %s\n", r)
			}
		}
	}
	return errors.Join(errs...)
}

func (c *cooking) writeCSV() error {
	f, err := os.Create(c.o.CSV)
	if err != nil {
		return fmt.Errorf("reportLatenciesCSV: %w", err)
	}
	if err := slowcooker.WriteCSV(f, c.o, c.lines.Total()); err != nil {
		f.Close()
		return fmt.Errorf("reportLatenciesCSV: %w", err)
	}
	return f.Close()
}

// exit is the report's code; slow_cooker returns 0 for whatever it measured, so in its place only
// thresholds, which it doesn't have, can fail.
func (c *cooking) exit(run *record.Run) error {
	if c.replacing && len(run.Thresholds) == 0 {
		return nil
	}
	return exitcode.With(verdict.ExitCode(run), nil)
}
