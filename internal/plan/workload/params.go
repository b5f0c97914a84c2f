package workload

import (
	"fmt"
	"slices"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// stepBuilder builds the parameters of one step of an operation.
type stepBuilder struct {
	c      *compiler
	op     *plan.Operation
	step   int // index in the plan
	first  int // number of compiled steps before the plan's step 0
	shared map[string]gen.Stream
	kinds  [][]gen.Kind       // of the operation's steps so far; params fills in this one's
	pick   func(i uint64) int // returns the variant of the step that is used; nil without variants
}

func (b *stepBuilder) params() ([]param, error) {
	s := &b.op.Steps[b.step]
	one := make([]param, len(s.Params))
	kinds := make([]gen.Kind, len(s.Params))
	b.kinds[b.step] = kinds
	for k := range s.Params {
		p, kind, err := b.param(k)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", k+1, err)
		}
		one[k], kinds[k] = p, kind
	}
	if s.Request.Rows <= 1 {
		return one, nil
	}
	return repeat(one, uint64(s.Request.Rows)), nil
}

// repeat returns the parameters of all rows of a batch. Each row uses different numbers of the generators' streams.
func repeat(one []param, rows uint64) []param {
	all := make([]param, 0, len(one)*int(rows))
	for r := range rows {
		for _, p := range one {
			if g := p.gen; g != nil {
				p.gen = gen.Func(func(v *gen.Value, i uint64) { g.Value(v, i*rows+r) })
			}
			all = append(all, p)
		}
	}
	return all
}

func (b *stepBuilder) param(k int) (param, gen.Kind, error) {
	p := &b.op.Steps[b.step].Params[k]
	switch {
	case p.Part != "":
		g, kind, err := b.part(p)
		return param{gen: g}, kind, err
	case p.Value != nil:
		g, err := b.generator(p.Value, k)
		if err == nil {
			g = b.c.after(&b.op.Steps[b.step], k, g)
		}
		return param{gen: g}, b.c.tables.kind(&p.Value.Spec), err
	default:
		linked, kind := b.earlier(p)
		return linked, kind, nil
	}
}

// part returns the generator of a parameter that is a part of the operation's record.
func (b *stepBuilder) part(p *plan.Param) (gen.Generator, gen.Kind, error) {
	field := b.pick
	if p.Field != "" {
		n := slices.Index(b.c.plan.Keyspace.Fields, p.Field)
		field = func(uint64) int { return n }
	}
	return b.c.space.Generator(p.Part, b.op.Inserts, field)
}

func (b *stepBuilder) generator(v *plan.ValueSpec, k int) (gen.Generator, error) {
	stream, ok := b.shared[v.SameRow]
	if !ok || v.SameRow == "" {
		stream = gen.NewStream(b.c.plan.Seed, "operation", b.op.Name, strconv.Itoa(b.step), strconv.Itoa(k))
	}
	if b.c.queue == nil || !v.Unique {
		return gen.New(&v.Spec, stream, 0, b.c.tables.lookup)
	}
	g, err := gen.New(&v.Spec, stream, b.op.Count, b.c.tables.lookup)
	if err != nil {
		return nil, err
	}
	q := b.c.queue
	return gen.Func(func(v *gen.Value, i uint64) { g.Value(v, q.ordinal(i)) }), nil
}

// earlier returns a parameter that is an argument or a captured value of an earlier step.
func (b *stepBuilder) earlier(p *plan.Param) (param, gen.Kind) {
	linked := param{step: p.Step + b.first, index: p.Index, argument: p.Argument}
	if p.Argument {
		return linked, b.kinds[p.Step][p.Index]
	}
	return linked, b.op.Steps[p.Step].Request.Capture[p.Index].Kind
}

// sharedRows returns one stream for each SameRow group of an operation, so that the references of a group select the
// same row.
func sharedRows(seed uint64, op *plan.Operation) map[string]gen.Stream {
	streams := map[string]gen.Stream{}
	for s := range op.Steps {
		for k := range op.Steps[s].Params {
			if v := op.Steps[s].Params[k].Value; v != nil && v.SameRow != "" {
				streams[v.SameRow] = gen.NewStream(seed, "operation", op.Name, "row", v.SameRow)
			}
		}
	}
	return streams
}
