package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"brunt/internal/inspect/observe"
	"brunt/internal/inspect/profile"
	"brunt/internal/inspect/servers"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// Check checks what the steps need besides the file itself: how the database and the targets are reached, what is
// watched, and files of SQL, unless commands may still create them. It ignores texts that contain unset variables of
// the environment. valid checks a plan's protocol and addresses, unless it is nil. An error is the user's.
func (p *Program) Check(valid func(*plan.Plan) error) error { return p.check(false, valid) }

// check is Check. If the campaign is about to run, all variables must be set.
func (p *Program) check(runs bool, valid func(*plan.Plan) error) error {
	parts := []struct {
		key   string
		texts []string
		check func(text string) error
	}{
		{"inspect", []string{p.Inspect}, servers.Check},
		{"watch", p.Watch, checkWatched},
		{"addresses", p.Addresses, nil},
	}
	for _, part := range parts {
		for _, text := range part.texts {
			if text == "" {
				continue
			}
			expanded, unset := p.expanded(text)
			switch {
			case unset != "" && runs:
				return fmt.Errorf("%s: %s is %s, and %s isn't set; set it in the environment", p.Path, part.key, text, unset)
			case unset != "" || part.check == nil:
				continue
			}
			if err := part.check(expanded); err != nil {
				return fmt.Errorf("%s: %s: %w", p.Path, part.key, err)
			}
		}
	}
	if server, unset := p.expanded(p.Inspect); unset == "" {
		if err := p.checkTunable(server); err != nil {
			return err
		}
	}
	if err := p.checkTargets(runs, valid); err != nil {
		return err
	}
	return p.checkFiles()
}

// expanded returns a text with its variables expanded, and the name of an unset variable, if any.
func (p *Program) expanded(text string) (out, unset string) {
	out = os.Expand(text, func(name string) string {
		value := p.variable(name, nil)
		if value == "" {
			unset = name
		}
		return value
	})
	return out, unset
}

