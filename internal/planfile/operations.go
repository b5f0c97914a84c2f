package planfile

import (
	"go.yaml.in/yaml/v4"

	"brunt/internal/driver"
	"brunt/internal/plan"
)

func queryKeys() []string {
	return append([]string{"name", "weight", "rate", "count", "params", "think", "simple", "fields", "rows"}, verbKeys()...)
}

func transactionKeys() []string {
	return []string{"name", "weight", "rate", "count", "isolation", "atomic", "think", "statements"}
}

func statementKeys() []string {
	return append([]string{"name", "params", "capture", "think", "simple", "fields", "rows"}, verbKeys()...)
}

// share is how often an operation is meant to happen, as the file has it.
type share struct {
	node                *yaml.Node // of the key that says so, or the operation
	count, weight, rate bool
}

// operations reads queries and transactions, and how to choose between them.
func (r *reader) operations(top *object, p *plan.Plan) {
	var shares []share
	add := func(n *yaml.Node, read func(n *yaml.Node) (plan.Operation, share)) {
		r.item(n, func() {
			op, s := read(n)
			p.Operations = append(p.Operations, op)
			shares = append(shares, s)
		})
	}
	top.list("queries", func(_ int, n *yaml.Node) { add(n, r.query) })
	top.list("transactions", func(_ int, n *yaml.Node) { add(n, r.transaction) })
	nameOperations(p.Operations)
	r.mix(top, p, shares)
}

func (r *reader) query(n *yaml.Node) (plan.Operation, share) {
	op := plan.Operation{At: r.at(n)}
	o := r.object(n, "a query", queryKeys())
	if o == nil {
		return op, share{node: n}
	}
	op.Where = o.where()
	op.Name = o.text("name")
	op.Think = r.think(o)
	s := plan.Step{At: op.At, Where: op.Where}
	r.request(o, &s, "a query")
	refs := newReferences()
	r.params(o, &s, refs)
	op.Steps = []plan.Step{s}
	r.resolve(&op, refs)
	return op, r.share(o, &op)
}

func (r *reader) transaction(n *yaml.Node) (plan.Operation, share) {
	op := plan.Operation{At: r.at(n)}
	o := r.object(n, "a transaction", transactionKeys())
	if o == nil {
		return op, share{node: n}
	}
	o.require("a transaction", "statements")
	op.Where = o.where()
	op.Name, op.Isolation, op.Think = o.text("name"), o.word("isolation"), r.think(o)
	refs := newReferences()
	o.list("statements", func(i int, n *yaml.Node) {
		op.Steps = append(op.Steps, r.statement(n, i, refs))
	})
	r.resolve(&op, refs)
	op.Transaction = len(op.Steps) > 0
	for i := range op.Steps {
		op.Transaction = op.Transaction && op.Steps[i].Request.Verb == driver.SQL
	}
	if o.has("atomic") {
		op.Transaction = o.flag("atomic")
	}
	return op, r.share(o, &op)
}

func (r *reader) statement(n *yaml.Node, i int, refs *references) plan.Step {
	s := plan.Step{At: r.at(n)}
	o := r.object(n, "a statement", statementKeys())
	if o == nil {
		return s
	}
	s.Where = o.where()
	s.Name = o.text("name")
	s.Think = r.think(o)
	refs.step = i
	refs.nameStep(r, o, s.Name)
	r.request(o, &s, "a statement")
	o.list("capture", func(_ int, n *yaml.Node) { s.Request.Capture = append(s.Request.Capture, r.capture(n)) })
	r.params(o, &s, refs)
	return s
}

func (r *reader) share(o *object, op *plan.Operation) share {
	s := share{node: o.node, count: o.has("count"), weight: o.has("weight"), rate: o.has("rate")}
	for _, key := range []string{"count", "weight", "rate"} {
		if o.has(key) {
			s.node = o.get(key)
		}
	}
	op.Count = o.unsigned("count")
	op.Weight = o.number("weight") + o.number("rate") + float64(op.Count)
	if op.Weight < 0 {
		r.problemAt(s.node, "write a number ≥ 0", "%v is negative", op.Weight)
	}
	return s
}

// mix decides between a queue and weights. All operations must use one of count, weight and rate.
func (r *reader) mix(top *object, p *plan.Plan, shares []share) {
	var counts, weights, rates int
	for _, s := range shares {
		kinds := 0
		for _, k := range []struct {
			on bool
			n  *int
		}{{s.count, &counts}, {s.weight, &weights}, {s.rate, &rates}} {
			if k.on {
				*k.n++
				kinds++
			}
		}
		if kinds > 1 {
			r.problemAt(s.node, "keep one", "count, weight and rate exclude each other")
		}
	}
	for i, s := range shares {
		switch {
		case counts > 0 && !s.count:
			r.problemAt(s.node, "give every operation a count, or none", "this operation has no count and others have")
		case rates > 0 && !s.rate && counts == 0:
			r.problemAt(s.node, "give every operation a rate, or none", "this operation has no rate and others have")
		case !s.count && !s.weight && !s.rate:
			p.Operations[i].Weight = 1
		}
	}
	r.rated = rates > 0
	if counts > 0 && !top.has("load") {
		p.Mix = plan.ByCount
	}
	switch n := top.get("mix"); top.choice("mix", []string{"count", "weight"}) {
	case "count":
		p.Mix = plan.ByCount
		if counts == 0 {
			r.problemAt(n, "give the queries counts or remove mix", "mix: count without counts")
		}
	case "weight":
		p.Mix = plan.ByWeight
	}
}

func thinkKeys() []string { return []string{"distribution", "min", "max", "mean"} }

// think reads a pause: a time, or a distribution of times.
func (r *reader) think(o *object) plan.Think {
	n := o.get("think")
	if n == nil {
		return plan.Think{}
	}
	if n.Kind != yaml.MappingNode {
		return plan.Think{Distribution: "constant", Min: r.durationOf(n, "think")}
	}
	s := r.object(n, "think", thinkKeys())
	s.require("think", "distribution")
	t := plan.Think{Distribution: s.choice("distribution", []string{"constant", "uniform", "exponential"})}
	t.Min, t.Max = s.duration("min"), s.duration("max")
	unwanted := "mean"
	switch t.Distribution {
	case "exponential":
		s.require("exponential think time", "mean")
		t.Min, unwanted = s.duration("mean"), "min"
	case "uniform":
		s.require("uniform think time", "max")
	case "constant":
		s.require("constant think time", "min")
	}
	if x := s.get(unwanted); x != nil && t.Distribution != "" {
		r.problemAt(x, "remove it", "%s has no meaning for a think time that is %s", unwanted, t.Distribution)
	}
	return t
}
