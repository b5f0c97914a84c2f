package campaign

import (
	"context"
	"fmt"
	"slices"

	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/run/advise"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// wanted returns the settings that an experiment tries.
func (p *Program) wanted(s *Step) (list []inspect.Setting) {
	for _, one := range s.Set {
		list = append(list, inspect.Setting{Name: one.Name, Value: p.expand(one.Value)})
	}
	return list
}

// checkExperiment checks the keys of an experiment.
func (s *Step) checkExperiment() error {
	for i, one := range s.Set {
		if err := inspect.SettingName(one.Name); err != nil {
			return fmt.Errorf("set: %w", err)
		}
		if slices.ContainsFunc(s.Set[:i], func(o campaignfile.Setting) bool { return o.Name == one.Name }) {
			return fmt.Errorf("set: %s is there twice; keep one", one.Name)
		}
	}
	return nil
}

// checkTunable checks that the campaign's server has settings that experiments can change.
func (p *Program) checkTunable(server string) error {
	k := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Kind == campaignfile.StepExperiment })
	if k < 0 {
		return nil
	}
	if err := servers.Tunable(server); err != nil {
		return fmt.Errorf("%s: step experiment: %w", p.Steps[k].At, err)
	}
	return nil
}

// reachSettings checks that the settings of the remaining experiments can be changed and restored.
func (c *Campaign) reachSettings(ctx context.Context) error {
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Kind != campaignfile.StepExperiment || c.journal.State(s.ID()) != "" {
			continue
		}
		if err := advise.CheckSettings(ctx, c.expand(c.Inspect), c.wanted(s)); err != nil {
			return fmt.Errorf("%s: step experiment: %w", s.At, err)
		}
	}
	return nil
}

// experiment tries settings of the database: it measures the load without and with them, and restores them.
func (c *Campaign) experiment(ctx context.Context, s *Step, r *Result) error {
	n, sessions, err := c.load(s)
	if err != nil {
		return err
	}
	p, err := program.AtScale(s.Load, n, c.scaled(s.WarmUp, leastWarmUp), c.lasting(s, n))
	if err != nil {
		return err
	}
	p.Settings.Sessions = sessions
	t := &advise.Trial{Times: s.Repetitions, Anyway: true, Writers: writers(s.Load),
		Say: func(text string) { c.o.Say("experiment: %s", text) },
		Judged: func(x record.Proof) {
			c.o.Say("experiment: %s: %s", map[bool]string{true: "it pays, restored", false: "restored"}[x.Advised], x.Why)
		}}
	t.Into(c.folder(s), program.Load{Plan: p, PeakPerS: p.PeakPerS()}, program.Continuing(c.execute(s, closely)))
	e := &advise.Experiment{Server: c.expand(c.Inspect), Wanted: c.wanted(s), Dir: c.folder(s), Guard: c.o.Guard}
	proof, err := e.Prove(ctx, t)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Experiment = &proof
	return nil
}

// writers returns the names of the operations of a load that may write.
func writers(p *plan.Plan) (names []string) {
	for i := range p.Operations {
		o := &p.Operations[i]
		if slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return mayWrite(&s.Request) }) {
			names = append(names, o.Name)
		}
	}
	return names
}

func mayWrite(r *protocol.Request) bool { return r.MayWrite() && r.Verb != protocol.Commit }

// experimentPart shows what an experiment measured.
func (d *document) experimentPart(p *part, r *Result) {
	x := r.Experiment
	t := cell.Table{ID: r.ID + "-settings", Title: d.say("SETTINGS"), Note: d.say("the server's; restored after each run"),
		Columns: []cell.Column{{Head: d.say("setting"), Left: true}, {Head: d.say("before")}, {Head: d.say("tried")}}}
	for _, s := range x.Settings {
		t.Add(cell.Texts(s.Name, s.Before, s.Tried)...)
	}
	p.tables = append(p.tables, t)
	if c := x.Change; c != nil {
		figures := cell.Table{ID: r.ID + "-change", Title: d.say("CHANGE"),
			Note: d.say("with the settings against without them, at equal load"),
			Columns: []cell.Column{{Head: d.say("figure"), Left: true}, {Head: d.say("change")}, {Head: d.say("from")},
				{Head: d.say("to")}, {Head: d.say("runs"), Left: true}, {Left: true}}}
		verdict := cell.Text(d.say("no gain"))
		if x.Advised {
			verdict = cell.Text(d.say("pays")).Marked(cell.Good)
		} else if c.Low > 0 || len(x.Worse) > 0 {
			verdict = cell.Text(d.say("worse")).Marked(cell.Bad)
		}
		figures.Add(cell.Text(d.say("response time")), cell.Figure(c.Value, "change"), cell.Figure(c.Low, "change"),
			cell.Figure(c.High, "change"), cell.Text(x.Order), verdict)
		p.tables = append(p.tables, figures)
	}
}

// tried says what an experiment found, in one sentence.
func (w wording) tried(x *record.Proof) string {
	verdict := w.say("no gain")
	if x.Advised {
		verdict = w.say("pays")
	}
	return w.say("%s instead of %s: %s; %s. The settings were restored.", settingsText(x, false), settingsText(x, true),
		verdict, x.Why.In(w.l))
}

// settingsText formats the settings of an experiment: those before it, or those that were tried.
func settingsText(x *record.Proof, before bool) string {
	var list []inspect.Setting
	for _, s := range x.Settings {
		value := s.Tried
		if before {
			value = s.Before
		}
		list = append(list, inspect.Setting{Name: s.Name, Value: value})
	}
	return inspect.SettingsText(list)
}

// triedSettings adds the experiments to the causes of the first page.
func (d *document) triedSettings(row func(cause, evidence, remedy, proven string, mark cell.Mark)) {
	for _, r := range d.ofKind(campaignfile.StepExperiment) {
		x := r.Experiment
		if x == nil {
			continue
		}
		proven, mark := d.say("tried: %s", program.Brief(x.Why.In(d.l))), cell.Plain
		if x.Advised {
			proven, mark = d.say("pays, restored")+": "+d.measuredChange(x), cell.Good
		}
		row(d.say("Setting"), settingsText(x, true), settingsText(x, false), proven, mark)
	}
}
