package jmeter

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// dataSource is a JDBC Connection Configuration.
type dataSource struct {
	element  *Element
	protocol string
	postgres bool // it is PostgreSQL; otherwise MariaDB or MySQL
	address  string
	database string
	user     string
	password string
	manual   bool     // auto commit is off
	isolated bool     // an isolation level is set
	first    []string // what a session sends first
	limits   bool     // the server limits the time of a statement by a prefix of its text (MariaDB)
}

// The kinds of JDBC Requests, in lower case.
const (
	selectKind         = "select statement"
	updateKind         = "update statement"
	preparedSelectKind = "prepared select statement"
	preparedUpdateKind = "prepared update statement"
	callableKind       = "callable statement"
	commitKind         = "commit"
	rollbackKind       = "rollback"
	manualKind         = "autocommit(false)"
	automaticKind      = "autocommit(true)"
)

// jdbcRequest is a JDBC Request.
type jdbcRequest struct {
	element  *Element
	source   *dataSource
	kind     string
	said     string // the kind, as the test plan writes it
	raw      string // the text of the test plan
	query    string // as it is sent, with numbered parameters
	marks    int    // its question marks
	changes  *text  // the statement, if its text changes
	args     text
	types    string // of args, as the test plan writes them
	params   []jdbcParameter
	names    text
	variable text // gets the rows as objects
	mostRows text
	timeout  int // in seconds; 0: none
}

// jdbc compiles a JDBC Request.
func (c *compiler) jdbc(e *Element) *jdbcRequest {
	r := &jdbcRequest{element: e, said: strings.TrimSpace(e.text("queryType")), types: e.text("queryArgumentsTypes"),
		names: c.text(e, "variableNames"), args: c.text(e, "queryArguments"),
		variable: c.text(e, "resultVariable"), mostRows: c.text(e, "resultSetMaxRows")}
	if r.kind = strings.ToLower(r.said); r.kind == "" {
		r.kind, r.said = selectKind, "Select Statement"
	}
	if r.source = c.sourceOf(e); r.source == nil {
		c.fault(e, "there is no JDBC Connection Configuration with the pool's name %q in its scope", e.text("dataSource"))
		return nil
	}
	r.timeout, _ = strconv.Atoi(c.early(e, "queryTimeout"))
	if r.timeout > 0 && (!r.source.postgres && !r.source.limits || r.source.limits && r.kind == callableKind) {
		c.note("%s: the query timeout", e)
	}
	query := c.text(e, "query")
	if !query.fixed() {
		if v := query.eval(c.dry()); !strings.Contains(v, "${") && c.stable(&query) {
			query = text{raw: v}
		} else {
			r.changes = &query
		}
	}
	switch r.kind {
	case selectKind, updateKind:
	case preparedSelectKind, preparedUpdateKind, callableKind:
		c.parameters(e, r)
	case commitKind, rollbackKind, manualKind, automaticKind:
		r.changes = nil
	default:
		c.fault(e, "the query type %q isn't available", e.text("queryType"))
	}
	if r.changes == nil {
		c.translate(e, r, query.raw)
	}
	if c.faultsOf(e) {
		return nil
	}
	return r
}

// translate sets the text of a statement that is known before the load.
func (c *compiler) translate(e *Element, r *jdbcRequest, raw string) {
	query, marks, err := r.statement(raw)
	if err != nil {
		c.fault(e, "%v", err)
	}
	r.raw, r.query, r.marks = raw, query, marks
	values := len(splitArguments(r.args.raw))
	if split, err := csvValues(r.args.raw); err == nil && values > 0 && r.args.fixed() {
		values = len(split)
	}
	if r.prepared() && err == nil && marks != values {
		c.fault(e, "the statement has %d parameters and %d values", marks, values)
	}
}

// sourceOf returns the JDBC Connection Configuration of a JDBC Request.
func (c *compiler) sourceOf(e *Element) (found *dataSource) {
	pool := e.text("dataSource")
	take := func(x *Element) {
		if x.Class == "JDBCDataSource" && x.text("dataSource") == pool {
			found = c.source(x)
		}
	}
	c.inScope(take)
	for _, x := range c.plan.Children {
		if found == nil && x.Enabled {
			take(x)
		}
	}
	if found == nil {
		return nil
	}
	if c.database == nil {
		c.database = found
	}
	if !found.same(c.database) {
		c.fault(e, "its pool %s isn't the same as the pool of another request, %s: a session has one connection; split the plan",
			found.element, c.database.element)
	}
	return found
}

