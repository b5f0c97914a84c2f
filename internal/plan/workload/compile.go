package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/load/keyspace"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance/bucket"
)

// compiler collects the requests of a plan.
type compiler struct {
	plan     *plan.Plan
	tables   *tables
	queue    *queue                       // plan.ByCount; nil otherwise
	space    *keyspace.Space              // nil without a keyspace
	requests []protocol.Request           // never reallocated, because steps point into it
	framing  map[string]*protocol.Request // BEGIN, COMMIT and ROLLBACK, by name and isolation
	starts   []*Sequence
	reads    []protocol.Request // see Workload.Reads
	groups   map[string]int     // see Verify.Group
	program  script.Program     // nil if no operation is a script
}

func newCompiler(p *plan.Plan) *compiler {
	room := 0
	for i := range p.Operations {
		const framing = 3
		room += framing + len(p.Operations[i].Steps)
		for _, s := range p.Operations[i].Steps {
			room += len(s.Variants) + 1
		}
	}
	return &compiler{plan: p, tables: newTables(p), requests: make([]protocol.Request, 0, room),
		framing: map[string]*protocol.Request{}, groups: map[string]int{}}
}

func (c *compiler) add(r protocol.Request) *protocol.Request {
	r.ID = len(c.requests)
	c.requests = append(c.requests, r)
	return &c.requests[r.ID]
}

// frame returns a request that begins or ends a transaction. All operations share it.
func (c *compiler) frame(verb protocol.Verb, name, isolation string) *protocol.Request {
	key := name + " " + isolation
	if c.framing[key] == nil {
		c.framing[key] = c.add(protocol.Request{Name: name, Verb: verb, Text: isolation})
	}
	return c.framing[key]
}

// bucket returns how to compute the bucket of an operation whose first statement has parameters of these kinds; nil if
// buckets don't select nodes.
func (c *compiler) bucket(op *plan.Operation, kinds []gen.Kind) (*bucket.Key, error) {
	b := &c.plan.Target.Balance
	if b.Mode != "bucket" {
		return nil, nil
	}
	by, of := make([]int, len(b.By)), make([]gen.Kind, len(b.By))
	for i, name := range b.By {
		if by[i] = op.HashParam(name); by[i] < 0 || by[i] >= len(kinds) {
			return nil, fmt.Errorf("the first statement has no parameter %q for its bucket", name)
		}
		of[i] = kinds[by[i]]
	}
	return bucket.NewKey(b.HashFunction, b.Buckets, by, of)
}

// compared returns a request whose captured fields are compared with those of the keyspace: their content counts, and
// not the type that a store gives them.
func compared(r protocol.Request) protocol.Request {
	if r.Verb != protocol.Read && r.Verb != protocol.Scan && r.Verb != protocol.Batch {
		return r
	}
	r.Capture = slices.Clone(r.Capture)
	for i := range r.Capture {
		if r.Capture[i].Kind == gen.Null {
			r.Capture[i].Kind = gen.Bytes
		}
	}
	return r
}

func (c *compiler) operation(op *plan.Operation) (Operation, error) {
	out := Operation{Name: op.Name, Think: op.Think, keyParam: -1, script: -1}
	switch op.Route {
	case "primary":
		out.Role = protocol.Primary
	case "replica":
		out.Role = protocol.Replica
	}
	if op.Script != "" {
		c.scripted(op, &out)
		return out, nil
	}
	if name := c.plan.Target.Balance.Hash; name != "" {
		out.keyParam = op.HashParam(name)
	}
	first := 0
	if op.Transaction {
		first, out.keyStep = 1, 1
		out.Steps = append(out.Steps, Step{Request: c.frame(protocol.Begin, "begin", op.Isolation)})
	}
	shared := sharedRows(c.plan.Seed, op)
	kinds := make([][]gen.Kind, len(op.Steps))
	for i := range op.Steps {
		s := &op.Steps[i]
		pick := c.pick(op, s)
		b := stepBuilder{c: c, op: op, step: i, first: first, shared: shared, kinds: kinds, pick: pick}
		params, err := b.params()
		if err != nil {
			return out, fmt.Errorf("operation %q, step %d: %w", op.Name, i+1, err)
		}
		if i == 0 {
			if out.bucket, err = c.bucket(op, kinds[0]); err != nil {
				return out, fmt.Errorf("operation %q: %w", op.Name, err)
			}
		}
		request := s.Request
		if s.Check != "" {
			request = compared(request)
		}
		request.Name, request.Params = op.RequestName(i), slices.Repeat(kinds[i], max(request.Rows, 1))
		step := Step{Think: s.Think, params: params, variant: pick, check: s.Check, kind: request.Kind(),
			Request: c.add(request), texts: texts(&request, params)}
		for _, r := range s.Variants {
			r.Name, r.Params = cmp.Or(r.Name, request.Name), request.Params
			if s.Check != "" {
				r = compared(r)
			}
			step.variants = append(step.variants, c.add(r))
		}
		if w := &s.Wrong; w.Share > 0 {
			r := w.Request
			r.Name, r.ExpectError = request.Name, r.Verb == protocol.SQL
			if plan.UsesParams(&r) {
				r.Params = request.Params
			}
			step.wrong = &wrong{c.add(r), gen.NewStream(c.plan.Seed, "wrong", op.Name, strconv.Itoa(i)), w.Share, w.Expect}
		}
		if s.Verify != nil {
			step.Verify, out.verified = c.verify(s, kinds[i]), true
		}
		out.Steps = append(out.Steps, step)
	}
	if op.Transaction {
		out.Steps = append(out.Steps, Step{Request: c.frame(protocol.Commit, "commit", "")})
		out.Rollback = c.frame(protocol.Rollback, "rollback", "")
	}
	return out, nil
}

// Compile resolves references between the parts of a plan, numbers its requests, and creates its generators. It returns
// the plan.Problems of an invalid plan, and an error for a plan without operations, which only fills tables.
//
// A parameter's stream depends on the seed, the operation's name, and the step and the position of the parameter in the
// plan. A row's stream depends on the seed, the table and the column. Unique parameters of a queue are numbered within
// their operation, so that their range needs only Operation.Count values. A batch of n rows repeats its step's
// parameters n times: row r of operation i has number i·n + r.
func Compile(p *plan.Plan) (*Workload, error) {
	if err := p.Validate().Err(); err != nil {
		return nil, err
	}
	program, err := p.CompileScripts()
	if err != nil {
		return nil, err
	}
	if len(p.Operations) == 0 {
		return nil, errors.New("compile the plan: it has no operations; add queries or transactions")
	}
	w := &Workload{Plan: p, Operations: make([]Operation, len(p.Operations))}
	c := newCompiler(p)
	c.program = program
	if w.pick, w.Total, err = newPicker(p); err != nil {
		return nil, fmt.Errorf("compile the plan: %w", err)
	}
	c.queue, _ = w.pick.(*queue)
	if p.Keyspace != nil {
		if c.space, err = keyspace.New(p.Keyspace, p.Seed); err != nil {
			return nil, fmt.Errorf("compile the plan: keyspace: %w", err)
		}
	}
	for i := range p.Operations {
		if w.Operations[i], err = c.operation(&p.Operations[i]); err != nil {
			return nil, fmt.Errorf("compile the plan: %w", err)
		}
	}
	w.scripts = newScripts(p, program)
	w.Program.Requests, w.Reads.Requests, w.Sequences = c.requests, c.reads, c.starts
	w.Registers.Requests = registers(p)
	w.pauses = newPauses(p)
	w.follow(c.space)
	return w, nil
}
