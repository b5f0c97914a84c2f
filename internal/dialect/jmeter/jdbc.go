package jmeter

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// dataSource is a JDBC Connection Configuration.
type dataSource struct {
	element  *Element
	protocol string
	address  string
	database string
	user     string
	password string
}

// jdbcRequest is a JDBC Request.
type jdbcRequest struct {
	element *Element
	source  *dataSource
	kind    string
	query   string
	params  []text
	kinds   []gen.Kind
	names   text
}

// jdbc compiles a JDBC Request.
func (c *compiler) jdbc(e *Element) *jdbcRequest {
	r := &jdbcRequest{element: e, kind: strings.ToLower(strings.TrimSpace(e.text("queryType"))), names: c.text(e,
		"variableNames")}
	pool := e.text("dataSource")
	c.inScope(func(x *Element) {
		if x.Class == "JDBCDataSource" && x.text("dataSource") == pool {
			r.source = c.source(x)
		}
	})
	for _, level := range []*Element{c.plan} {
		for _, x := range level.Children {
			if r.source == nil && x.Enabled && x.Class == "JDBCDataSource" && x.text("dataSource") == pool {
				r.source = c.source(x)
			}
		}
	}
	if r.source == nil {
		c.fault(e, "there is no JDBC Connection Configuration with the pool's name %q in its scope", pool)
		return nil
	}
	query := c.text(e, "query")
	if !query.fixed() {
		if v := query.eval(c.dry()); !strings.Contains(v, "${") && c.stable(&query) {
			query = text{raw: v}
		} else {
			c.fault(e, "the statement has variables that change; make it a prepared statement with parameters")
		}
	}
	r.query = strings.TrimSuffix(strings.TrimSpace(query.raw), ";")
	switch r.kind {
	case "select statement", "update statement", "prepared select statement", "prepared update statement", "":
	case "commit", "rollback":
		r.query = r.kind
	default:
		c.fault(e, "the query type %q isn't available", e.text("queryType"))
	}
	if strings.HasPrefix(r.kind, "prepared") {
		c.parameters(e, r)
	}
	if c.faultsOf(e) {
		return nil
	}
	return r
}

func (c *compiler) faultsOf(e *Element) bool {
	return slices.ContainsFunc(c.faults, func(f *Fault) bool { return f.Line == e.Line && f.File == e.File })
}

// parameters reads the values and types of a prepared statement.
func (c *compiler) parameters(e *Element, r *jdbcRequest) {
	kinds := map[string]gen.Kind{"INTEGER": gen.Int, "BIGINT": gen.Int, "SMALLINT": gen.Int, "TINYINT": gen.Int,
		"DOUBLE": gen.Float,
		"FLOAT":  gen.Float, "REAL": gen.Float, "BOOLEAN": gen.Bool, "BIT": gen.Bool}
	types := strings.Split(e.text("queryArgumentsTypes"), ",")
	values := splitArguments(e.text("queryArguments"))
	for i, v := range values {
		x := c.textOf(e, "queryArguments", strings.TrimSpace(v))
		r.params = append(r.params, x)
		kind := gen.String
		if i < len(types) {
			if k, ok := kinds[strings.ToUpper(strings.TrimSpace(types[i]))]; ok {
				kind = k
			}
		}
		r.kinds = append(r.kinds, kind)
	}
	n := 0
	var b strings.Builder
	quote := byte(0)
	for i := range len(r.query) {
		switch ch := r.query[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			}
			b.WriteByte(ch)
		case ch == '\'' || ch == '"':
			quote = ch
			b.WriteByte(ch)
		case ch == '?':
			n++
			b.WriteString("$" + strconv.Itoa(n))
		default:
			b.WriteByte(ch)
		}
	}
	r.query = b.String()
	if n != len(values) {
		c.fault(e, "the statement has %d parameters and %d values", n, len(values))
	}
}

