package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/run/advise"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// The files in a campaign's folder, besides its journal and the folders of its steps.
const (
	FileName   = "campaign.yml" // the file that was run
	ResultName = "step.json"    // in a step's folder
)

// Run is one load of a campaign.
type Run struct {
	program.Load
	Dir     string            // folder of its bundle
	Inspect string            // the database to inspect during the load, such as "pg=DSN"; "" for none
	Brief   bool              // of the inspection; see inspect.Load
	Watch   []string          // what is sampled during the load, as for --watch
	Extra   map[string]string // kept in its record
}

// Options contains what the caller provides to a campaign.
type Options struct {
	Dir      string         // the campaign's folder
	Brunt    string         // path of this program, for commands
	Version  string         // version of this program
	Command  []string       // the command line, without secrets
	Language units.Language // of messages
	Read     ReadPlan
	Drive    func(context.Context, Run) (*program.Outcome, error)
	Schema   func(context.Context, *plan.Plan) error // creates and fills a plan's tables
	Say      func(format string, args ...any)
	Valid    func(*plan.Plan) error                  // checks a plan's protocol and addresses; nil: no check
	Reach    func(context.Context, *plan.Plan) error // fails if a plan's target doesn't answer; nil: no check
	Guard    func() (advise.Guard, error)            // of the settings that experiments change
	Free     func(dir string) (uint64, bool)         // free bytes of the disk; nil: FreeBytes
}

// Campaign is a campaign that is running or has ended.
type Campaign struct {
	*Program
	o       Options
	journal *program.Journal
	service *service
	results []Result // of the steps that are done
	looked  bool     // lookAhead has succeeded
	sent    uint64   // requests of the current step's runs
}

// Begin begins a campaign in a new or empty folder. The caller must call Close.
func Begin(p *Program, o Options) (*Campaign, error) {
	if err := p.check(true, o.Valid); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("campaign's folder: %w", err)
	}
	c, err := open(p, o)
	if err != nil {
		return nil, err
	}
	if c.journal.Header() != nil {
		return nil, errors.Join(
			fmt.Errorf("%s holds a campaign already; go on with it by brunt resume %s, or name another folder", o.Dir,
				o.Dir), c.Close())
	}
	// Stored unchanged for resuming, readable by its owner only from the first byte on: it may contain secrets.
	if err = record.ReplaceFile(record.Private{}, filepath.Join(o.Dir, FileName), p.Text); err != nil {
		return nil, errors.Join(fmt.Errorf("campaign's folder: %w", err), c.Close())
	}
	files, err := p.hashes()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, c.journal.Begin(p.header(files, &o))
}

// Resume continues a campaign that was killed or failed. The caller must call Close.
func Resume(dir string, read ReadPlan, o Options) (*Campaign, error) {
	o.Dir = dir
	_, p, err := Kept(dir, read)
	if err == nil {
		err = p.check(true, o.Valid)
	}
	if err != nil {
		return nil, err
	}
	c, err := open(p, o)
	if err != nil {
		return nil, err
	}
	files, err := p.hashes()
	if err == nil {
		err = c.journal.Resume(p.header(files, &o))
	}
	if errors.Is(err, program.ErrOther) {
		err = fmt.Errorf("%s isn't the file that the campaign began with; put that back, or begin a new campaign",
			filepath.Join(dir, FileName))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	endLeft(c.journal.Processes())
	return c, nil
}

// Kind is the kind of campaigns in a journal's header.
const Kind = "campaign"

// header returns the header of the campaign's journal. files are the hashes of the files that the campaign names, by
// path.
func (p *Program) header(files map[string]string, o *Options) program.Header {
	return program.Header{
		Kind: Kind, Name: p.Name, Path: p.Path, Hash: program.Hash(p.Text), Files: files, Scale: p.Scale,
		Anyway: p.Anyway, Brunt: o.Version, Command: o.Command,
	}
}

// Kept reads the header and the program of the campaign in a folder.
func Kept(dir string, read ReadPlan) (*program.Header, *Program, error) {
	h, _, err := program.ReadJournal(dir)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s holds no campaign; name the folder that brunt campaign run made: %w", dir, err)
	case h != nil && h.Kind != Kind:
		return nil, nil, fmt.Errorf("%s is a folder of brunt %s; go on with it by brunt resume %[1]s", dir, h.Kind)
	case h == nil:
		return nil, nil, fmt.Errorf("%s: damaged: it doesn't say what campaign it is of",
			filepath.Join(dir, program.JournalName))
	}
	text, err := ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		return nil, nil, err
	}
	p, err := Parse(h.Path, text, h.Scale, read)
	if err != nil {
		return nil, nil, err
	}
	p.Anyway = h.Anyway
	return h, p, nil
}