// checkTargets checks the protocol and the addresses of each plan.
func (p *Program) checkTargets(runs bool, valid func(*plan.Plan) error) error {
	for _, text := range p.Addresses {
		if _, unset := p.expanded(text); unset != "" && !runs {
			return nil
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Load == nil || !s.sends() {
			continue
		}
		if len(s.Load.Faults)+len(s.Load.Proxies) > 0 {
			return fmt.Errorf("%s: step %s: plan %q has faults or proxies, and only single runs and searches disturb servers; "+
				"take a plan without them, and send this one by brunt run --allow-faults", s.At, s.Kind, s.Load.Name)
		}
		if valid != nil {
			if err := valid(s.Load); err != nil {
				return fmt.Errorf("%s: step %s: %w", s.At, s.Kind, err)
			}
		}
	}
	return nil
}

// checkFiles checks that the files of SQL exist.
func (p *Program) checkFiles() error {
	for i := range p.Steps {
		s := &p.Steps[i]
		if len(s.Before)+len(s.Commands) > 0 {
			return nil
		}
		for _, name := range s.SQL {
			if _, err := os.Stat(p.pathOf(name)); err != nil {
				return fmt.Errorf("%s: step %s: sql: %w; check the path", s.At, s.Kind, err)
			}
		}
		if len(s.After) > 0 {
			return nil
		}
	}
	return nil
}

// checkMatrix checks the keys of a comparison of settings.
func (s *Step) checkMatrix() error {
	if _, _, err := program.ParseFigure(s.By); err != nil {
		return fmt.Errorf("by: %w", err)
	}
	if s.Tolerance >= 1 {
		return fmt.Errorf("tolerance %g: give a share below 1, such as 0.05", s.Tolerance)
	}
	all := cells(s)
	if len(all) < 2 {
		return fmt.Errorf("one cell compares nothing; give settings at least two values")
	}
	for i, c := range all {
		if len(c) == 0 {
			return fmt.Errorf("cell %d has no settings; write {NAME: value}", i+1)
		}
		for k, one := range c {
			if slices.ContainsFunc(c[:k], func(o program.Setting) bool { return o.Name == one.Name }) {
				return fmt.Errorf("cell %s has %s twice; keep one", c, one.Name)
			}
		}
		if slices.ContainsFunc(all[:i], func(o program.Cell) bool { return o.String() == c.String() }) {
			return fmt.Errorf("cell %s is there twice; keep one", c)
		}
	}
	return nil
}

// made reports whether commands of the campaign may create what its first load needs: the service or its database.
func (p *Program) made() bool {
	if p.Service.Run.Given() || p.Service.Reconfigure.Given() {
		return true
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if len(s.Before) > 0 || s.Kind != campaignfile.StepFix && len(s.Commands) > 0 {
			return true
		}
		if s.sends() || len(s.SQL) > 0 {
			return false
		}
	}
	return false
}

// lookAhead checks that the database and the targets that the remaining steps need can be reached, and that the
// database's user has the required rights, so that a campaign without them fails before its first load.
func (c *Campaign) lookAhead(ctx context.Context) error {
	asks, advises := false, false
	for i := range c.Steps {
		s := &c.Steps[i]
		if c.journal.Done(s.ID()) {
			continue
		}
		asks, advises = asks || len(s.SQL) > 0 ||
			s.sends() && s.Kind != campaignfile.StepSearch,
			advises || s.Advisor
	}
	if err := c.reachSettings(ctx); err != nil {
		return err
	}
	if c.Inspect != "" && asks && !c.advisable() {
		if err := c.others(advises); err != nil {
			return err
		}
		if err := servers.Reach(ctx, c.expand(c.Inspect)); err != nil {
			return fmt.Errorf("inspect: %w", &UnreachableError{err})
		}
		return nil
	}
	if c.Inspect != "" && asks {
		counts, builds, err := servers.Lacks(ctx, c.expand(c.Inspect))
		// If the load itself sends statements, the advisor knows them without the server's statistics.
		blind := slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Advisor && !sendsSQL(s.Load) })
		switch {
		case err != nil:
			return fmt.Errorf("inspect: %w", &UnreachableError{err})
		case blind && !counts.IsZero():
			return fmt.Errorf("inspect: the advisor can't work: %s", counts)
		case advises && !builds.IsZero():
			return fmt.Errorf("inspect: the advisor can't work: %s", builds)
		case !counts.IsZero():
			c.o.Say("inspect: %s", counts)
		}
	}
	return nil
}

// advisable reports whether the campaign's server takes SQL and gives advice about indexes.
func (c *Campaign) advisable() bool { return servers.Advises(c.expand(c.Inspect)) }

// others returns an error for steps that need a database, if the campaign inspects another kind of server. Analyses,
// connections and all steps that only send loads work with any kind.
func (c *Campaign) others(advises bool) error {
	if advises {
		return errors.New("inspect: there is no advice about indexes for this kind of server; apply fixes by commands " +
			"(fix: {advisor: false, commands: […]})")
	}
	for i := range c.Steps {
		if s := &c.Steps[i]; len(s.SQL) > 0 {
			return fmt.Errorf("%s: this kind of server takes no sql; use commands", s.At)
		}
	}
	return nil
}

// reach checks that the target of a step's load answers.
func (c *Campaign) reach(ctx context.Context) error {
	if c.o.Reach == nil {
		return nil
	}
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Load != nil && s.sends() && !c.journal.Done(s.ID()) {
			return c.o.Reach(ctx, s.Load)
		}
	}
	return nil
}

// sendsSQL reports whether a load has statements, which the advisor then knows.
func sendsSQL(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Operations, func(o plan.Operation) bool {
		return slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return s.Request.Verb == protocol.SQL })
	})
}

// checkWatched returns an error if --watch doesn't take a text.
func checkWatched(text string) (err error) {
	switch {
	case text == record.WatchedServer || text == record.WatchedNoHost:
	case strings.HasPrefix(text, profile.Prefix):
		_, err = profile.Parse(text)
	default:
		_, err = observe.Parse(text)
	}
	return err
}
