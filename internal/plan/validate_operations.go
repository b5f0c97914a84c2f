package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func (c *checker) operations() {
	seen := map[string]Position{}
	for i := range c.plan.Operations {
		op := &c.plan.Operations[i]
		at := op.Where.At("name", op.At)
		if first, again := seen[op.Name]; again {
			c.add(at, "rename one", "operation %q stands twice%s", op.Name, firstAt(first))
		} else {
			seen[op.Name] = at
		}
		if strings.TrimSpace(op.Name) == "" || strings.ContainsAny(op.Name, "{}\n\r\x00") {
			c.add(at, "use a readable name without braces", "operation name %q", op.Name)
		}
		if len(op.Steps) == 0 && op.Script == "" {
			c.add(op.Where.At("statements", op.At), "add statements", "operation %q does nothing", op.Name)
		}
		c.think(op.Where.At("think", op.At), op.Think)
		if op.Script != "" {
			continue
		}
		c.transaction(op)
		c.steps(op)
	}
	c.scripts()
	c.mix()
}

func (c *checker) transaction(op *Operation) {
	at := op.Where.At("isolation", op.At)
	if op.Isolation != "" && !op.Transaction {
		c.add(at, "remove it or make the operation atomic", "isolation without a transaction")
	}
	c.oneOf(at, "isolation", op.Isolation, "read uncommitted", "read committed", "repeatable read", "serializable",
		"snapshot", "read confirmed", "linearizable", "best effort")
	if !op.Transaction {
		return
	}
	for i := range op.Steps {
		if v := op.Steps[i].Request.Verb; v == protocol.HTTP || v == protocol.Command || v == protocol.GRPC {
			c.add(op.Steps[i].At, "set atomic: false", "an HTTP request, gRPC call or command can't be part of a transaction")
		}
	}
}

// mix checks how operations are chosen.
func (c *checker) mix() {
	if len(c.plan.Operations) == 0 {
		return
	}
	var weights, counts bool
	var total uint64
	for i := range c.plan.Operations {
		op := &c.plan.Operations[i]
		if op.Weight < 0 || !finite(op.Weight) {
			c.add(op.Where.At("weight", op.Where.At("rate", op.At)), "give a number ≥ 0", "operation %q has weight %v", op.Name,
				op.Weight)
		}
		weights, counts = weights || op.Weight > 0, counts || op.Count > 0
		if total+op.Count < total {
			c.add(op.Where.At("count", op.At), "lower it", "the queue is longer than 2^64")
		}
		total += op.Count
	}
	at := c.plan.Operations[0].At
	const furthest = 1 << 62
	switch first := c.plan.Where.At("first", at); {
	case c.plan.First > furthest:
		c.add(first, fmt.Sprintf("give a number up to %d", uint64(furthest)), "first is %d", c.plan.First)
	case c.plan.First > 0 && c.plan.Mix == ByCount:
		c.add(first, "leave it out, or give weights or rates instead of counts",
			"a queue of counts has no part to go on after: first is %d", c.plan.First)
	}
	switch {
	case c.plan.Mix == ByCount && !counts:
		c.add(at, "give an operation a count above 0", "all counts are zero")
	case c.plan.Mix == ByTurn &&
		(len(c.plan.Turns) == 0 ||
			slices.ContainsFunc(c.plan.Turns, func(k int) bool { return k < 0 || k >= len(c.plan.Operations) })):
		c.add(at, "name operations of the plan", "the order of operations names none, or one that isn't there")
	case c.plan.Mix == ByWeight && !weights:
		c.add(at, "give an operation a weight above 0", "all weights are zero")
	}
}

func (c *checker) think(at Position, t Think) {
	c.oneOf(at, "think distribution", t.Distribution, "constant", "uniform", "exponential")
	switch {
	case t.Min < 0 || t.Max < 0:
		c.add(at, "give a time ≥ 0", "think time is negative")
	case t.Distribution == "uniform" && t.Max < t.Min:
		c.add(at, "swap min and max", "think time ends at %v before it begins at %v", t.Max, t.Min)
	}
}

