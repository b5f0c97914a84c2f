package workload

import (
	"errors"
	"fmt"
	"slices"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/keyspace"
	"brunt/internal/plan"
)

// compiler gathers the requests of a plan. Requests are linked to their steps by number until
// all are known, because the slice that holds them grows.
type compiler struct {
	plan     *plan.Plan
	tables   *tables
	queue    *queue          // plan.ByCount; nil otherwise
	space    *keyspace.Space // nil without one
	requests []driver.Request
	framing  map[string]int // BEGIN, COMMIT and ROLLBACK, by what they say
	starts   []*Sequence
}

func (c *compiler) add(r driver.Request) int {
	r.ID = len(c.requests)
	c.requests = append(c.requests, r)
	return r.ID
}

// frame returns the number of a request that begins or ends transactions. All operations share it.
func (c *compiler) frame(verb driver.Verb, name, isolation string) int {
	key := name + " " + isolation
	if id, ok := c.framing[key]; ok {
		return id
	}
	id := c.add(driver.Request{Name: name, Verb: verb, Text: isolation})
	c.framing[key] = id
	return id
}

// linked is a compiled operation whose requests are still numbers.
type linked struct {
	operation Operation
	requests  []int // one a step
	variants  [][]int
	rollback  int // -1: none
}

func (c *compiler) operation(op *plan.Operation) (linked, error) {
	l := linked{operation: Operation{Name: op.Name, Think: op.Think}, rollback: -1}
	first := 0
	if op.Transaction {
		first = 1
		l.add(Step{}, c.frame(driver.Begin, "begin", op.Isolation))
	}
	shared := sharedRows(c.plan.Seed, op)
	kinds := make([][]gen.Kind, len(op.Steps))
	for i := range op.Steps {
		s := &op.Steps[i]
		pick := c.pick(op, s)
		b := stepBuilder{c: c, op: op, step: i, first: first, shared: shared, kinds: kinds, pick: pick}
		params, err := b.params()
		if err != nil {
			return l, fmt.Errorf("operation %q, step %d: %w", op.Name, i+1, err)
		}
		request := s.Request
		request.Params = kinds[i]
		if request.Rows > 1 {
			request.Params = slices.Repeat(kinds[i], request.Rows)
		}
		request.Name = op.RequestName(i)
		l.add(Step{Think: s.Think, params: params, variant: pick, check: s.Check}, c.add(request))
		l.variants[len(l.variants)-1] = c.variants(s, request.Params, request.Name)
	}
	if op.Transaction {
		l.add(Step{}, c.frame(driver.Commit, "commit", ""))
		l.rollback = c.frame(driver.Rollback, "rollback", "")
	}
	return l, nil
}

// variants adds the requests that may stand in for a step's own.
func (c *compiler) variants(s *plan.Step, kinds []gen.Kind, name string) []int {
	var ids []int
	for _, r := range s.Variants {
		r.Params = kinds
		if r.Name == "" {
			r.Name = name
		}
		ids = append(ids, c.add(r))
	}
	return ids
}

func (l *linked) add(s Step, request int) {
	l.operation.Steps = append(l.operation.Steps, s)
	l.requests = append(l.requests, request)
	l.variants = append(l.variants, nil)
}

// Compile resolves references between the parts of a plan, numbers its requests, and builds its
// generators. The error is the plan.Problems of a plan that isn't valid, whoever wrote it, or that it has
// no operations, as one that only fills tables.
//
// A stream of parameters depends on the seed, the operation's name, and the step and position of
// the parameter in the plan; a stream of rows on the seed, the table and the column. Unique
// parameters of a queue are numbered within their operation, so that their range needs to last
// for Operation.Count values only. A batch of n rows repeats its step's parameters n times: its
// row r within operation i is number i·n + r.
func Compile(p *plan.Plan) (*Workload, error) {
	if err := p.Validate().Err(); err != nil {
		return nil, err
	}
	if len(p.Operations) == 0 {
		return nil, errors.New("compile the plan: it has no operations; add queries or transactions")
	}
	w := &Workload{Plan: p, Operations: make([]Operation, len(p.Operations))}
	c := &compiler{plan: p, tables: newTables(p), framing: map[string]int{}}
	var err error
	if w.pick, w.Total, err = newPicker(p); err != nil {
		return nil, fmt.Errorf("compile the plan: %w", err)
	}
	c.queue, _ = w.pick.(*queue)
	if p.Keyspace != nil {
		if c.space, err = keyspace.New(p.Keyspace, p.Seed); err != nil {
			return nil, fmt.Errorf("compile the plan: keyspace: %w", err)
		}
	}
	all := make([]linked, len(p.Operations))
	for i := range p.Operations {
		l, err := c.operation(&p.Operations[i])
		if err != nil {
			return nil, fmt.Errorf("compile the plan: %w", err)
		}
		all[i] = l
	}
	w.Program.Requests, w.Sequences = c.requests, c.starts
	for i := range all {
		l := &all[i]
		for s := range l.operation.Steps {
			l.operation.Steps[s].Request = &w.Program.Requests[l.requests[s]]
			l.operation.Steps[s].kind = l.operation.Steps[s].Request.Kind()
			for _, id := range l.variants[s] {
				l.operation.Steps[s].variants = append(l.operation.Steps[s].variants, &w.Program.Requests[id])
			}
		}
		if l.rollback >= 0 {
			l.operation.Rollback = &w.Program.Requests[l.rollback]
		}
		w.Operations[i] = l.operation
	}
	w.pauses = newPauses(p)
	w.follow(c.space)
	return w, nil
}
