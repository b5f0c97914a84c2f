package brunt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/base/version"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/report/spool"
	"brunt/internal/run/runner"
)

// execution is one run of a plan.
type execution struct {
	plan     *plan.Plan
	protocol *protocol.Declaration // nil: that which the plan names
	results  string
	progress io.Writer
	options  runner.Options
}

// run sends the load and returns its result.
func (e execution) run(ctx context.Context) (result *Result, err error) {
	if err := protocols.Faults(); err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	text, err := planfile.Write(e.plan)
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	o := e.options
	o.Protocol, o.KeepCollector = e.protocol, true
	o.Recording = runner.Recording{None: e.results == "", Root: e.results, Plan: text, Version: version.Linked()}
	show, done := e.shown(&o)
	defer done()
	r, err := runner.Open(ctx, e.plan, o)
	if err != nil {
		return nil, described(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.SetUp(ctx); err != nil {
		return nil, described(err)
	}
	show(r.Record)
	if err := r.Drive(ctx, hardAfter(ctx, interruptedFor), nil); err != nil {
		return nil, described(err)
	}
	if err := r.Finish(); err != nil {
		return nil, described(err)
	}
	return newResult(r.Record, r.Dir, r.Tally())
}

// described names the package in an error, and says what to do if the folder of results can't be used.
func described(err error) error {
	if e, unwritable := errors.AsType[*record.FolderError](err); unwritable {
		return fmt.Errorf("brunt: the record can't be written to %s: %w; name another folder in Results, or leave it empty "+
			"to keep nothing on disk", e.Dir, e.Err)
	}
	return fmt.Errorf("brunt: %w", err)
}

// hardAfter returns a channel that is closed some time after ctx has ended.
func hardAfter(ctx context.Context, d time.Duration) <-chan struct{} {
	hard := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(hard) }) })
	return hard
}

// shown makes the run write progress lines. show must be called just before the load, and done after the run.
func (e execution) shown(o *runner.Options) (show func(*record.Run), done func()) {
	if e.progress == nil {
		return func(*record.Run) {}, func() {}
	}
	out := spool.New(e.progress, "progress")
	lines := report.NewProgress(out, report.Options{})
	note := func(text string) { lines.Note("brunt: " + secret.Text(text)) }
	o.Hooks.Notice = func(w record.Warning) { note("note: " + w.Text.String()) }
	o.Hooks.Hint = func(h record.Hint) { note(report.HintText(&h, "")) }
	o.Hooks.Waiting = func(err error) { note("waiting: " + err.Error()) }
	o.Hooks.Sinks = append(o.Hooks.Sinks, measure.Sink(lines))
	return lines.Start, func() {
		lines.Done()
		_, _ = out.Close(spool.Patience, nil)
	}
}

// valid returns the problems of p as one error.
func valid(p *plan.Plan) error {
	if found := p.Validate(); len(found) > 0 {
		return fmt.Errorf("brunt: %w", found)
	}
	return nil
}