// same reports whether sessions of two pools are the same.
func (d *dataSource) same(other *dataSource) bool {
	a, b := *d, *other
	a.element, b.element = nil, nil
	return reflect.DeepEqual(a, b)
}

// trimmed is a statement without its end.
func trimmed(query string) string { return strings.TrimSuffix(strings.TrimSpace(query), ";") }

// prepared reports whether the statement has parameters.
func (r *jdbcRequest) prepared() bool {
	return r.kind == preparedSelectKind || r.kind == preparedUpdateKind || r.kind == callableKind
}

func (c *compiler) faultsOf(e *Element) bool {
	return slices.ContainsFunc(c.faults, func(f *Fault) bool { return f.Line == e.Line && f.File == e.File })
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
	d := &dataSource{element: e, user: c.early(e, "username"), password: c.early(e, "password"),
		manual: e.has("autocommit") && c.early(e, "autocommit") == "false"}
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
		d.protocol, d.postgres, port = "pg", true, "5432"
	case "mysql", "mariadb":
		d.protocol, port = "mysql", "3306"
		d.limits = u.Scheme == "mariadb"
	default:
		c.fault(e, "JDBC for %q isn't available; PostgreSQL, MySQL and MariaDB are", u.Scheme)
		return d
	}
	c.opening(e, d)
	d.database = strings.TrimPrefix(u.Path, "/")
	if d.address = u.Host; u.Port() == "" {
		d.address += ":" + port
	}
	if q := u.Query(); d.user == "" {
		d.user, d.password = q.Get("user"), q.Get("password")
	}
	return d
}

// opening compiles what a session sends first: the init statements, the isolation level, and auto commit.
func (c *compiler) opening(e *Element, d *dataSource) {
	for line := range strings.Lines(c.early(e, "initQuery")) {
		if line = strings.TrimSpace(line); line != "" {
			d.first = append(d.first, line)
		}
	}
	level := c.early(e, "transactionIsolation")
	switch name, known := strings.CutPrefix(level, "TRANSACTION_"); {
	case level == "" || level == "DEFAULT":
	case known && slices.Contains([]string{"READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE"}, name):
		set := "set session transaction isolation level "
		if d.postgres {
			set = "set session characteristics as transaction isolation level "
		}
		d.first = append(d.first, set+strings.ToLower(strings.ReplaceAll(name, "_", " ")))
		d.isolated = true
	default:
		c.fault(e, "the transaction isolation %s isn't one of databases", level)
	}
	if d.manual && !d.postgres {
		d.first = append(d.first, "set autocommit = 0")
	}
}

// options returns what a target's options say about the sessions of a pool.
func (d *dataSource) options() map[string]string {
	options := map[string]string{}
	if len(d.first) > 0 {
		options[protocol.InitOption] = strings.Join(d.first, "\n")
	}
	if !d.postgres {
		options["time_zone"] = "SYSTEM" // that of the server, as with the database's own drivers
	}
	return options
}

// statements returns the statements of an operation, then one whose text is its argument, then those that begin a
// transaction, too.
func (p *Program) statements(operation int) (all []protocol.Request) {
	// What a thread group creates may not be there when the sessions connect.
	free := protocol.Request{Verb: protocol.SQL, Verbatim: true, CaptureAll: protocol.AllRows, ExpectError: true,
		Params: []gen.Kind{gen.String}}
	for i, s := range p.operations[operation].samplers {
		s.request, s.other = i, len(p.operations[operation].samplers)
		j, r := s.jdbc, free
		r.Text = j.query
		switch {
		case j.changes != nil:
			r.Unnamed = j.source.postgres && j.prepared()
		case j.prepared() && j.marks == len(j.params):
			r.Verbatim, r.Late, r.Params = false, j.source.postgres, nil
		case !j.prepared():
			r.Verbatim, r.Simple, r.Params = false, true, nil
		default: // it is never sent; see arguments
			all = append(all, free)
			continue
		}
		for _, x := range j.params {
			if x.given(j.source) {
				r.Params = append(r.Params, x.kind)
			}
		}
		all = append(all, r)
	}
	all = append(all, free)
	for _, s := range p.operations[operation].samplers {
		s.begin = s.request
		if r := all[s.request]; r.Late && s.jdbc.source.manual {
			r.Pipeline = []protocol.PipelinePart{{Text: "begin"}, {Text: r.Text, Params: len(r.Params)}}
			s.begin = len(all)
			all = append(all, r)
		}
	}
	return all
}