func (c *checker) steps(op *Operation) {
	names := map[string]bool{}
	var specs []*ValueSpec
	for i := range op.Steps {
		s := &op.Steps[i]
		if s.Name != "" && names[s.Name] {
			c.add(s.Where.At("name", s.At), "rename one", "statement %q stands twice in operation %q", s.Name, op.Name)
		}
		names[s.Name] = true
		c.think(s.Where.At("think", s.At), s.Think)
		c.request(s)
		c.variants(s)
		c.wrong(s)
		c.verify(s)
		for k := range s.Params {
			p := &s.Params[k]
			if v := p.Value; v != nil {
				c.values(v, c.uniqueRows(op))
				c.reference(v)
				c.uniqueReference(op, v)
				c.start(s, k)
				specs = append(specs, v)
			}
			if p.earlier() {
				c.earlier(op, i, k)
			}
		}
	}
	c.sameRows(specs)
}

// uniqueReference reports a queue that needs more distinct rows than exist.
func (c *checker) uniqueReference(op *Operation, v *ValueSpec) {
	t := c.byName[v.Table]
	if v.Type == gen.TypeReference && v.Unique && t != nil && t.Rows < c.uniqueRows(op) {
		c.cross(v.Where.At("unique", v.At), "lower count or remove unique",
			"%d unique references need as many rows of table %s, which has %d", op.Count, t.Name, t.Rows)
	}
}

// uniqueRows returns how many distinct values a unique parameter needs; 0 if the load isn't a queue, which has no end.
func (c *checker) uniqueRows(op *Operation) uint64 {
	if c.plan.Mix == ByCount {
		return op.Count
	}
	return 0
}

// earlier checks a parameter that takes its value from an earlier step.
func (c *checker) earlier(op *Operation, step, k int) {
	p := &op.Steps[step].Params[k]
	switch {
	case p.Step < 0 || p.Step > step || p.Step == step && (!p.Argument || p.Index >= k):
		c.add(p.At, "reorder the statements", "parameter %d needs a value of a later statement", k+1)
	case p.Argument && (p.Index < 0 || p.Index >= len(op.Steps[p.Step].Params)),
		!p.Argument && (p.Index < 0 || p.Index >= len(op.Steps[p.Step].Request.Capture)):
		c.add(p.At, "name one that it has", "parameter %d needs a value that statement %d doesn't have", k+1, p.Step+1)
	}
}

func (c *checker) request(s *Step) {
	r := &s.Request
	at := func(key string) Position { return s.Where.At(key, s.At) }
	seen := map[protocol.Capture]bool{}
	for _, capture := range r.Capture {
		if capture.Column < 0 || capture.Column > 65_535 {
			c.add(at("capture"), "count columns from 0", "capture of column %d", capture.Column)
		}
		capture.Kind = 0
		if seen[capture] {
			c.add(at("capture"), "remove one", "capture %s stands twice", captureName(capture))
		}
		seen[capture] = true
	}
	if r.Verb == protocol.Batch && r.Rows < 1 {
		c.add(s.At, "give rows: a number ≥ 1", "a batch of %d rows", r.Rows)
	}
	if r.Rows > 1 && r.Verb != protocol.Batch && r.Verb != protocol.SQL {
		c.add(at("rows"), "remove it, or use sql or batch", "rows has no meaning here")
	}
	switch r.Verb {
	case protocol.SQL:
		c.sqlParams(s, at("sql"))
	case protocol.Command:
		if len(r.Words) == 0 || r.Words[0] == "" {
			c.add(at("command"), "write for example [GET, \"key:$1\"]", "a command without words")
		}
		c.template(s, at("command"), r.Words...)
	case protocol.HTTP:
		c.web(s, at("http"))
	case protocol.GRPC:
		c.rpc(s, at("grpc"))
	case protocol.Begin, protocol.Commit, protocol.Rollback:
	default:
		if strings.TrimSpace(r.Text) == "" {
			c.add(s.At, "name what is meant", "a request without a name")
		}
	}
}

