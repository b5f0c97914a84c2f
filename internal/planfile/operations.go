package planfile

import (
	"math"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// share records which keys set how often an operation happens.
type share struct {
	at                  plan.Position // position of that key, or of the operation
	count, weight, rate bool
}

// shareFields returns the keys that set how often an operation happens.
func shareFields() []field {
	return []field{
		{"count", "Count", unsigned{}, "how many in the queue", false},
		{"weight", "Weight", decimal{bounded: true}, "how often compared with the others; 1", false},
		{"rate", "", custom[plan.Operation]{func(r *reader, key string, n *yaml.Node, op *plan.Operation) {
			var rate float64
			decimal{bounded: true}.read(r, key, n, valueOf(&rate))
			op.Weight += rate
		}, nil, decimal{bounded: true}.schema}, "operations a second", false},
	}
}

// share adds an operation's share.
func (s *state) share(r *reader, o *object, op *plan.Operation) {
	one := share{at: op.At, count: o.has("count"), weight: o.has("weight"), rate: o.has("rate")}
	for _, key := range []string{"count", "weight", "rate"} {
		if n := o.get(key); n != nil {
			one.at = r.at(n)
		}
	}
	if one.count {
		op.Weight += float64(op.Count)
	}
	s.shares = append(s.shares, one)
}

// operationForm is the form of the list of queries or of transactions. Both become operations of the plan; each form
// writes only those of its own kind.
type operationForm struct {
	state  *state
	of     *mapping
	params *paramForm
	query  bool
}

func (f operationForm) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	list{of: operationItem{f.of, f.state, f.query}, sound: true, cross: true}.read(r, key, n, to)
}

// operationItem is the form of one operation.
type operationItem struct {
	*mapping
	state *state
	query bool
}

func (f operationItem) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	refs := &f.state.refs
	*refs = references{step: -1}
	if f.query {
		refs.begin()
	}
	f.mapping.read(r, key, n, to)
	refs.resolve(r, to.Addr().Interface().(*plan.Operation))
}

// isQuery reports whether an operation can be written as a query.
func isQuery(op *plan.Operation) bool {
	if len(op.Steps) != 1 || op.Transaction {
		return false
	}
	s := &op.Steps[0]
	return s.Name == "" && s.Think == (plan.Think{}) && (len(s.Request.Capture) == 0 || s.Check != "")
}

