// Package cook runs loads of slow_cooker and prints what slow_cooker prints.
package cook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/slowcooker"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/measure/hints"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	httpproto "brunt/internal/protocol/http"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/report/spool"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
	"brunt/internal/server/target"
)

// Execution is a load that prints what slow_cooker prints.
type Execution struct {
	Options   *slowcooker.Options
	Replacing bool // brunt was called as slow_cooker

	outputs *loadtest.Outputs
	out     *spool.Spool // destination of the lines
	lines   *slowcooker.Lines
	log     *spool.Log // nil: the lines go to standard output
}

// Hooks returns hooks that print slow_cooker's lines.
func (c *Execution) Hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	c.outputs, c.out = out, out.Out
	if err := c.openLog(); err != nil {
		return runner.Hooks{}, err
	}
	c.lines = slowcooker.NewLines(c.Options, c.out, time.Now)
	failures := &slowcooker.FailureLines{W: out.Err}
	v := runner.Hooks{
		Sinks:  []measure.Sink{c.lines, failures},
		Attach: func(w *workload.Workload) { w.Timed = c.lines.Timed },
		Began:  func(*record.Run) { c.report(c.lines.Begin()) },
		Ended:  func() { c.report(c.lines.Finish()) },
		Result: c.summarize, Exit: c.exit, Close: c.close,
	}
	v.Failed = func(e record.ErrorSample) { failures.Failed(e.Class, e.Text) }
	v.Hint = func(h record.Hint) {
		if h.Metric != string(hints.Generator) {
			c.lines.Comment(report.HintText(&h, units.English))
		}
	}
	if !c.Options.Quiet {
		v.Notice, v.Waiting = loadtest.Notices(out), loadtest.Waiting(out, c.Options.Wait)
	}
	return v, nil
}

// Open opens the load, even if the service is down, as slow_cooker does: it counts failures until the service is up.
// Sessions then connect only when a request needs it, so each request that can't be sent fails at once. A certificate
// that isn't trusted is still an error.
func (c *Execution) Open(ctx context.Context, p *plan.Plan, o runner.Options) (*runner.Runner, error) {
	r, err := runner.Open(ctx, p, o)
	var down *target.UnreachableError
	var fault *protocol.Error
	if !(c.Replacing || c.Options.Compat) || !errors.As(err, &down) || errors.As(err, &fault) &&
		fault.Code == httpproto.TLSFault {
		return r, err
	}
	if !c.Options.Quiet {
		fmt.Fprintf(c.outputs.Err, "brunt: note: begins although the service is down: %s\n", secret.Text(err.Error()))
	}
	p.Target.Options["lazy"] = "on"
	if o.Recording.Plan, err = planfile.Write(p); err != nil {
		return nil, err
	}
	o.Wait, o.StartDown = 0, true
	return runner.Open(ctx, p, o)
}

// openLog redirects lines to the log that the flags name.
func (c *Execution) openLog() error {
	if c.Options.Log != "" {
		var err error
		if c.log, err = spool.OpenLog(c.Options.Log, c.report); err != nil {
			return err
		}
		c.out = c.outputs.Add(c.log, "the log")
	}
	c.out.Gap = func(lines int) string {
		return fmt.Sprintf("# %d report lines are missing here: %s didn't take them\n", lines, c.out.Name)
	}
	return nil
}

func (c *Execution) close() error {
	if c.log == nil || c.out.Busy() {
		return nil // Close would block on a stalled reader
	}
	return c.log.Close()
}

// report prints an error that must not end the load.
func (c *Execution) report(err error) {
	if err != nil {
		fmt.Fprintf(c.outputs.Err, "brunt: %v\n", err)
	}
}

// summarize prints the summary at the end.
func (c *Execution) summarize(run *record.Run, dir string) error {
	errs := []error{loadtest.Drain(c.out)}
	if c.Options.Summary == "report" {
		errs = append(errs, (&loadtest.Report{}).Print(c.out, run, dir))
	} else {
		errs = append(errs, slowcooker.WriteSummary(c.out, c.Options, c.lines.Total()))
	}
	if c.Options.CSV != "" {
		errs = append(errs, c.writeCSV())
	}
	if !c.Options.Quiet && c.Options.Summary != "report" {
		command.Tell(c.outputs, run, dir)
	}
	return errors.Join(errs...)
}

func (c *Execution) writeCSV() error {
	f, err := os.Create(c.Options.CSV)
	if err != nil {
		return fmt.Errorf("reportLatenciesCSV: %w", err)
	}
	if err := slowcooker.WriteCSV(f, c.Options, c.lines.Total()); err != nil {
		f.Close()
		return fmt.Errorf("reportLatenciesCSV: %w", err)
	}
	return f.Close()
}

// exit returns the error for the exit code. slow_cooker always exits with 0. If brunt was called as slow_cooker, only
// thresholds, which slow_cooker doesn't have, can change the code.
func (c *Execution) exit(run *record.Run) error {
	if c.Replacing && len(run.Thresholds) == 0 {
		return nil
	}
	return exitcode.With(verdict.ExitCode(run), nil)
}
