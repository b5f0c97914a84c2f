package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/loadtest/series"
	"brunt/internal/run/program/campaign"
	"brunt/internal/server/target"
)

// campaignFlags are the flags of the campaign commands.
type campaignFlags struct {
	command.WorkerFlags
	record command.RecordFlags // only its folders are flags
	scale  float64
	anyway bool
	quiet  bool
	lang   string
}

func newCampaign(s *command.Env) *cobra.Command {
	return newGroup("campaign", newCampaignRun(s), newCampaignPlan(s), newCampaignResume(s), newCampaignReport(s))
}

func (f *campaignFlags) bind(cmd *cobra.Command, scale, folders bool) {
	fs := cmd.Flags()
	fs.SortFlags = false
	if scale {
		fs.Float64Var(&f.scale, "time-scale", 1,
			"shorten all durations for a rehearsal, to 0.01 of what the file says, say; every result says so")
	}
	if folders {
		fs.BoolVar(&f.anyway, "anyway", false,
			"judge runs that the generator spoiled all the same, for rehearsals on a busy machine; every result says so")
		fs.StringVar(&f.record.Record.Root, "results", record.DefaultRoot, "folder for the campaign's folder")
		fs.StringVar(&f.record.Record.Dir, "bundle", "", "the campaign's folder, empty or new")
	}
	fs.StringVar(&f.lang, "lang", string(units.English), "language: en or ru")
	fs.BoolVar(&f.quiet, "quiet", false, "no progress, only the result")
}

func (f *campaignFlags) language() (units.Language, error) {
	l, err := units.ParseLanguage(f.lang)
	if err != nil {
		return l, exitcode.Usage(fmt.Errorf("--lang: %w", err))
	}
	return l, nil
}

// program reads a campaign's file with its plans, and parses the language of reports.
func (f *campaignFlags) program(s *command.Env, path string) (*campaign.Program, units.Language, error) {
	l, err := f.language()
	if err != nil {
		return nil, l, err
	}
	text, err := campaign.ReadFile(path)
	if err != nil {
		return nil, l, exitcode.Usage(err)
	}
	p, err := campaign.Parse(path, text, f.scale, readPlan(s))
	if err != nil {
		return nil, l, exitcode.Usage(err)
	}
	p.Anyway = f.anyway
	return p, l, nil
}

func newCampaignRun(s *command.Env) *cobra.Command {
	f := &campaignFlags{}
	cmd := newCommand("campaign-run", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		p, l, err := f.program(s, args[0])
		if err != nil {
			return err
		}
		c, err := f.campaign(s, l, p.Steps)
		if err != nil {
			return err
		}
		return c.Begin(s.Out, s.Err, p, p.Name+"-campaign")
	})
	f.WorkerFlags.Bind(cmd)
	f.bind(cmd, true, true)
	return cmd
}

func newCampaignResume(s *command.Env) *cobra.Command {
	f := &campaignFlags{}
	cmd := newCommand("campaign-resume", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		l, err := f.language()
		if err != nil {
			return err
		}
		c, err := f.campaign(s, l, nil)
		if err != nil {
			return err
		}
		return c.Resume(s.Out, s.Err, args[0])
	})
	f.WorkerFlags.Bind(cmd)
	f.bind(cmd, false, false)
	return cmd
}

func newCampaignPlan(s *command.Env) *cobra.Command {
	f := &campaignFlags{}
	cmd := newCommand("campaign-plan", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		p, l, err := f.program(s, args[0])
		if err != nil {
			return err
		}
		if err := p.Check(target.Check); err != nil {
			return exitcode.Usage(err)
		}
		o := loadtest.Look(s.Out)
		return cell.WriteText(s.Out, cell.Look{Columns: o.Width, Color: o.Color, Language: l}, p.Timetable(l, time.Now()))
	})
	f.bind(cmd, true, false)
	return cmd
}

func newCampaignReport(s *command.Env) *cobra.Command {
	f := &campaignFlags{}
	var html, md string
	cmd := newCommand("campaign-report", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		l, err := f.language()
		if err != nil {
			return err
		}
		files, err := campaign.Report(args[0], readPlan(s), l, html, md)
		if err != nil {
			return exitcode.Usage(err)
		}
		for _, name := range files {
			fmt.Fprintln(s.Out, name)
		}
		return nil
	})
	f.bind(cmd, false, false)
	cmd.Flags().StringVar(&html, "html", "", `HTML file (default "<folder>/report-<language>.html")`)
	cmd.Flags().StringVar(&md, "md", "", `Markdown file (default "<folder>/report-<language>.md")`)
	return cmd
}

// readPlan returns the function that reads the plan of a campaign's step.
func readPlan(s *command.Env) func(path string) (*plan.Plan, error) {
	return func(path string) (*plan.Plan, error) {
		p, err := flags.ReadPlan(path, s.In, s.Err)
		if err != nil {
			return nil, s.Unread(path, err)
		}
		return p, nil
	}
}

// campaign returns the series.Campaign that the flags describe. steps are those of the campaign, as far as known.
func (f *campaignFlags) campaign(s *command.Env, l units.Language, steps []campaign.Step) (*series.Campaign, error) {
	if err := f.CheckSeries(&f.record.Record); err != nil {
		return nil, err
	}
	for i := range steps {
		if load := steps[i].Load; load != nil && f.Workers.Number > 0 {
			if err := f.Workers.CheckTarget(load); err != nil {
				return nil, exitcode.Usage(err)
			}
		}
	}
	return &series.Campaign{
		Record: f.record.Record, Workers: f.Workers, Process: s.Process(), Quiet: f.quiet, Language: l, Read: readPlan(s),
		Watchdog: watchdogCommand(),
	}, nil
}