// splitArguments splits values at commas outside of references.
func splitArguments(s string) (out []string) {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// source compiles a JDBC Connection Configuration.
func (c *compiler) source(e *Element) *dataSource {
	if d, ok := c.made[e].(*dataSource); ok {
		return d
	}
	d := &dataSource{element: e, user: c.early(e, "username"), password: c.early(e, "password")}
	c.made[e] = d
	address := c.early(e, "dbUrl")
	rest, ok := strings.CutPrefix(address, "jdbc:")
	u, err := url.Parse(rest)
	if !ok || err != nil {
		c.fault(e, "the database URL isn't one of JDBC")
		return d
	}
	port := ""
	switch u.Scheme {
	case "postgresql":
		d.protocol, port = "pg", "5432"
	case "mysql", "mariadb":
		d.protocol, port = "mysql", "3306"
	default:
		c.fault(e, "JDBC for %q isn't available; PostgreSQL, MySQL and MariaDB are", u.Scheme)
		return d
	}
	d.database = strings.TrimPrefix(u.Path, "/")
	if d.address = u.Host; u.Port() == "" {
		d.address += ":" + port
	}
	if q := u.Query(); d.user == "" {
		d.user, d.password = q.Get("user"), q.Get("password")
	}
	return d
}

// statements returns the statements of an operation.
func (p *Program) statements(operation int) (all []protocol.Request) {
	for i, s := range p.operations[operation].samplers {
		s.request = i
		r := protocol.Request{Verb: protocol.SQL, Text: s.jdbc.query, Params: s.jdbc.kinds}
		switch s.jdbc.kind {
		case "commit":
			r.Verb, r.Text = protocol.Commit, ""
		case "rollback":
			r.Verb, r.Text = protocol.Rollback, ""
		}
		for k, name := range s.jdbc.columns() {
			if name != "" {
				r.Capture = append(r.Capture, protocol.Capture{Column: k, Kind: gen.Null})
			}
		}
		all = append(all, r)
	}
	return all
}

func (r *jdbcRequest) columns() []string {
	if r.names.raw == "" || strings.Contains(r.kind, "update") {
		return nil
	}
	names := strings.Split(r.names.raw, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// sendSQL sends the sampler's statement.
func (t *thread) sendSQL() script.Step {
	s := t.leaf.s
	r := &result{label: t.label, url: "null", kind: "text", start: t.program.now(), requestBody: s.jdbc.query}
	t.total = r
	args, _ := t.own[s].([]gen.Value)
	if args == nil {
		args = make([]gen.Value, len(s.jdbc.params))
		t.own[s] = args
	}
	for i := range args {
		if err := argument(&args[i], s.jdbc.params[i].eval(t), s.jdbc.kinds[i]); err != "" {
			r.end, r.code, r.message = r.start, "null 0", err
			t.finish(r)
			return t.ends(r)
		}
	}
	return script.Step{Move: script.Send, Request: s.request, Args: args, Last: true}
}

// argument sets the value of a parameter.
func argument(v *gen.Value, s string, kind gen.Kind) string {
	switch kind {
	case gen.Int:
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return "java.lang.NumberFormatException: For input string: \"" + s + "\""
		}
		v.SetInt(n)
	case gen.Float:
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return "java.lang.NumberFormatException: For input string: \"" + s + "\""
		}
		v.Kind, v.F = gen.Float, n
	case gen.Bool:
		v.Kind, v.I = gen.Bool, 0
		if strings.EqualFold(s, "true") || s == "1" {
			v.I = 1
		}
	default:
		if s == "]NULL[" {
			v.SetNull()
			return ""
		}
		set(v, s)
	}
	return ""
}

// answeredSQL ends a statement.
func (t *thread) answeredSQL(reply *protocol.Reply) script.Step {
	r, s := t.total, t.leaf.s
	r.end, r.bytes, r.latency = t.program.now(), reply.BytesIn, 0
	r.latency = r.elapsed()
	if reply.Class == protocol.OK {
		r.code, r.message, r.success = "200", "OK", true
		r.body, r.unpacked = []byte(strconv.FormatInt(reply.Affected, 10)+" updates\n"), true
		k := 0
		for _, name := range s.jdbc.columns() {
			if name == "" || k >= len(reply.Captured) {
				continue
			}
			if v := &reply.Captured[k]; v.Kind != gen.Null {
				t.vars[name+"_1"] = shown(v)
			}
			t.vars[name+"_#"] = strconv.FormatInt(reply.Rows, 10)
			k++
		}
	} else {
		r.code, r.message = reply.Code+" 0", reply.Text
	}
	t.finish(r)
	step := script.Step{Failure: reply.Failure}
	if r.success && reply.Class != protocol.OK {
		step.Failure = protocol.Failure{Fatal: reply.Fatal}
	}
	if !r.success && reply.Class == protocol.OK {
		step = t.ends(r)
		step.Failure.Fatal = reply.Fatal
	}
	return step
}

// shown is a value of an answer as text.
func shown(v *gen.Value) string { return string(v.AppendText(nil)) }
