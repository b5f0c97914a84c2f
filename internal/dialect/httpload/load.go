package httpload

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// NewCommand returns the command of a tool whose arguments the tool's own package parses.
func NewCommand(texts command.Texts, tool string, usage func(io.Writer), execute func([]string) error) *cobra.Command {
	cmd := texts.New(tool, nil, func(_ *cobra.Command, args []string) error { return execute(args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { usage(cmd.OutOrStdout()) })
	return command.HasPlan(cmd)
}

// Load is a load that the command line of a tool describes.
type Load struct {
	Tool      string
	Plan      *plan.Plan
	Own       *Own
	Replacing bool           // brunt takes the tool's place
	Options   runner.Options // beyond those that all these loads have
	// Singles is an option that was given and needs the results of single requests; "" if there is none.
	Singles string
	Beyond  []string // what no plan describes besides the report
	// Hooks returns the hooks that print as the tool does, if this process sends the load.
	Hooks func(*loadtest.Outputs) runner.Hooks
	// Code returns the tool's exit code for a load that couldn't be sent, for which brunt has the code ours.
	Code func(ours int) int
}

// Perform sends the load.
func (l *Load) Perform(s *command.Env) error {
	if err := l.Own.SpreadWithout(l.Singles); err != nil {
		return Refused(err, l.Replacing, l.Code(exitcode.BadPlan))
	}
	o := l.Options
	o.NoSetup, o.Recording.Extra = true, map[string]string{"dialect": l.Tool}
	t := &loadtest.Test{
		Plan: l.Plan, Process: s.Process(), Workers: l.Own.Workers.Workers, Options: o, Record: l.Own.Record,
		Live: l.Own.Live, Quiet: l.quiet(), Hooks: l.hooks,
		Beyond: append([]string{l.Tool + "'s report: brunt run prints its own"}, l.Beyond...),
	}
	err := t.Perform(s.Out, s.Err)
	if c, ok := errors.AsType[*exitcode.Error](err); ok && l.Replacing && c.Err != nil {
		return exitcode.With(l.Code(c.Code), c.Err)
	}
	return err
}

// quiet reports whether nothing of brunt's own is printed.
func (l *Load) quiet() bool { return l.Own.Quiet || l.Replacing }

func (l *Load) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	if l.Own.Spread() {
		return SpreadHooks(out, l.Replacing, l.quiet()), nil
	}
	v := l.Hooks(out)
	v.Exit = func(run *record.Run) error { return Exit(run, l.Replacing) }
	result := v.Result
	v.Result = func(run *record.Run, dir string) error {
		err := errors.Join(loadtest.Drain(out.Out), result(run, dir))
		if !l.quiet() {
			command.Tell(out, run, dir)
		}
		return err
	}
	if !l.quiet() {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}