func captureName(c protocol.Capture) string {
	if c.Name != "" {
		return c.Name
	}
	return strconv.Itoa(c.Column)
}

func (c *checker) rpc(s *Step, at Position) {
	r := s.Request.RPC
	if r == nil {
		c.add(at, "give the method", "a gRPC call without a method")
		return
	}
	service, method, ok := strings.Cut(strings.TrimPrefix(r.Method, "/"), "/")
	if !ok || service == "" || method == "" || strings.ContainsAny(r.Method, " \r\n\t") || strings.Contains(method, "/") {
		c.add(at, "write package.Service/Method", "gRPC method %q", r.Method)
	}
	for _, m := range r.Metadata {
		if m[0] == "" || strings.Trim(m[0], "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" ||
			strings.HasPrefix(m[0], "grpc-") || strings.ContainsAny(m[1], "\r\n") {
			c.add(at, "use lower-case letters, digits, -, _ and ., and no name that begins with grpc-", "metadata %q", m[0])
		}
	}
	c.template(s, at, r.Texts()...)
}

// isMethod reports whether a text may be a method of HTTP.
func isMethod(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func (c *checker) web(s *Step, at Position) {
	w := s.Request.Web
	if w == nil {
		c.add(at, "give method and path", "an HTTP request without a path")
		return
	}
	if !strings.HasPrefix(w.Path, "/") || strings.ContainsAny(w.Path, " \r\n\t") {
		fix := "begin it with / and escape spaces as %20"
		if method, path, both := strings.Cut(w.Path, " "); both && isMethod(method) {
			fix = fmt.Sprintf("write {method: %s, path: %s}", method, path)
		}
		c.add(at, fix, "HTTP path %q", w.Path)
	}
	if !isMethod(w.Method) {
		c.add(at, "use GET, POST, PUT, …", "HTTP method %q", w.Method)
	}
	texts := []string{w.Path, string(w.Body)}
	for _, h := range w.Header {
		if h[0] == "" || strings.ContainsAny(h[0], " :\r\n\t") || strings.ContainsAny(h[1], "\r\n") {
			c.add(at, "write Name: value on one line", "HTTP header %q", h[0])
		}
		texts = append(texts, h[1])
	}
	c.template(s, at, texts...)
}

// sqlParams checks that a statement uses each of its parameters and no others.
func (c *checker) sqlParams(s *Step, at Position) {
	if strings.TrimSpace(s.Request.Text) == "" {
		c.add(at, "write a statement", "an empty statement")
		return
	}
	p := SQLPlaceholders(s.Request.Text)
	if have := len(s.Params) * max(s.Request.Rows, 1); p.Max == 0 && have > 0 && p.Questions == have {
		return
	}
	c.paramCount(s, at, &p)
}

func (c *checker) template(s *Step, at Position, texts ...string) {
	var all Placeholders
	for _, t := range texts {
		p, other := TemplatePlaceholders(t)
		if other > 0 {
			c.add(at, "write $$ for a dollar sign", "a dollar sign without a number in %q", shorten(t))
		}
		for n := range p.Used {
			all.use(n)
		}
	}
	c.paramCount(s, at, &all)
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

func (c *checker) paramCount(s *Step, at Position, p *Placeholders) {
	have := len(s.Params) * max(s.Request.Rows, 1)
	if p.Max > have {
		c.add(at, fmt.Sprintf("add %d to params", p.Max-have), "$%d has no parameter: params has %d", p.Max, have)
	}
	told := 0 // each parameter is reported once, not once per row
	for n := 1; n <= have && told < len(s.Params); n++ {
		if !p.Used[n] {
			told++
			c.add(s.Params[(n-1)%len(s.Params)].At, fmt.Sprintf("use $%d or remove the parameter", n),
				"parameter %d isn't used", n)
		}
	}
}
