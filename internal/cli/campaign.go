package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/cli/flags"
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
	workerFlags
	record recordFlags // only its folders are flags
	scale  float64
	anyway bool
	quiet  bool
	lang   string
}

func newCampaign(s *streams) *cobra.Command {
	return group("campaign", newCampaignRun(s), newCampaignPlan(s), newCampaignResume(s), newCampaignReport(s))
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
		fs.StringVar(&f.record.record.Root, "results", record.DefaultRoot, "folder for the campaign's folder")
		fs.StringVar(&f.record.record.Dir, "bundle", "", "the campaign's folder, empty or new")
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
func (f *campaignFlags) program(s *streams, path string) (*campaign.Program, units.Language, error) {
	l, err := f.language()
	if err != nil {
		return nil, l, err
	}
	text, err := campaign.ReadFile(path)
	if err != nil {
		return nil, l, exitcode.Usage(err)
	}
	p, err := campaign.Parse(path, text, f.scale, s.readPlan)
	if err != nil {
		return nil, l, exitcode.Usage(err)
	}
	p.Anyway = f.anyway
	return p, l, nil
}

func newCampaignRun(s *streams) *cobra.Command {
	f := &campaignFlags{}
	cmd := command("campaign-run", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		p, l, err := f.program(s, args[0])
		if err != nil {
			return err
		}
		c, err := f.campaign(s, l, p.Steps)
		if err != nil {
			return err
		}
		return c.Begin(s.out, s.err, p, p.Name+"-campaign")
	})
	f.workerFlags.bind(cmd)
	f.bind(cmd, true, true)
	return cmd
}

func newCampaignResume(s *streams) *cobra.Command {
	f := &campaignFlags{}
	cmd := command("campaign-resume", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		l, err := f.language()
		if err != nil {
			return err
		}
		c, err := f.campaign(s, l, nil)
		if err != nil {
			return err
		}
		return c.Resume(s.out, s.err, args[0])
	})
	f.workerFlags.bind(cmd)
	f.bind(cmd, false, false)
	return cmd
}

func newCampaignPlan(s *streams) *cobra.Command {
	f := &campaignFlags{}
	cmd := command("campaign-plan", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		p, l, err := f.program(s, args[0])
		if err != nil {
			return err
		}
		if err := p.Check(target.Check); err != nil {
			return exitcode.Usage(err)
		}
		o := loadtest.Look(s.out)
		return cell.WriteText(s.out, cell.Look{Columns: o.Width, Color: o.Color, Language: l}, p.Timetable(l, time.Now()))
	})
	f.bind(cmd, true, false)
	return cmd
}

func newCampaignReport(s *streams) *cobra.Command {
	f := &campaignFlags{}
	var html, md string
	cmd := command("campaign-report", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		l, err := f.language()
		if err != nil {
			return err
		}
		files, err := campaign.Report(args[0], s.readPlan, l, html, md)
		if err != nil {
			return exitcode.Usage(err)
		}
		for _, name := range files {
			fmt.Fprintln(s.out, name)
		}
		return nil
	})
	f.bind(cmd, false, false)
	cmd.Flags().StringVar(&html, "html", "", `HTML file (default "<folder>/report-<language>.html")`)
	cmd.Flags().StringVar(&md, "md", "", `Markdown file (default "<folder>/report-<language>.md")`)
	return cmd
}

// readPlan reads the plan of a campaign's step.
func (s *streams) readPlan(path string) (*plan.Plan, error) { return flags.ReadPlan(path, s.in, s.err) }

// campaign returns the series.Campaign that the flags describe. steps are those of the campaign, as far as known.
func (f *campaignFlags) campaign(s *streams, l units.Language, steps []campaign.Step) (*series.Campaign, error) {
	if err := f.checkSeries(&f.record.record); err != nil {
		return nil, err
	}
	for i := range steps {
		if load := steps[i].Load; load != nil && f.workers.Number > 0 {
			if err := f.workers.CheckTarget(load); err != nil {
				return nil, exitcode.Usage(err)
			}
		}
	}
	return &series.Campaign{
		Record: f.record.record, Workers: f.workers, Process: s.process(), Quiet: f.quiet, Language: l, Read: s.readPlan,
	}, nil
}
