package jmeter

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
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
	call     string // how a call by JDBC's escape syntax begins
	verbatim bool   // statements may be sent whose text is known only then
}

// jdbcRequest is a JDBC Request.
type jdbcRequest struct {
	element *Element
	source  *dataSource
	kind    string
	query   string
	changes *text // the statement, if its text changes
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
			r.changes = &query
		}
	}
	r.query = trimmed(query.raw)
	switch r.kind {
	case "select statement", "update statement", "":
	case "prepared select statement", "prepared update statement", "callable statement":
		c.parameters(e, r)
	case "commit", "rollback":
		r.query, r.changes = r.kind, nil
	default:
		c.fault(e, "the query type %q isn't available", e.text("queryType"))
	}
	if r.changes != nil && (!r.plain() || !r.source.verbatim) {
		c.fault(e, "the statement has variables that change; make it a prepared statement with parameters")
	}
	c.unavailable(e)
	if c.faultsOf(e) {
		return nil
	}
	return r
}

// trimmed is a statement without its end.
func trimmed(query string) string { return strings.TrimSuffix(strings.TrimSpace(query), ";") }

// plain reports whether the statement is sent as text, as java.sql.Statement does.
func (r *jdbcRequest) plain() bool {
	return r.kind == "" || r.kind == "select statement" || r.kind == "update statement"
}

// unavailable reports fields of a JDBC Request that can't be carried out.
func (c *compiler) unavailable(e *Element) {
	if e.text("resultVariable") != "" {
		c.fault(e, "the result variable has rows as Java's objects, which isn't available; give variable names, "+
			"which have the first row")
	}
	if t := c.early(e, "queryTimeout"); t != "" && t != "0" {
		c.note("%s: the query timeout", e)
	}
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
	if r.kind == "callable statement" {
		c.callable(e, r, types)
	}
	query, n := numbered(r.query)
	if r.query = query; n != len(values) {
		c.fault(e, "the statement has %d parameters and %d values", n, len(values))
	}
}

// callable translates the escape syntax of JDBC (java.sql.CallableStatement) as the server's driver does.
func (c *compiler) callable(e *Element, r *jdbcRequest, types []string) {
	outs := slices.ContainsFunc(types, func(kind string) bool {
		kind = strings.ToUpper(strings.TrimSpace(kind))
		return strings.HasPrefix(kind, "OUT ") || strings.HasPrefix(kind, "INOUT ")
	})
	inner, escaped := strings.CutPrefix(r.query, "{")
	inner = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	switch word, rest, _ := strings.Cut(inner, " "); {
	case outs || strings.HasPrefix(inner, "?"):
		c.fault(e, "parameters that the database sets aren't available; select what the procedure returns")
	case escaped && strings.EqualFold(word, "call"):
		r.query = r.source.call + rest
	case escaped:
		c.fault(e, "%q isn't a call; write {call NAME(?, ?)}", cut(r.query))
	}
	if r.names.raw != "" && !strings.HasPrefix(r.query, "select") {
		c.fault(e, "a call has no variable names here; make it a select, if the database allows that")
	}
}

