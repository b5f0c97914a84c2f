package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign"
	"brunt/internal/run/runner"
)

// resumeFlags are the flags of the resume command.
type resumeFlags struct{ command.OutputFlags }

func newResume(s *command.Env) *cobra.Command {
	f := &resumeFlags{}
	cmd := newCommand("resume", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		if err := f.Check(); err != nil {
			return err
		}
		h := program.HeaderOf(args[0])
		if h == nil {
			return f.resumeLoad(s, args[0])
		}
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		if h.Folder != "" {
			// The command line has paths that are relative to it. If it isn't there any more, those of this folder count.
			_ = os.Chdir(h.Folder)
		}
		if h.Kind == campaign.Kind {
			return f.resumeCampaign(s, h, dir)
		}
		again, err := h.Again(dir)
		if err != nil {
			return exitcode.Usage(err)
		}
		cmd.Flags().Visit(func(flag *pflag.Flag) { again = append(again, "--"+flag.Name+"="+flag.Value.String()) })
		return execute(s, again)
	})
	f.Bind(s, cmd, "text")
	return cmd
}

// execute executes another command line of brunt in this process.
func execute(s *command.Env, args []string) error {
	other := *s
	other.Args = append([]string{s.Args[0]}, args...)
	root := newRoot(&other, args...)
	root.SetArgs(command.PageAddress(args))
	return root.Execute()
}

// resumeCampaign goes on with a campaign, by the workers that it began with.
func (f *resumeFlags) resumeCampaign(s *command.Env, h *program.Header, dir string) error {
	workers, _, err := command.TakeWorkers(h.Command)
	if err != nil {
		return exitcode.Usage(err)
	}
	c, err := (&campaignFlags{WorkerFlags: *workers, quiet: f.Quiet}).campaign(s, f.Language(), nil)
	if err != nil {
		return err
	}
	return c.Resume(s.Out, s.Err, dir)
}

// resumeLoad goes on with a load of workers.
func (f *resumeFlags) resumeLoad(s *command.Env, dir string) error {
	l := &loadtest.Test{Process: s.Process(), Quiet: f.Quiet, Language: f.Language()}
	l.Options.Faults.Watchdog = watchdogCommand()
	l.Hooks = func(out *loadtest.Outputs) (runner.Hooks, error) {
		report := f.Fitting()
		v, err := report.Hooks(out)
		if l.Script != nil {
			v.Exit = tools.All().Scripts().Exit
		}
		v.Result = func(run *record.Run, dir string) error {
			return errors.Join(summaryFlags{}.write(run, dir), report.Print(out.Out, run, dir))
		}
		return v, err
	}
	return l.Resume(dir, s.Out, s.Err)
}