// hashes returns the hashes of the plans and of the files of SQL that the steps name, by path, except for files that
// commands of the campaign may write.
func (p *Program) hashes() (map[string]string, error) {
	all := map[string]string{}
	written := false
	for i := range p.Steps {
		s := &p.Steps[i]
		written = written || len(s.Before)+len(s.Commands) > 0
		var names []string
		if !written {
			names = slices.Clone(s.SQL)
		}
		if s.Load != nil {
			names = append(names, cmp.Or(s.Plan, p.Plan))
		}
		written = written || len(s.After) > 0
		for _, name := range names {
			path := p.pathOf(name)
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w; check the path", s.At, err)
			}
			all[path] = program.Hash(text)
		}
	}
	return all, nil
}

// open initializes the campaign and reads the results of the steps that are done.
func open(p *Program, o Options) (*Campaign, error) {
	j, err := program.OpenJournal(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Campaign{Program: p, o: o, journal: j}
	s := &commandRunner{program: p, brunt: o.Brunt,
		started: func(pid int) error {
			return j.Add(program.Entry{Process: &program.Process{PID: pid, Began: beganAt(pid)}})
		}}
	if p.Inspect != "" {
		s.sql = c.query
	}
	c.service = &service{commandRunner: s, of: &p.Service, log: filepath.Join(o.Dir, "service.log")}
	c.results, err = results(p, o.Dir, func(s *Step) bool { return j.Done(s.ID()) })
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Results reads the results of the steps that are done from a campaign's folder.
func Results(p *Program, dir string) ([]Result, error) {
	return results(p, dir, func(s *Step) bool {
		_, err := os.Stat(filepath.Join(dir, s.ID(), ResultName))
		return err == nil
	})
}

func results(p *Program, dir string, isDone func(*Step) bool) (all []Result, err error) {
	for i := range p.Steps {
		if s := &p.Steps[i]; isDone(s) {
			r, err := readResult(filepath.Join(dir, s.ID(), ResultName))
			if err != nil {
				return nil, err
			}
			all = append(all, *r)
		}
	}
	return all, nil
}

// Close ends the service if the campaign runs it, and unlocks the folder.
func (c *Campaign) Close() error { return errors.Join(c.service.close(), c.journal.Close()) }

// Run executes the steps that are not done. A step that fails ends the campaign with an error of one line. A bad result
// of the target is a result, and ends nothing.
func (c *Campaign) Run(ctx context.Context) error {
	free := c.o.Free
	if free == nil {
		free = FreeBytes
	}
	if bytes, known := free(c.o.Dir); known {
		if err := c.CheckDisk(bytes); err != nil {
			return err
		}
	}
	// What commands may create is checked before the first load.
	if !c.made() {
		if err := c.lookAhead(ctx); err != nil {
			return err
		}
		if err := c.reach(ctx); err != nil {
			return err
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if c.journal.Done(s.ID()) {
			continue
		}
		if err := c.carryOut(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// carryOut executes one step, and writes its states to the journal.
func (c *Campaign) carryOut(ctx context.Context, s *Step) error {
	c.o.Say("step %d of %d: %s", s.Number, len(c.Steps), c.does(c.o.Language, s))
	return c.journal.Do(ctx, s.ID(), func() error {
		r := &Result{
			Schema: ResultSchema, ID: s.ID(), Kind: s.Kind, Name: s.Name, Number: s.Number, Round: s.Round,
			Started: time.Now().UTC(), Note: c.Note(),
		}
		c.sent = 0
		err := os.MkdirAll(c.folder(s), 0o755)
		if err == nil {
			err = c.perform(ctx, s, r)
		}
		if err == nil {
			r.Ended, r.Requests = time.Now().UTC(), c.sent
			err = r.write(c.folder(s))
		}
		if err != nil {
			return fmt.Errorf("step %s: %w", s.ID(), err)
		}
		c.results = append(c.results, *r)
		return nil
	})
}

func (c *Campaign) folder(s *Step) string { return filepath.Join(c.o.Dir, s.ID()) }

func (c *Campaign) commandLog(s *Step) string { return filepath.Join(c.folder(s), "commands.log") }

// perform executes the step's own work, with its commands before and after.
func (c *Campaign) perform(ctx context.Context, s *Step, r *Result) error {
	if err := c.commands(ctx, s, "before", s.Before); err != nil {
		return err
	}
	if s.sends() && s.Kind != campaignfile.StepMatrix {
		if err := c.ready(ctx); err != nil {
			return err
		}
	}
	if s.sends() && !c.looked && c.made() {
		if err := c.lookAhead(ctx); err != nil {
			return err
		}
	}
	c.looked = c.looked || s.sends()
	do := map[string]func(context.Context, *Step, *Result) error{
		campaignfile.StepPrepare: c.prepare, campaignfile.StepSearch: c.search, campaignfile.StepConfirm: c.hold,
		campaignfile.StepReliability: c.hold,
		campaignfile.StepAnalyse:     c.hold, campaignfile.StepConnections: c.hold, campaignfile.StepFix: c.fix,
		campaignfile.StepMatrix: c.matrix, campaignfile.StepExperiment: c.experiment,
		campaignfile.StepDocument: c.document,
	}[s.Kind]
	if do == nil {
		return fmt.Errorf("step %s: this version has no steps of the kind %q", s.ID(), s.Kind)
	}
	if err := do(ctx, s, r); err != nil {
		return err
	}
	return c.commands(ctx, s, "after", s.After)
}

// commands executes a list of the step's commands, except for those that were done before the campaign was killed.
func (c *Campaign) commands(ctx context.Context, s *Step, what string, list []campaignfile.Command) error {
	did, _ := c.journal.Progress(s.ID(), what)
	for i := did; i < len(list); i++ {
		if err := c.journal.Note(s.ID(), what, i, false); err != nil {
			return err
		}
		if err := c.service.run(ctx, &list[i], c.commandLog(s)); err != nil {
			return err
		}
		if err := c.journal.Note(s.ID(), what, i, true); err != nil {
			return err
		}
	}
	return nil
}

// ready makes sure that the service is ready with the campaign's own settings.
func (c *Campaign) ready(ctx context.Context) error {
	if c.service.up && len(c.service.settings) == 0 {
		return c.service.gone()
	}
	return c.service.configure(ctx, nil)
}

// How runs look at the database.
const (
	briefly = true // without explaining statements, which would load it between two trials
	closely = false
)

// execute runs the loads of a step in its folder. A run that is complete already is not repeated, so a step that was
// killed continues with the interrupted run.
func (c *Campaign) execute(s *Step, brief bool) program.Driver {
	return func(ctx context.Context, o program.Load) (*program.Outcome, error) {
		dir := filepath.Join(c.folder(s), o.Name)
		if kept, err := program.KeptOutcome(dir); kept != nil || err != nil {
			return c.judged(kept, err)
		}
		o.Plan = program.Continued(o.Plan, c.before())
		if err := c.service.gone(); err != nil {
			return nil, err
		}
		run := Run{Load: o, Dir: dir, Extra: map[string]string{"campaign": c.Name, "step": s.ID()}}
		if c.Inspect != "" {
			run.Inspect, run.Brief = c.expand(c.Inspect), brief
		}
		for _, w := range c.Watch {
			run.Watch = append(run.Watch, c.expand(w))
		}
		if c.service.cmd != nil {
			run.Watch = append(run.Watch, fmt.Sprintf("tree:%d", c.service.cmd.Process.Pid))
		}
		if note := c.Note(); !note.IsZero() {
			run.Extra["note"] = note.String()
		}
		outcome, err := c.judged(c.o.Drive(ctx, run))
		// If the service has ended, the run did not measure the service.
		if ended := c.service.gone(); ended != nil && ctx.Err() == nil {
			return nil, errors.Join(ended, program.SetAside(dir, "without-service"))
		}
		return outcome, err
	}
}

// before returns how many requests the steps that are done have sent.
func (c *Campaign) before() (n uint64) {
	for i := range c.results {
		n += c.results[i].Requests
	}
	return n
}

// judged applies the campaign's rules to an outcome.
func (c *Campaign) judged(o *program.Outcome, err error) (*program.Outcome, error) {
	if err == nil {
		c.sent += o.Requests()
		if c.Anyway {
			o.AcceptInvalid()
		}
	}
	return o, err
}