// numbered replaces question marks by numbered parameters, except in texts, quoted names and comments.
func numbered(query string) (out string, params int) {
	var b strings.Builder
	for _, t := range sqltext.Split(query) {
		if t.Kind == sqltext.Mark {
			params++
			t.Text = "$" + strconv.Itoa(params)
		}
		b.WriteString(t.Text)
	}
	return b.String(), params
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
	if e.has("autocommit") && c.early(e, "autocommit") == "false" {
		c.fault(e, "without auto commit, each statement begins a transaction, which isn't available; set it to true")
	}
	if v := c.early(e, "transactionIsolation"); v != "" && v != "DEFAULT" {
		c.fault(e, "the transaction isolation %s isn't set; make it the default of the database's user", v)
	}
	if c.early(e, "initQuery") != "" {
		c.fault(e, "the init statements aren't sent; make what they set the default of the database's user")
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
		d.call, d.verbatim = "select * from ", true
	case "mysql", "mariadb":
		d.protocol, port = "mysql", "3306"
		d.call = "call "
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
		// What a thread group creates may not be there when the sessions connect.
		r := protocol.Request{Verb: protocol.SQL, Text: s.jdbc.query, Params: s.jdbc.kinds, Simple: s.jdbc.plain(),
			ExpectError: true}
		switch s.jdbc.kind {
		case "commit":
			r = protocol.Request{Verb: protocol.Commit}
		case "rollback":
			r = protocol.Request{Verb: protocol.Rollback}
		}
		if s.jdbc.changes != nil {
			r.Params, r.Simple, r.ExpectError = []gen.Kind{gen.String}, false, false
			r.Verbatim, r.CaptureAll = true, protocol.FirstRow
		}
		for k, name := range s.jdbc.columns() {
			if name != "" && s.jdbc.changes == nil {
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
		args = make([]gen.Value, max(len(s.jdbc.params), 1))
		t.own[s] = args
	}
	if x := s.jdbc.changes; x != nil {
		set(&args[0], trimmed(x.eval(t)))
		r.requestBody = string(args[0].B)
		return script.Step{Move: script.Send, Request: s.request, Args: args, Last: true}
	}
	args = args[:len(s.jdbc.params)]
	for i := range args {
		if err := argument(&args[i], s.jdbc.params[i].eval(t), s.jdbc.kinds[i]); err != "" {
			r.end, r.code, r.message = r.start, "000", err
			t.finish(r)
			return t.ends(r)
		}
	}
	return script.Step{Move: script.Send, Request: s.request, Args: args, Last: true}
}

// argument sets the value of a parameter.
func argument(v *gen.Value, s string, kind gen.Kind) string {
	if s == "]NULL[" { // as JMeter's users write it
		v.SetNull()
		return ""
	}
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
		r.body, r.unpacked = []byte(s.jdbc.told(reply)), true
		t.keep(s.jdbc, reply)
	} else {
		r.code, r.message = sqlCode(&reply.Failure), reply.Text
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

// sqlCode is a failure's code as JMeter has it: the SQLSTATE and the server's own number, 0 without one.
func sqlCode(f *protocol.Failure) string {
	if f.State != "" {
		return f.State + " " + f.Code
	}
	return f.Code + " 0"
}

// told is the text of an answer without rows.
func (r *jdbcRequest) told(reply *protocol.Reply) string {
	switch r.kind {
	case "commit":
		return "Commit"
	case "rollback":
		return "Rollback"
	}
	return strconv.FormatInt(reply.Affected, 10) + " updates\n"
}

// keep sets the variables that an answer gives values to.
func (t *thread) keep(r *jdbcRequest, reply *protocol.Reply) {
	k := 0
	for column, name := range r.columns() {
		if r.changes != nil {
			k = column
		}
		if name == "" {
			continue
		}
		t.vars[name+"_#"] = strconv.FormatInt(reply.Rows, 10)
		if k >= len(reply.Captured) || reply.Captured[k].Kind == gen.Null {
			delete(t.vars, name+"_1")
		} else {
			t.vars[name+"_1"] = shown(&reply.Captured[k])
		}
		k++
	}
}

// shown is a value of an answer as text, numbers with fractions as Java writes them.
func shown(v *gen.Value) string {
	if v.Kind == gen.Float {
		return show(v.F)
	}
	return string(v.AppendText(nil))
}

// returnsRows reports whether the answer of a statement is the rows of a table as text.
func (r *jdbcRequest) returnsRows() bool {
	return r.kind == "" || strings.Contains(r.kind, "select") || r.kind == "callable statement"
}

// readsBody reports whether an extractor or assertion reads the text of an answer.
func readsBody(e *Element) bool {
	switch e.Class {
	case "RegexExtractor":
		return isBody(e.text("RegexExtractor.useHeaders"))
	case "BoundaryExtractor":
		return isBody(e.text("BoundaryExtractor.useHeaders"))
	case "ResponseAssertion":
		return strings.Contains(e.text("Assertion.test_field"), "response_data")
	case "HtmlExtractor", "XPathExtractor", "XPath2Extractor", "JSONPostProcessor", "JMESPathExtractor", "SizeAssertion",
		"JSONPathAssertion", "JMESPathAssertion", "XPathAssertion", "XPath2Assertion", "XMLAssertion", "MD5HexAssertion":
		return true
	}
	return false
}

// isBody reports whether a field of JMeter's extractors is the answer's body, in one of its forms.
func isBody(field string) bool {
	return field == "" || field == "false" || field == "unescaped" || field == "as_document"
}
