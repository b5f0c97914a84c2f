// Package target finds the system under test that a plan names: its protocol, its addresses, the servers at
// these addresses, and the plan's statements in the servers' dialect.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/protocol/topology"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/sql"
)

// System is the system under test of a plan.
type System struct {
	Plan     *plan.Plan // a copy with its defaults filled in
	Protocol protocol.Declaration
	Driver   protocol.Driver
	Targets  []protocol.Target
	Servers  []protocol.ServerInfo // one per address; the zero value if it didn't answer
	Flavor   sql.Flavor            // set if the plan has tables or SQL statements
	Topology topology.Source       // finds the nodes during the load; nil if they don't change
	Notices  []sql.Notice          // about statements and tables that were translated
	Waiting  protocol.Waiting      // limits of set-up sessions
	first    int                   // index of the first address that answered
	isSQL    bool
	nodes    *protocol.Nodes // see Nodes
}

// Find finds the driver and asks every address for its product. It fails if no address answers, unless patient
// says otherwise. An error is a *UsageError or an *UnreachableError. p is never changed.
func Find(ctx context.Context, p *plan.Plan, patient Patience) (*System, error) {
	d, err := protocols.Find(p.Target.Protocol)
	if err != nil {
		return nil, &UsageError{err}
	}
	return With(ctx, p, d, patient)
}

// With is Find for a protocol that needn't be among the linked ones.
func With(ctx context.Context, p *plan.Plan, d protocol.Declaration, patient Patience) (_ *System, err error) {
	p = own(p)
	p.Target.Protocol = d.Name()
	s := &System{Plan: p, Protocol: d, Driver: d.Open()}
	if s.Targets, err = Targets(p); err != nil {
		return nil, &UsageError{err}
	}
	if err = s.discover(ctx); err != nil {
		return nil, err
	}
	if s.first, err = s.meet(ctx, patient); err != nil {
		return nil, err
	}
	if s.isSQL = s.usesSQL(); s.isSQL {
		if s.Flavor, err = s.FlavorOf(); err != nil {
			return nil, err
		}
	}
	s.Waiting.Limit = s.waitLimit()
	return s, nil
}

// Check checks a plan's protocol and addresses without contacting a server. p is never changed.
func Check(p *plan.Plan) error {
	p = own(p)
	d, err := protocols.Find(p.Target.Protocol)
	if err == nil {
		p.Target.Protocol = d.Name()
		_, err = Targets(p)
	}
	return err
}

// own returns a copy of a plan with default settings and unique phase names. The protocol's name in the copy may
// be changed.
func own(p *plan.Plan) *plan.Plan {
	c := *p
	c.Settings = c.Settings.WithDefaults()
	c.Load = Named(slices.Clone(c.Load))
	return &c
}

// Named gives every phase a unique name, by which records distinguish them.
func Named(phases []plan.Phase) []plan.Phase {
	taken := map[string]int{}
	for i := range phases {
		phases[i].Name = plan.Unused(cmp.Or(phases[i].Name, string(phases[i].Kind)), taken)
	}
	return phases
}

// FlavorOf returns the SQL dialect of the server that answered.
func (s *System) FlavorOf() (sql.Flavor, error) {
	flavor, err := sql.For(s.Protocol.SQL, s.Servers[s.first].Product, s.Servers[s.first].Version)
	if err != nil {
		err = &UsageError{err}
	}
	return flavor, err
}

// Version returns the product and version of the server that answered, for messages.
func (s *System) Version() string {
	return strings.TrimSpace(s.Servers[s.first].Product + " " + s.Servers[s.first].Version)
}

