package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocols"
	"brunt/internal/schema/sql"
	"brunt/internal/workload"
)

// stand is what a plan meets: the driver, the addresses that answered, and what the server is.
type stand struct {
	plan    *plan.Plan // a copy: see own
	driver  protocol.Driver
	targets []protocol.Target
	servers []protocol.ServerInfo // one an address; the zero value where none answered
	first   int                   // index of the first address that answered
	flavor  sql.Flavor
	isSQL   bool
	notices []sql.Notice
	version string // of brunt, for the markers of tables
}

// newStand finds the driver and asks every address what it is. It fails if none answers, unless the
// patience goes further.
func newStand(ctx context.Context, p *plan.Plan, patient patience) (*stand, error) {
	p = own(p)
	d, canonical, err := protocols.Find(p.Target.Protocol)
	if err != nil {
		return nil, &UsageError{err}
	}
	p.Target.Protocol = canonical
	s := &stand{plan: p, driver: d}
	if s.targets, err = Targets(p); err != nil {
		return nil, &UsageError{err}
	}
	if s.first, err = s.meet(ctx, patient); err != nil {
		return nil, err
	}
	if s.isSQL = s.usesSQL(); s.isSQL {
		if s.flavor, err = s.flavorOf(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// own is a copy of a plan that may be completed: its settings, its protocol's name, and the names of
// its phases.
func own(p *plan.Plan) *plan.Plan {
	c := *p
	c.Settings = c.Settings.WithDefaults()
	c.Load = named(slices.Clone(c.Load))
	return &c
}

// named gives every phase a name of its own, by which the record tells them apart.
func named(phases []plan.Phase) []plan.Phase {
	taken := map[string]int{}
	for i := range phases {
		phases[i].Name = plan.Unused(cmp.Or(phases[i].Name, string(phases[i].Kind)), taken)
	}
	return phases
}

// flavorOf is how the server that answered writes SQL.
func (s *stand) flavorOf() (sql.Flavor, error) {
	flavor, err := sql.For(s.servers[s.first].Product, s.servers[s.first].Version)
	if err != nil {
		err = &UsageError{err}
	}
	return flavor, err
}

// anywhere tries do at one address after the other, beginning with one that answered, until it
// succeeds. The error is the first.
func (s *stand) anywhere(do func(protocol.Target) error) (first error) {
	for i := range s.targets {
		t := s.targets[(s.first+i)%len(s.targets)]
		err := do(t)
		if err == nil {
			return nil
		}
		if first == nil {
			first = at(t.Address, err)
		}
	}
	return first
}

// usesSQL reports whether the plan has tables or statements for a server that understands SQL. Tables of
// one whose protocol can't make any are what its references are about, behind a service for one.
func (s *stand) usesSQL() bool {
	p := s.plan
	if _, ok := s.driver.(protocol.AdminDriver); ok && len(p.Tables) > 0 {
		return true
	}
	for i := range p.Operations {
		for k := range p.Operations[i].Steps {
			if p.Operations[i].Steps[k].Request.Verb == protocol.SQL {
				return true
			}
		}
	}
	return false
}

// workload compiles the plan and puts its statements and values into the server's flavor.
func (s *stand) workload() (*workload.Workload, error) {
	w, err := workload.Compile(s.plan)
	if err != nil {
		return nil, &UsageError{err}
	}
	if !s.isSQL {
		return w, nil
	}
	names := sql.NewNames(s.plan.Tables, s.plan.Indexes)
	for i := range w.Program.Requests {
		r := &w.Program.Requests[i]
		if err := s.checkTransaction(r); err != nil {
			return nil, err
		}
		if r.Verb == protocol.SQL {
			text, notices, err := s.flavor.Translate(r.Text, r.Params, names)
			if err != nil {
				return nil, &UsageError{fmt.Errorf("%s%s: %w", placed(s.plan, fmt.Sprintf("request %q", r.Name)), r.Name, err)}
			}
			r.Text = text
			s.notices = sql.Merge(s.notices, notices...)
		}
		r.Params, r.Capture = slices.Clone(r.Params), slices.Clone(r.Capture)
		for k := range r.Params {
			r.Params[k] = s.flavor.ParamKind(r.Params[k])
		}
		for k := range r.Capture {
			r.Capture[k].Kind = s.flavor.ParamKind(r.Capture[k].Kind)
		}
	}
	w.Convert(s.flavor.Wrap)
	return w, nil
}

// checkTransaction refuses what begins or ends a transaction on a server that only seems to have
// them: its operations would pass, and leave half of their work behind.
func (s *stand) checkTransaction(r *protocol.Request) error {
	if s.flavor.Transactions() || !r.Frames() {
		return nil
	}
	return &UsageError{fmt.Errorf("%s: %s has no transactions over several statements (it accepts BEGIN and undoes nothing):"+
		" put the statements into one DO $$ BEGIN … END $$, or set atomic: false", r.Name, s.flavor.Product())}
}

// check asks the first server that answers whether it takes the program's statements, where sessions
// would learn that only under load. told is told how far it is; it may be nil.
func (s *stand) check(ctx context.Context, p *protocol.Program, told func(done, all int)) error {
	c, ok := s.driver.(protocol.Checker)
	if !ok {
		return nil
	}
	for _, t := range s.targets {
		err := c.Check(ctx, t, p, told)
		if err == nil {
			return nil
		}
		var e *protocol.Error
		if errors.As(err, &e) && e.Class == protocol.Server {
			return notConnected(s.plan, err)
		}
	}
	return nil // connecting will say why
}