// write returns the queries that the plan begins with, or the operations after them.
func (f operationForm) write(from reflect.Value) *yaml.Node {
	all := from.Interface().([]plan.Operation)
	queries := 0
	for queries < len(all) && isQuery(&all[queries]) {
		queries++
	}
	mine := all[queries:]
	if f.query {
		mine = all[:queries]
	}
	counts := true
	for i := range all {
		counts = counts && float64(all[i].Count) == all[i].Weight
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range mine {
		op := mine[i]
		weight := op.Weight
		if op.Weight = 0; !counts {
			op.Count = 0
		}
		op.Steps = slices.Clone(op.Steps)
		for k := range op.Steps {
			if s := &op.Steps[k]; len(s.Variants) > 0 {
				s.Request = protocol.Request{Verb: math.MaxUint8} // no key: it is written as the first variant
			}
		}
		n := f.of.write(valueOf(&op))
		if counts && op.Count == 0 {
			n.Content = append(n.Content, text("count"), number(0))
		} else if !counts {
			n.Content = append(n.Content, text("weight"), float(weight))
		}
		f.addParams(n, &mine[i])
		out.Content = append(out.Content, n)
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

// addParams adds the parameters to the statements. They may refer to parameters of other statements.
func (f operationForm) addParams(n *yaml.Node, op *plan.Operation) {
	add := func(to *yaml.Node, step int) {
		if params := f.params.paramNodes(op, step); params != nil {
			to.Content = append(to.Content, text("params"), params)
		}
	}
	if f.query {
		add(n, 0)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "statements" {
			for k, s := range n.Content[i+1].Content {
				add(s, k)
			}
		}
	}
}

func (f operationForm) schema(d *definitions) schema { return list{of: f.of}.schema(d) }

// paramList is the form of a statement's parameters. They are written by operationForm.
type paramList struct{ list }

func (paramList) write(reflect.Value) *yaml.Node { return nil }

// stepFields returns the keys that say what a statement sends.
func stepFields(params *paramForm) []field {
	variant := newMapping("variant", "a variant", requestFields()...)
	variant.after = func(r *reader, o *object, to any) { checkRequest(r, o, to.(*protocol.Request), "a variant") }
	variant.rules = requestRules(false)
	return append(under("Request", requestFields()...),
		field{"variants", "Variants", list{of: variant, full: true}, "requests of which one is sent, instead of one request",
			false},
		field{"pick", "Pick", custom[plan.Pick]{pickIn, pickNode, anyOf(pickWords(), whole{1, 1 << 30})},
			"how a variant is picked: turn, field, other field, or the number of walkers that go through them", false},
		field{"check", "Check", choice{"fields", "some", "document"},
			"compare what is captured with the keyspace's record whose key is the first parameter", false},
		field{"wrong", "Wrong", wrongForm(), "a request that must be refused, sent instead for a share of the operations",
			false},
		field{"params", "Params", paramList{list{of: params}}, "one for each $n, in order", false},
		field{"verify", "Verify", verifyForm(params.refs), "how what was written is read back after the load", false},
	)
}

// wrongForm returns the form of a request that must be refused.
func wrongForm() form {
	m := newMapping("wrong", "wrong", append([]field{
		{"share", "Share", decimal{bounded: true, above: true, hi: 1}, "of the operations, up to 1", true},
		{"expect", "Expect", words{name: true}, "code of the error, a class of failures, or any", true},
	}, under("Request", requestFields()...)...)...)
	m.after = func(r *reader, o *object, to any) { checkRequest(r, o, &to.(*plan.Wrong).Request, "wrong") }
	m.rules = requestRules(false)
	return custom[plan.Wrong]{
		func(r *reader, key string, n *yaml.Node, to *plan.Wrong) { m.read(r, key, n, valueOf(to)) },
		func(w *plan.Wrong) *yaml.Node {
			if w.Share == 0 {
				return nil
			}
			return m.write(valueOf(w))
		}, m.schema,
	}
}

func pickWords() choice { return choice{plan.PickTurn, plan.PickField, plan.PickOtherField} }

func pickIn(r *reader, key string, n *yaml.Node, p *plan.Pick) {
	if tagIs(n, "!!int") {
		p.By, p.Walkers = plan.PickWalk, int(r.integerOf(n, key, 1, 1<<30))
		return
	}
	pickWords().read(r, key, n, valueOf(&p.By))
}

func pickNode(p *plan.Pick) *yaml.Node {
	if p.By == plan.PickWalk {
		return number(p.Walkers)
	}
	return pickWords().write(reflect.ValueOf(p.By))
}

// checkStep reports a statement without a request. With variants, it sets the step's request to the first one.
func checkStep(r *reader, o *object, s *plan.Step, what string) {
	if !o.has("variants") {
		checkRequest(r, o, &s.Request, what)
		return
	}
	o.refuse("put it into the variants", "next to variants", append(verbKeys(), "fields", "rows", "simple", "expect_error",
		"capture")...)
	if len(s.Variants) > 0 {
		s.Request = s.Variants[0]
	}
}

func operationForms(s *state) (queries, transactions operationForm) {
	params := newParamForm(&s.refs)
	think := thinkForm()
	query := newMapping("query", "a query", append(append([]field{
		{"name", "Name", words{name: true}, "name in reports and thresholds; made from the request unless given", false},
		{"inserts", "Inserts", flag{}, "parts of records are of new ones; false", false},
		routeField(),
	}, append(shareFields(), field{"think", "Think", think, "pause of the session afterwards, in closed loads",
		false})...),
		under("Steps.0", stepFields(params)...)...)...)
	query.after = func(r *reader, o *object, to any) {
		op := to.(*plan.Operation)
		if len(op.Steps) == 0 {
			op.Steps = make([]plan.Step, 1)
		}
		step := &op.Steps[0]
		step.At, step.Where = op.At, op.Where
		checkStep(r, o, step, "a query")
		if n := o.get("capture"); n != nil && step.Check == "" {
			r.problemAt(n, "make it a transaction, or add check", "capture has no meaning in a query")
		}
		s.share(r, o, op)
	}
	query.rules = append(append(requestRules(true), exclude("weight", "rate", "count")...), needs("pick", "variants"))
	statement := newMapping("statement", "a statement", append([]field{
		{"name", "Name", words{name: true}, "for from of later statements; no number, no dot", false},
		{"think", "Think", think, "pause of the session before the next statement", false},
	}, stepFields(params)...)...)
	statement.after = func(r *reader, o *object, to any) {
		step := to.(*plan.Step)
		s.refs.nameStep(r, o, step.Name)
		checkStep(r, o, step, "a statement")
	}
	statement.rules = append(requestRules(true), needs("pick", "variants"))
	transaction := newMapping("transaction", "a transaction", append([]field{
		{"name", "Name", words{name: true}, "name in reports and thresholds; made from the request unless given", false},
		{"inserts", "Inserts", flag{}, "parts of records are of new ones; false", false},
		routeField(),
	}, append(shareFields(),
		field{"isolation", "Isolation", words{lower: true}, "isolation level; the server's", false},
		field{"atomic", "Transaction", flag{always: true}, "between BEGIN and COMMIT; true if all statements are sql", false},
		field{"think", "Think", think, "pause of the session afterwards", false},
		field{"statements", "Steps", list{of: statementForm{statement, &s.refs}}, "in order", true})...)...)
	transaction.after = func(r *reader, o *object, to any) {
		op := to.(*plan.Operation)
		if !o.has("atomic") {
			op.Transaction = len(op.Steps) > 0
			for i := range op.Steps {
				op.Transaction = op.Transaction && op.Steps[i].Request.Verb == protocol.SQL
			}
		}
		s.share(r, o, op)
	}
	transaction.rules = exclude("weight", "rate", "count")
	return operationForm{s, query, params, true}, operationForm{s, transaction, params, false}
}

// statementForm starts a statement's references before it reads the statement.
type statementForm struct {
	*mapping
	refs *references
}

func (f statementForm) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	f.refs.begin()
	f.mapping.read(r, key, n, to)
}

// mix sets the plan's Mix. All operations must use the same one of count, weight and rate.
func (s *state) mix(r *reader, o *object, p *plan.Plan) {
	var counts, rates int
	for _, one := range s.shares {
		kinds := 0
		for _, on := range []bool{one.count, one.weight, one.rate} {
			if on {
				kinds++
			}
		}
		if one.count {
			counts++
		}
		if one.rate {
			rates++
		}
		if kinds > 1 {
			r.problem(one.at, "keep one", "count, weight and rate exclude each other")
		}
	}
	for i, one := range s.shares {
		switch {
		case counts > 0 && !one.count:
			r.problem(one.at, "give every operation a count, or none", "this operation has no count and others have")
		case rates > 0 && !one.rate && counts == 0:
			r.problem(one.at, "give every operation a rate, or none", "this operation has no rate and others have")
		case !one.count && !one.weight && !one.rate:
			p.Operations[i].Weight = 1
		}
	}
	s.rated = rates > 0
	if counts > 0 && !o.has("load") {
		p.Mix = plan.ByCount
	}
	word := ""
	if n := o.get("mix"); n != nil {
		mixWords().read(r, "mix", n, valueOf(&word))
		if word == "count" && counts == 0 {
			r.problemAt(n, "give the queries counts or remove mix", "mix: count without counts")
		}
	}
	switch word {
	case "count":
		p.Mix = plan.ByCount
	case "weight":
		p.Mix = plan.ByWeight
	case "turn":
		p.Mix = plan.ByTurn
	}
	if p.Mix != plan.ByTurn {
		o.refuse("remove it or use mix: turn", "here", "turns")
	}
}

func mixWords() choice { return choice{"count", "weight", "turn"} }
