package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/report/summary"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/loadtest/script"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign"
)

func newResume(s *streams) *cobra.Command {
	f := &outputFlags{}
	cmd := command("resume", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
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
		return s.execute(again)
	})
	f.bind(cmd, "text")
	return cmd
}

// execute executes another command line of brunt in this process.
func (s *streams) execute(args []string) error {
	other := *s
	other.args = append([]string{s.args[0]}, args...)
	root := newRoot(&other, args...)
	root.SetArgs(pageAddress(args))
	return root.Execute()
}

// resumeCampaign goes on with a campaign, by the workers that it began with.
func (f *outputFlags) resumeCampaign(s *streams, h *program.Header, dir string) error {
	workers, _, err := takeWorkers(h.Command)
	if err != nil {
		return exitcode.Usage(err)
	}
	c, err := (&campaignFlags{workerFlags: *workers, quiet: f.quiet}).campaign(s, f.language(), nil)
	if err != nil {
		return err
	}
	return c.Resume(s.out, s.err, dir)
}

// resumeLoad goes on with a load of workers.
func (f *outputFlags) resumeLoad(s *streams, dir string) error {
	l := &loadtest.Test{Process: s.process(), Quiet: f.quiet, Language: f.language()}
	l.Options.Faults.Watchdog = watchdogCommand()
	l.Hooks = func(out *loadtest.Outputs) (loadtest.Hooks, error) {
		report := f.report()
		v, err := report.Hooks(out)
		if l.Script != nil {
			v.Exit = script.Exit
		}
		v.Result = func(run *record.Run, dir string) error {
			_, err := summary.Write(record.OS{}, dir, run)
			return errors.Join(err, report.Print(out.Out, run, dir))
		}
		return v, err
	}
	return l.Resume(dir, s.out, s.err)
}