// Anywhere calls do for one address after another, beginning with one that answered, until a call succeeds.
// Otherwise it returns the first error.
func (s *System) Anywhere(do func(protocol.Target) error) (first error) {
	for i := range s.Targets {
		t := s.Targets[(s.first+i)%len(s.Targets)]
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

// usesSQL reports whether the plan has tables or statements for a server that understands SQL. If the protocol
// can't create tables, the plan's tables don't count: they only describe what its references refer to, for
// instance behind an HTTP service.
func (s *System) usesSQL() bool {
	p := s.Plan
	if _, ok := s.Driver.(protocol.AdminDriver); ok && len(p.Tables) > 0 {
		return true
	}
	if r := p.Registers; r != nil && (r.Write.Verb == protocol.SQL || r.Read.Verb == protocol.SQL) {
		return true
	}
	for i := range p.Operations {
		if p.Operations[i].Script != "" {
			continue // its statements are the server's own
		}
		for k := range p.Operations[i].Steps {
			if p.Operations[i].Steps[k].Request.Verb == protocol.SQL {
				return true
			}
		}
	}
	return false
}

// Workload compiles the plan and translates its statements and values into the server's dialect. Statements of scripts
// are sent as the script has them, as by the tool whose language it is.
func (s *System) Workload() (*workload.Workload, error) {
	w, err := workload.Compile(s.Plan)
	if err != nil {
		return nil, &UsageError{err}
	}
	if !s.isSQL {
		return w, nil
	}
	names := sql.NewNames(s.Plan.Tables, s.Plan.Indexes)
	scripted := w.ScriptRequests()
	for n, all := range [][]protocol.Request{w.Program.Requests, w.Reads.Requests, w.Registers.Requests} {
		for i := range all {
			if n == 0 && scripted[i] {
				continue
			}
			if err := s.translate(&all[i], names); err != nil {
				return nil, err
			}
		}
	}
	s.noteSharedPlans(w.Program.Requests)
	w.Convert(s.Flavor.Wrap)
	return w, nil
}

// noteSharedPlans notes which statements give wrong rows if they are sent to Picodata over both of its protocols: up to
// version 25.3, it has one cache of plans for both, whose keys are texts, and a plan without parameters that was made
// for one protocol is wrong for the other.
func (s *System) noteSharedPlans(requests []protocol.Request) {
	var major, minor int
	if s.Flavor.Product() != sql.Picodata {
		return
	}
	if n, _ := fmt.Sscanf(s.Servers[s.first].Version, "%d.%d", &major, &minor); n < 2 ||
		major > 25 || major == 25 && minor > 3 {
		return
	}
	var names []string
	for i := range requests {
		if r := &requests[i]; r.Verb == protocol.SQL && !r.Simple && len(r.Params) == 0 {
			names = append(names, r.Name)
		}
	}
	if names = slices.Compact(names); len(names) > 0 {
		s.Notices = sql.Merge(s.Notices, sql.Notice{ID: "plans-shared", Text: message.New("plans-shared",
			message.Text("statements", strings.Join(names, ", ")), message.Text("server", s.Version()))})
	}
}

// translate translates a request into the server's dialect.
func (s *System) translate(r *protocol.Request, names *sql.Names) error {
	if err := s.checkTransaction(r); err != nil {
		return err
	}
	if r.Verb == protocol.SQL {
		text, notices, err := s.Flavor.Translate(r.Text, r.Params, names)
		if err != nil && r.ExpectError {
			text, err = r.Text, nil // the plan expects an error
		}
		if err != nil {
			return &UsageError{fmt.Errorf("%s%s: %w", placed(s.Plan, fmt.Sprintf("request %q", r.Name)), r.Name, err)}
		}
		r.Text = text
		s.Notices = sql.Merge(s.Notices, notices...)
	}
	r.Params, r.Capture = slices.Clone(r.Params), slices.Clone(r.Capture)
	for k := range r.Params {
		r.Params[k] = s.Flavor.ParamKind(r.Params[k])
	}
	for k := range r.Capture {
		r.Capture[k].Kind = s.Flavor.ParamKind(r.Capture[k].Kind)
	}
	return nil
}

// checkTransaction refuses requests that begin or end a transaction if the server only accepts them without
// effect: operations would seem to succeed, and leave partial changes behind.
func (s *System) checkTransaction(r *protocol.Request) error {
	if s.Flavor.Transactions() || !r.Frames() {
		return nil
	}
	return &UsageError{fmt.Errorf(
		"%s: %s has no transactions over several statements (it accepts BEGIN and undoes nothing):"+
			" put the statements into one DO $$ BEGIN … END $$, or set atomic: false", r.Name, s.Flavor.Product())}
}

// Check asks the first server that answers whether it accepts the program's statements, for protocols whose
// sessions would learn that only under load. progress, which may be nil, is called with the statements done and
// the total.
func (s *System) Check(ctx context.Context, p *protocol.Program, progress func(done, all int)) error {
	c, ok := s.Driver.(protocol.Checker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Waiting.Limit)
	defer cancel()
	for _, t := range s.Targets {
		err := c.Check(ctx, t, p, progress)
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*protocol.Error](err); ok && e.Class == protocol.Server {
			return NotConnected(s.Plan, err)
		}
	}
	return nil // connecting will report the error
}

// Limits of what a set-up session waits for. Servers build indexes and count rows of tables of any size. Statements of
// Picodata are shorter, and hang if a replica set is down: they get as long as the plan lets a change of the schema
// take, and a little more for its answer.
const (
	mostWaiting         = time.Hour
	mostWaitingPicodata = 5 * time.Minute
	answerWaiting       = 10 * time.Second
)

// waitLimit returns how long set-up sessions wait for an answer.
func (s *System) waitLimit() time.Duration {
	if !s.isSQL || s.Flavor.Product() != sql.Picodata {
		return mostWaiting
	}
	limit := time.Duration(0)
	for i := range s.Plan.Tables {
		limit = max(limit, s.Plan.Tables[i].Timeout)
	}
	if limit == 0 {
		return mostWaitingPicodata
	}
	return limit + answerWaiting
}

// Admin opens a set-up session at the first address where that succeeds.
func (s *System) Admin(ctx context.Context) (protocol.Admin, error) {
	d, ok := s.Driver.(protocol.AdminDriver)
	if !ok {
		return nil, &UsageError{fmt.Errorf("protocol %s can't create tables; run the plan with --no-setup", s.Driver.Name())}
	}
	var a protocol.Admin
	err := s.Anywhere(func(t protocol.Target) (err error) {
		a, err = d.Admin(ctx, t)
		return err
	})
	if err != nil {
		return nil, unusable(s.Plan, err)
	}
	return s.Waiting.Of(a), nil
}

// Table returns the plan's table with the given name, or nil.
func (s *System) Table(name string) *plan.Table {
	if i := slices.IndexFunc(s.Plan.Tables, func(t plan.Table) bool { return t.Name == name }); i >= 0 {
		return &s.Plan.Tables[i]
	}
	return nil
}
