package runner

import (
	"context"
	"fmt"

	"brunt/internal/driver"
	"brunt/internal/plan"
	"brunt/internal/protocols"
	"brunt/internal/sql"
	"brunt/internal/workload"
)

// stand is what a plan meets: the driver, the addresses that answered, and what the server is.
type stand struct {
	plan    *plan.Plan
	driver  driver.Driver
	targets []driver.Target
	servers []driver.ServerInfo // one an address; the zero value where none answered
	flavor  sql.Flavor
	isSQL   bool
	notices []sql.Notice
	version string // of brunt, for the markers of tables
}

// newStand finds the driver and asks every address what it is. It fails if none answers, unless the
// patience goes further.
func newStand(ctx context.Context, p *plan.Plan, patient patience) (*stand, error) {
	d, canonical, err := protocols.Find(p.Target.Protocol)
	if err != nil {
		return nil, &UsageError{err}
	}
	p.Target.Protocol = canonical
	s := &stand{plan: p, driver: d}
	if s.targets, err = targetsOf(p); err != nil {
		return nil, &UsageError{err}
	}
	first, err := s.meet(ctx, patient)
	if err != nil {
		return nil, err
	}
	if s.isSQL = usesSQL(p); s.isSQL {
		if s.flavor, err = sql.For(s.servers[first].Product, s.servers[first].Version); err != nil {
			return nil, &UsageError{err}
		}
	}
	return s, nil
}

// usesSQL reports whether the plan has tables or statements for a server that understands SQL.
func usesSQL(p *plan.Plan) bool {
	if len(p.Tables) > 0 {
		return true
	}
	for i := range p.Operations {
		for k := range p.Operations[i].Steps {
			if p.Operations[i].Steps[k].Request.Verb == driver.SQL {
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
		if r.Verb == driver.SQL {
			text, notices, err := s.flavor.Translate(r.Text, r.Params, names)
			if err != nil {
				return nil, &UsageError{fmt.Errorf("%s: %w", r.Name, err)}
			}
			r.Text = text
			s.notices = sql.Merge(s.notices, notices...)
		}
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
