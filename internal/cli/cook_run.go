package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"brunt/internal/dialect/slowcooker"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/runner"
	"brunt/internal/workload"
)

// cooking is a run of cook.
type cooking struct {
	s         *streams
	o         *slowcooker.Options
	replacing bool // called as slow_cooker

	outlets  *outlets
	out      *spool // where lines go
	lines    *slowcooker.Lines
	failures *failureLines
	closers  []func() error
}

func (c *cooking) run() (err error) {
	p, err := c.o.Plan(proxied(c.o.URLs))
	if err != nil {
		return cookUsage(err, c.replacing)
	}
	c.outlets = c.s.outlets()
	c.s = c.outlets.streams
	defer func() { err = errors.Join(err, c.close()) }()
	ctx, hard, stop := interruptible(c.s.err)
	defer stop()
	defer func() { err = errors.Join(err, c.outlets.settle(hard)) }()
	options := runner.Options{
		Plan: p, PlanText: cookPlanText(p, c.s.args), Command: redactedHTTP(c.s.args), Version: c.s.version,
		Root: c.o.Results, Dir: c.o.Bundle, NoSetup: true, NoTeardown: true, Extra: map[string]string{"dialect": "slow_cooker"},
		Ceiling: ceiling, Wait: c.o.Wait, Waiting: waitingNote(c.s.err, c.o.Wait, c.o.Quiet),
	}
	if err := c.prepare(&options); err != nil {
		return cookUsage(err, c.replacing)
	}
	live := liveFlags{metricsAddr: c.o.MetricAddr, destinations: c.o.Exports, watched: c.o.Watched}
	detach, err := live.attach(c.s, &options, hard, c.o.Quiet || c.replacing)
	if err != nil {
		return cookUsage(err, c.replacing)
	}
	defer detach()
	c.outlets.watch(&options)
	run, dir, err := runner.Run(ctx, hard, options)
	if c.startsDown(err) {
		run, dir, err = runner.Run(ctx, hard, c.withoutService(options, err))
	}
	if run == nil {
		return c.failure(ctx, err)
	}
	if e := c.summarize(run, dir); e != nil {
		err = errors.Join(err, e)
	}
	if code := c.exitCode(run); code != exitPass {
		return &exitError{code, err}
	}
	return err
}

// prepare opens what the flags name and hooks everything to the run.
func (c *cooking) prepare(o *runner.Options) error {
	if err := c.openOutputs(o); err != nil {
		return err
	}
	c.lines = slowcooker.NewLines(c.o, c.out, time.Now)
	c.failures = &failureLines{w: c.s.err}
	o.Prepared = func(w *workload.Workload) { w.Timed = c.lines.Timed }
	o.Starting = func(*record.Run, string) { c.report(c.lines.Begin()) }
	o.Failed = c.failures.failed
	o.Hint = func(h record.Hint) {
		if h.Metric != string(measure.HintGenerator) {
			c.lines.Comment(report.HintText(&h))
		}
	}
	o.Sinks = append(o.Sinks, c.lines, c.failures)
	o.Ended = func() { c.report(c.lines.Finish()) }
	if !c.o.Quiet {
		o.Notice = func(w record.Warning) { fmt.Fprintf(c.s.err, "brunt: note: %s\n", w.Text) }
	}
	return nil
}

// openOutputs opens the log and the HdrHistogram log.
func (c *cooking) openOutputs(o *runner.Options) error {
	c.out = c.outlets.out
	if c.o.Log != "" {
		l, err := openLog(c.o.Log, func(err error) { c.report(err) })
		if err != nil {
			return err
		}
		c.out = c.outlets.add(l, "the log")
		c.closers = append(c.closers, func() error {
			if c.out.Busy() {
				return nil // somebody holds it up, and Close would wait for him
			}
			return l.Close()
		})
	}
	c.out.gap = func(lines int) string {
		return fmt.Sprintf("# %d report lines are missing here: %s didn't take them\n", lines, c.out.name)
	}
	if c.o.HDRLog != "" {
		f, err := createFile(c.o.HDRLog)
		if err != nil {
			return fmt.Errorf("hlog: %w", err)
		}
		c.closers = append(c.closers, f.Close)
		o.Sinks = append(o.Sinks, record.NewHDRLog(f, operationNames(o.Plan)))
	}
	return nil
}

func operationNames(p *plan.Plan) (names []string) {
	for i := range p.Operations {
		names = append(names, p.Operations[i].Name)
	}
	return names
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
		fmt.Fprintf(c.s.err, "brunt: %v\n", err)
	}
}

// summarize prints what comes at the end.
func (c *cooking) summarize(run *record.Run, dir string) error {
	errs := []error{summary(c.out)}
	if c.o.Summary == "report" {
		f := outputFlags{output: "text"}
		errs = append(errs, f.print(c.out, run, dir))
	} else {
		errs = append(errs, slowcooker.WriteSummary(c.out, c.o, c.lines.Total()))
	}
	if c.o.CSV != "" {
		errs = append(errs, c.writeCSV())
	}
	if !c.o.Quiet && c.o.Summary != "report" {
		fmt.Fprintf(c.s.err, "brunt: %s; record in %s\n", run.Verdict.Result, dir)
		if run.Verdict.Result != report.Pass {
			for _, r := range run.Verdict.Reasons {
				fmt.Fprintf(c.s.err, "brunt: %s\n", r)
			}
		}
	}
	return errors.Join(errs...)
}

func (c *cooking) writeCSV() error {
	f, err := createFile(c.o.CSV)
	if err != nil {
		return fmt.Errorf("reportLatenciesCSV: %w", err)
	}
	if err := slowcooker.WriteCSV(f, c.o, c.lines.Total()); err != nil {
		f.Close()
		return fmt.Errorf("reportLatenciesCSV: %w", err)
	}
	return f.Close()
}

// exitCode is the report's; slow_cooker returns 0 for whatever it measured, so in its place only
// thresholds, which it doesn't have, can fail.
func (c *cooking) exitCode(run *record.Run) int {
	code := report.ExitCode(run)
	if c.replacing && len(run.Thresholds) == 0 {
		return exitPass
	}
	return code
}

func (c *cooking) failure(ctx context.Context, err error) error {
	err = failure(ctx, err)
	var e *exitError
	if c.replacing && errors.As(err, &e) && e.code == exitBadPlan {
		return &exitError{exitCookUsage, e.err}
	}
	return err
}

// proxied reports whether the environment names a proxy for one of the URLs.
func proxied(urls []*url.URL) bool {
	for _, u := range urls {
		// A proxy that can't be understood is the driver's to refuse.
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); proxy != nil || err != nil {
			return true
		}
	}
	return false
}
