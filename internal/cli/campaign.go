package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
	"brunt/internal/password"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/program"
	"brunt/internal/program/campaign"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/runner"
	"brunt/internal/schema"
	"brunt/internal/schema/fill"
	"brunt/internal/target"
	"brunt/internal/units"
)

// campaignFlags are the flags of the commands of campaigns.
type campaignFlags struct {
	workerFlags
	record recordFlags // of which only the folders are flags
	scale  float64
	anyway bool
	quiet  bool
	lang   string
}

func newCampaign(s *streams) *cobra.Command {
	return group("campaign",
		"Run a whole test programme: from a load profile to the maximum, its cause, the fix and the document",
		newCampaignRun(s), newCampaignPlan(s), newCampaignResume(s), newCampaignReport(s))
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

// program reads a campaign's file with its plans, and the language of reports.
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
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a campaign",
		Long: `Run the steps of a campaign's file one after the other. Everything goes into one folder. What the
target does badly is a result; a step that can't be carried out ends the campaign with one line, and
brunt campaign resume goes on with it.`,
		Example: "  brunt campaign run book.yml\n  brunt campaign run book.yml --time-scale 0.01",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, l, err := f.program(s, args[0])
			if err != nil {
				return err
			}
			return s.beginCampaign(f, l, p, p.Name+"-campaign")
		},
	}
	f.workerFlags.bind(cmd)
	f.bind(cmd, true, true)
	return cmd
}

func newCampaignResume(s *streams) *cobra.Command {
	f := &campaignFlags{}
	cmd := &cobra.Command{
		Use:     "resume FOLDER",
		Short:   "Go on with a campaign that was killed or failed, with the step that it was at",
		Example: "  brunt campaign resume results/book-campaign-20261122T101500Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := f.language()
			if err != nil {
				return err
			}
			return s.campaign(f, l, args[0], func(o campaign.Options) (*campaign.Campaign, error) {
				return campaign.Resume(args[0], s.readPlan, o)
			})
		},
	}
	f.workerFlags.bind(cmd)
	f.bind(cmd, false, false)
	return cmd
}

func newCampaignPlan(s *streams) *cobra.Command {
	f := &campaignFlags{}
	cmd := &cobra.Command{
		Use:     "plan FILE",
		Short:   "Print the timetable of a campaign: steps, durations, end, disk",
		Example: "  brunt campaign plan book.yml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, l, err := f.program(s, args[0])
			if err != nil {
				return err
			}
			if err := p.Check(target.Check); err != nil {
				return exitcode.Usage(err)
			}
			o := loadtest.Look(s.out)
			return cell.WriteText(s.out, cell.Look{Columns: o.Width, Color: o.Color, Language: l}, p.Timetable(l, time.Now()))
		},
	}
	f.bind(cmd, true, false)
	return cmd
}

func newCampaignReport(s *streams) *cobra.Command {
	f := &campaignFlags{}
	var html, md string
	cmd := &cobra.Command{
		Use:     "report FOLDER",
		Short:   "Write the document of a campaign: HTML and Markdown, in English or Russian",
		Example: "  brunt campaign report results/book-campaign-20261122T101500Z --lang ru",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
		},
	}
	f.bind(cmd, false, false)
	cmd.Flags().StringVar(&html, "html", "", `HTML file (default "<folder>/report-<language>.html")`)
	cmd.Flags().StringVar(&md, "md", "", `Markdown file (default "<folder>/report-<language>.md")`)
	return cmd
}

// readPlan reads the plan of a campaign's step, with the secrets of the environment.
func (s *streams) readPlan(path string) (*plan.Plan, error) {
	data, err := readFile(path, s.in)
	if err != nil {
		return nil, err
	}
	p, err := planfile.Read(path, data)
	if err != nil {
		return nil, err
	}
	given, err := password.Find("", "", false, s.in, s.err)
	if err != nil {
		return nil, err
	}
	if given != "" {
		p.Target.Password = given
	}
	return p, planfile.Secrets(p, os.LookupEnv)
}

// beginCampaign runs a programme in the folder that the flags name, or a new one.
func (s *streams) beginCampaign(f *campaignFlags, l units.Language, p *campaign.Program, name string) (err error) {
	dir := f.record.record.Dir
	if dir == "" {
		if dir, err = program.NewFolder(f.record.record.Root, "", name, time.Now()); err != nil {
			return exitcode.Usage(err)
		}
	}
	return s.campaign(f, l, dir, func(o campaign.Options) (*campaign.Campaign, error) { return campaign.Begin(p, o) })
}

// campaign runs the campaign that open begins or resumes in dir.
func (s *streams) campaign(f *campaignFlags, l units.Language, dir string,
	open func(campaign.Options) (*campaign.Campaign, error)) (err error) {
	if err := f.checkWorkers(&f.record.record); err != nil {
		return exitcode.Usage(err)
	}
	out := loadtest.NewOutputs(s.out, s.err)
	ctx, hard, stop := loadtest.Interruptible(out.Err, loadtest.Endings(false))
	defer stop()
	defer func() { err = errors.Join(err, out.Flush(hard)) }()
	t := &inTurn{out: out, hard: hard, dir: dir, version: s.version}
	report := &loadtest.Report{Language: l, Quiet: f.quiet}
	t.load = loadtest.Test{Process: s.process(), Quiet: f.quiet, Hooks: report.Hooks, Workers: f.workers,
		Options: runner.Options{NoSetup: true, NoTeardown: true}}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("campaign: find this program: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	c, err := open(campaign.Options{
		Dir: dir, Brunt: program, Version: s.version, Language: l, Read: s.readPlan, Say: t.say,
		Conduct: t.step, Schema: t.schema,
		Valid: target.Check,
		Reach: func(ctx context.Context, p *plan.Plan) error {
			_, err := target.Find(ctx, p, target.Patience{})
			return err
		},
	})
	if err != nil {
		return exitcode.Usage(err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = c.Run(ctx)
	if ctx.Err() != nil {
		return exitcode.With(exitcode.Interrupted, fmt.Errorf("interrupted; go on with brunt campaign resume %s", dir))
	}
	var down *campaign.UnreachableError
	if ctx.Err() == nil && errors.As(err, &down) {
		return exitcode.With(exitcode.Unreachable, err)
	}
	if err != nil {
		return loadtest.Failure(ctx, err)
	}
	look := loadtest.Look(out.Out)
	return errors.Join(loadtest.Drain(out.Out),
		cell.WriteText(out.Out, cell.Look{Columns: look.Width, Color: look.Color, Language: l}, c.Tables(l)...),
		line(out, dir))
}

func line(out *loadtest.Outputs, dir string) error {
	_, err := fmt.Fprintln(out.Out, dir)
	return err
}

// step carries out a run of a campaign.
func (t *inTurn) step(ctx context.Context, r campaign.Run) (*program.Outcome, error) {
	l := t.load
	l.Live.Watched = r.Watch
	if r.Inspect != "" {
		l.Live.Inspected = []string{r.Inspect}
	}
	l.Options.Recording.Extra = r.Extra
	return t.one(ctx, r.Order, l, r.Dir)
}

// schema creates and fills a plan's tables for a campaign.
func (t *inTurn) schema(ctx context.Context, p *plan.Plan) error {
	o := schema.FillOptions{Version: t.version, Workers: 4}
	o.Verify, _ = fill.ParseVerify("count")
	changes, notices, err := schema.Up(ctx, p, o)
	for _, n := range notices {
		t.say("%s", n.Text)
	}
	for i := range changes {
		t.say("%s %s", changes[i].Name, changed(&changes[i]))
	}
	return err
}
