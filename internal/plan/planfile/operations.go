package planfile

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
	"brunt/internal/protocol"
)

// share records which keys set how often an operation happens.
type share struct {
	at                  plan.Position // position of that key, or of the operation
	count, weight, rate bool
}

// shareFields returns the keys that set how often an operation happens.
func shareFields() []form.Field {
	return []form.Field{
		form.Key("count", "Count", form.Unsigned{}, "how many in the queue"),
		form.Key("weight", "Weight", form.Decimal{Bounded: true}, "how often compared with the others; 1"),
		form.Key("rate", "", form.Custom[plan.Operation]{In: rateIn, As: form.Decimal{Bounded: true}.Schema},
			"operations a second"),
	}
}

func rateIn(r *form.Reader, key string, n *yaml.Node, op *plan.Operation) {
	var rate float64
	form.Decimal{Bounded: true}.Read(r, key, n, form.ValueOf(&rate))
	op.Weight += rate
}

// share adds an operation's share.
func (s *state) share(r *form.Reader, o *form.Object, op *plan.Operation) {
	one := share{at: op.At, count: o.Has("count"), weight: o.Has("weight"), rate: o.Has("rate")}
	for _, key := range []string{"count", "weight", "rate"} {
		if n := o.Get(key); n != nil {
			one.at = r.At(n)
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
	of     *form.Mapping
	params *paramForm
	query  bool
}

func (f operationForm) Read(r *form.Reader, key string, n *yaml.Node, to reflect.Value) {
	form.List{Of: operationItem{f.of, f.state, f.query}, Sound: true, Cross: true}.Read(r, key, n, to)
}

// operationItem is the form of one operation.
type operationItem struct {
	*form.Mapping
	state *state
	query bool
}

func (f operationItem) Read(r *form.Reader, key string, n *yaml.Node, to reflect.Value) {
	refs := &f.state.refs
	*refs = references{step: -1}
	if f.query {
		refs.begin()
	}
	f.Mapping.Read(r, key, n, to)
	refs.resolve(r, to.Addr().Interface().(*plan.Operation))
}

// isQuery reports whether an operation can be written as a query.
func isQuery(op *plan.Operation) bool {
	if len(op.Steps) != 1 || op.Transaction || op.Script != "" {
		return false
	}
	s := &op.Steps[0]
	return s.Name == "" && s.Think == (plan.Think{}) && (len(s.Request.Capture) == 0 || s.Check != "")
}

// write returns the queries that the plan begins with, or the operations after them.
func (f operationForm) Write(from reflect.Value) *yaml.Node {
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
		if op.Script != "" {
			op.Steps = nil
		}
		op.Steps = slices.Clone(op.Steps)
		for k := range op.Steps {
			if s := &op.Steps[k]; len(s.Variants) > 0 {
				s.Request = protocol.Request{Verb: math.MaxUint8} // no key: it is written as the first variant
			}
		}
		n := f.of.Write(form.ValueOf(&op))
		if op.Script != "" {
			n.Content = without(n.Content, "atomic")
		}
		if counts && op.Count == 0 {
			n.Content = append(n.Content, form.Text("count"), form.Number(0))
		} else if !counts {
			n.Content = append(n.Content, form.Text("weight"), form.Float(weight))
		}
		f.addParams(n, &mine[i])
		out.Content = append(out.Content, n)
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

// without removes a key from the content of a mapping.
func without(content []*yaml.Node, key string) []*yaml.Node {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == key {
			return slices.Delete(content, i, i+2)
		}
	}
	return content
}

// addParams adds the parameters to the statements. They may refer to parameters of other statements.
func (f operationForm) addParams(n *yaml.Node, op *plan.Operation) {
	add := func(to *yaml.Node, step int) {
		if params := f.params.paramNodes(op, step); params != nil {
			to.Content = append(to.Content, form.Text("params"), params)
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

func (f operationForm) Schema(d *form.Definitions) form.Schema { return form.List{Of: f.of}.Schema(d) }

// paramList is the form of a statement's parameters. They are written by operationForm.
type paramList struct{ form.List }

func (paramList) Write(reflect.Value) *yaml.Node { return nil }

// stepFields returns the keys that say what a statement sends.
func stepFields(params *paramForm) []form.Field {
	return append(under("Request", requestFields()...),
		form.Key("variants", "Variants", form.List{Of: requestMapping("variant", "a variant"), Full: true},
			"requests of which one is sent, instead of one request"),
		form.Key("pick", "Pick",
			form.Custom[plan.Pick]{In: pickIn, Out: pickNode, As: form.AnyOf(pickWords(), form.Whole(1, 1<<30))},
			"how a variant is picked: turn, field, other field, or the number of walkers that go through them"),
		form.Key("check", "Check", form.Choice{"fields", "some", "document"},
			"compare what is captured with the keyspace's record whose key is the first parameter"),
		form.Key("wrong", "Wrong", wrongForm(), "a request that must be refused, sent instead for a share of the operations"),
		form.Key("params", "Params", paramList{form.List{Of: params}}, "one for each $n, in order"),
		form.Key("verify", "Verify", verifyForm(params.refs), "how what was written is read back after the load"),
	)
}

// wrongForm returns the form of a request that must be refused.
func wrongForm() form.Form {
	m := form.NewMapping("wrong", "wrong", append([]form.Field{
		form.Required("share", "Share", form.Decimal{Bounded: true, Above: true, Hi: 1}, "of the operations, up to 1"),
		form.Required("expect", "Expect", form.Name(), "code of the error, a class of failures, or any"),
	}, under("Request", requestFields()...)...)...)
	m.After = func(r *form.Reader, o *form.Object, to any) { checkRequest(r, o, &to.(*plan.Wrong).Request, "wrong") }
	m.Rules = requestRules(false)
	return form.Custom[plan.Wrong]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *plan.Wrong) { m.Read(r, key, n, form.ValueOf(to)) },
		Out: func(w *plan.Wrong) *yaml.Node {
			if w.Share == 0 {
				return nil
			}
			return m.Write(form.ValueOf(w))
		}, As: m.Schema,
	}
}

func pickWords() form.Choice { return form.Choice{plan.PickTurn, plan.PickField, plan.PickOtherField} }

func pickIn(r *form.Reader, key string, n *yaml.Node, p *plan.Pick) {
	if form.TagIs(n, "!!int") {
		p.By, p.Walkers = plan.PickWalk, int(r.IntegerOf(n, key, 1, 1<<30))
		return
	}
	pickWords().Read(r, key, n, form.ValueOf(&p.By))
}

func pickNode(p *plan.Pick) *yaml.Node {
	if p.By == plan.PickWalk {
		return form.Number(p.Walkers)
	}
	return pickWords().Write(reflect.ValueOf(p.By))
}

// checkStep reports a statement without a request. With variants, it sets the step's request to the first one.
func checkStep(r *form.Reader, o *form.Object, s *plan.Step, what string) {
	if !o.Has("variants") {
		checkRequest(r, o, &s.Request, what)
		return
	}
	o.Refuse("put it into the variants", "next to variants", append(verbKeys(), "fields", "rows", "simple", "expect_error",
		"creates", "capture")...)
	if len(s.Variants) > 0 {
		s.Request = s.Variants[0]
	}
}

func operationForms(s *state) (queries, transactions operationForm) {
	params := newParamForm(&s.refs)
	think := thinkForm()
	query := form.NewMapping("query", "a query", append(append([]form.Field{
		form.Key("name", "Name", form.Name(), "name in reports and thresholds; made from the request unless given"),
		form.Key("inserts", "Inserts", form.Flag{}, "parts of records are of new ones; false"),
		routeField(),
	}, append(shareFields(), form.Key("think", "Think", think,
		"pause of the session afterwards, in closed loads"))...),
		under("Steps.0", stepFields(params)...)...)...)
	query.After = func(r *form.Reader, o *form.Object, to any) {
		op := to.(*plan.Operation)
		if len(op.Steps) == 0 {
			op.Steps = make([]plan.Step, 1)
		}
		step := &op.Steps[0]
		step.At, step.Where = op.At, op.Where
		checkStep(r, o, step, "a query")
		if n := o.Get("capture"); n != nil && step.Check == "" {
			r.ProblemAt(n, "make it a transaction, or add check", "capture has no meaning in a query")
		}
		s.share(r, o, op)
	}
	query.Rules = append(append(requestRules(true), form.Exclude("weight", "rate", "count")...), needs("pick", "variants"))
	statement := form.NewMapping("statement", "a statement", append([]form.Field{
		form.Key("name", "Name", form.Name(), "for from of later statements; no number, no dot"),
		form.Key("think", "Think", think, "pause of the session before the next statement"),
	}, stepFields(params)...)...)
	statement.After = func(r *form.Reader, o *form.Object, to any) {
		step := to.(*plan.Step)
		s.refs.nameStep(r, o, step.Name)
		checkStep(r, o, step, "a statement")
	}
	statement.Rules = append(requestRules(true), needs("pick", "variants"))
	transaction := form.NewMapping("transaction", "a transaction", append([]form.Field{
		form.Key("name", "Name", form.Name(), "name in reports and thresholds; made from the request unless given"),
		form.Key("inserts", "Inserts", form.Flag{}, "parts of records are of new ones; false"),
		routeField(),
	}, append(shareFields(),
		form.Key("isolation", "Isolation", form.Words{Lower: true}, "isolation level; the server's"),
		form.Key("atomic", "Transaction", form.Flag{Always: true},
			"between BEGIN and COMMIT; true if all statements are sql"),
		form.Key("think", "Think", think, "pause of the session afterwards"),
		form.Key("statements", "Steps", form.List{Of: statementForm{statement, &s.refs}}, "in order"),
		form.Key("script", "Script", form.Custom[string]{In: scriptIn, Out: scriptNode, As: form.Words{}.Schema},
			"instead of statements: a program in the language of scripts"))...)...)
	transaction.After = func(r *form.Reader, o *form.Object, to any) {
		op := to.(*plan.Operation)
		switch {
		case o.Has("script"):
			o.Refuse("write it into the script", "next to script", "statements", "isolation", "inserts")
		case !o.Has("statements"):
			o.Require("a transaction", "statements")
		}
		if !o.Has("atomic") {
			op.Transaction = len(op.Steps) > 0
			for i := range op.Steps {
				op.Transaction = op.Transaction && op.Steps[i].Request.Verb == protocol.SQL
			}
		}
		s.share(r, o, op)
	}
	transaction.Rules = append(form.Exclude("weight", "rate", "count"),
		form.Exactly([]string{"statements", "script"}))
	return operationForm{s, query, params, true}, operationForm{s, transaction, params, false}
}

func scriptIn(r *form.Reader, key string, n *yaml.Node, text *string) {
	if *text = r.TextOf(n, key); *text == "" {
		r.ProblemAt(n, "write a program in the language of scripts", "the script is empty")
	}
}

func scriptNode(text *string) *yaml.Node {
	if *text == "" {
		return nil
	}
	n := form.Text(*text)
	if strings.Contains(*text, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// scriptsForm returns the form of Plan.Scripts.
func scriptsForm() form.Form {
	m := form.NewMapping("", "scripts",
		form.Required("language", "Language", form.Name(), "of the operations' scripts"),
		form.Key("options", "Options", form.Custom[map[string]string]{In: optionsIn, Out: optionsNode, As: optionsSchema},
			"the language's own settings"),
		form.Key("scaled_by", "ScaledBy", form.Name(), "the option that takes the factor of the load, if the scripts have rates"),
		form.Key("rate", "RatePerS", form.Positive(), "operations a second at the factor 1"),
	)
	return form.Custom[plan.Scripts]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *plan.Scripts) { m.Read(r, key, n, form.ValueOf(to)) },
		Out: func(s *plan.Scripts) *yaml.Node {
			if s.Language == "" {
				return nil
			}
			return m.Write(form.ValueOf(s))
		}, As: m.Schema,
	}
}

// statementForm starts a statement's references before it reads the statement.
type statementForm struct {
	*form.Mapping
	refs *references
}

func (f statementForm) Read(r *form.Reader, key string, n *yaml.Node, to reflect.Value) {
	f.refs.begin()
	f.Mapping.Read(r, key, n, to)
}

// mix sets the plan's Mix. All operations must use the same one of count, weight and rate.
func (s *state) mix(r *form.Reader, o *form.Object, p *plan.Plan) {
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
			r.Problem(one.at, "keep one", "count, weight and rate exclude each other")
		}
	}
	for i, one := range s.shares {
		switch {
		case counts > 0 && !one.count:
			r.Problem(one.at, "give every operation a count, or none", "this operation has no count and others have")
		case rates > 0 && !one.rate && counts == 0:
			r.Problem(one.at, "give every operation a rate, or none", "this operation has no rate and others have")
		case !one.count && !one.weight && !one.rate:
			p.Operations[i].Weight = 1
		}
	}
	s.rated = rates > 0
	if counts > 0 && !o.Has("load") {
		p.Mix = plan.ByCount
	}
	word := ""
	if n := o.Get("mix"); n != nil {
		mixWords().Read(r, "mix", n, form.ValueOf(&word))
		if word == "count" && counts == 0 {
			r.ProblemAt(n, "give the queries counts or remove mix", "mix: count without counts")
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
		o.Refuse("remove it or use mix: turn", "here", "turns")
	}
}

func mixWords() form.Choice { return form.Choice{"count", "weight", "turn"} }
