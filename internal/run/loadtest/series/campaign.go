package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/advise"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign"
	"brunt/internal/server/fault"
	"brunt/internal/server/schema"
	"brunt/internal/server/schema/fill"
	"brunt/internal/server/target"
)

// Campaign has a command's options for a campaign.
type Campaign struct {
	Record   loadtest.Record // only the folders are used
	Workers  loadtest.Workers
	Process  loadtest.Process
	Quiet    bool
	Language units.Language // language of messages and tables
	Read     campaign.ReadPlan
	Watchdog []string // command line that calls fault.Watch with advise.Restore
}

// Begin runs a campaign in the folder that the options name, or in a new folder with this name.
func (f *Campaign) Begin(stdout, stderr io.Writer, p *campaign.Program, name string) error {
	folder := func() (string, error) {
		if f.Record.Dir != "" {
			return f.Record.Dir, nil
		}
		return program.NewFolder(f.Record.Root, "", name, time.Now())
	}
	return f.run(stdout, stderr, folder, func(o campaign.Options) (*campaign.Campaign, error) {
		return campaign.Begin(p, o)
	})
}

// Resume continues the campaign in a folder.
func (f *Campaign) Resume(stdout, stderr io.Writer, dir string) error {
	folder := func() (string, error) { return dir, nil }
	return f.run(stdout, stderr, folder, func(o campaign.Options) (*campaign.Campaign, error) {
		return campaign.Resume(dir, f.Read, o)
	})
}

// run runs the campaign that open creates or resumes in a folder.
func (f *Campaign) run(stdout, stderr io.Writer, folder func() (string, error),
	open func(campaign.Options) (*campaign.Campaign, error)) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("campaign: find this program: %w", err)
	}
	report := &loadtest.Report{Language: f.Language, Quiet: f.Quiet}
	load := loadtest.Test{Workers: f.Workers, Process: f.Process, Quiet: f.Quiet, Hooks: report.Hooks}
	load.Options.NoSetup, load.Options.NoTeardown = true, true
	return begin(stdout, stderr, load, func(ctx context.Context, t *Series) (err error) {
		dir, err := folder()
		if err != nil {
			return exitcode.Usage(err)
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return fmt.Errorf("campaign: %w", err)
		}
		t.Dir = dir
		c, err := open(campaign.Options{
			Dir: dir, Brunt: self, Version: f.Process.Version, Command: f.Process.Command, Language: f.Language,
			Read: f.Read, Say: t.Say,
			Guard: func() (advise.Guard, error) {
				return fault.NewGuard(f.Watchdog, func(w record.Warning) { t.Say("%s", w.Text) })
			},
			Drive: t.step, Schema: t.schema,
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
		if err = t.endLeft(ctx); err != nil {
			return exitcode.Usage(err)
		}
		err = c.Run(ctx)
		var down *campaign.UnreachableError
		switch {
		case ctx.Err() != nil:
			return exitcode.With(exitcode.Interrupted, fmt.Errorf("interrupted; go on with brunt resume %s", dir))
		case errors.As(err, &down):
			return exitcode.With(exitcode.Unreachable, err)
		case err != nil:
			return loadtest.Failure(ctx, err)
		}
		return t.printCampaign(c, f.Language)
	})
}

// printCampaign prints the results of a campaign and its folder.
func (t *Series) printCampaign(c *campaign.Campaign, l units.Language) error {
	out := t.Out.Out
	o := loadtest.Look(out)
	look := cell.Look{Columns: o.Width, Color: o.Color, Language: l}
	err := errors.Join(loadtest.Drain(out), cell.WriteText(out, look, c.Tables(l)...))
	_, failed := fmt.Fprintln(out, t.Dir)
	return errors.Join(err, failed)
}

// step executes one run of a campaign.
func (t *Series) step(ctx context.Context, r campaign.Run) (*program.Outcome, error) {
	l := t.load
	l.Live.Watched = r.Watch
	if r.Inspect != "" {
		l.Live.Inspected, l.Live.Brief = []string{r.Inspect}, r.Brief
	}
	l.Options.Recording.Extra = r.Extra
	return t.one(ctx, r.Load, l, r.Dir)
}

// schema creates and fills a plan's tables for a campaign.
func (t *Series) schema(ctx context.Context, p *plan.Plan) error {
	o := schema.FillOptions{Version: t.load.Process.Version, Workers: 4}
	o.Check = fill.CheckCount
	changes, notices, err := schema.Up(ctx, p, o)
	for _, n := range notices {
		t.Say("%s", n.Text)
	}
	for i := range changes {
		t.Say("%s %s", changes[i].Name, &changes[i])
	}
	return err
}
