package planfile

import (
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/secret"
	"brunt/internal/load/gen"
	"brunt/internal/plan/planfile/form"
	"brunt/internal/protocol"
)

// verb is a key that says what a request does.
type verb struct {
	key  string
	verb protocol.Verb
	doc  string
}

func verbs() []verb {
	return []verb{
		{"sql", protocol.SQL, "a statement with $1, $2 …"}, {"call", protocol.Call, "a stored function"},
		{"eval", protocol.Eval, "a program for the server"},
		{"select", protocol.Select, "a space or space.index; the parameters are the key"},
		{"insert", protocol.Insert, "a space or table; the parameters are the tuple"},
		{"replace", protocol.Replace, "as insert, overwriting"},
		{"update", protocol.Update, "a space or table; the parameters are the key and the values of fields"},
		{"upsert", protocol.Upsert, "as insert, updating on conflict"},
		{"delete", protocol.Delete, "a space or table; the parameters are the key"},
		{"read", protocol.Read, "a table; the parameter is the key"},
		{"scan", protocol.Scan, "a table; the parameters are the first key and how many"},
		{"batch", protocol.Batch, "a verb and a table: rows rows in one request"},
		{"command", protocol.Command, "words of a command of Redis or etcd"},
		{"http", protocol.HTTP, "a path, or how to ask for it"},
		{"grpc", protocol.GRPC, "a method of a gRPC service, or how to call it"},
	}
}

// verbKeys returns the keys of verbs. Each request has exactly one of them.
func verbKeys() (keys []string) {
	for _, v := range verbs() {
		keys = append(keys, v.key)
	}
	return keys
}

// requestFields returns the keys of a request.
func requestFields() []form.Field {
	web, call := webMapping(), rpcMapping()
	var all []form.Field
	for _, v := range verbs() {
		f := form.Custom[protocol.Request]{As: form.Words{}.Schema}
		switch v.verb {
		case protocol.Command:
			f.As = func(*form.Definitions) form.Schema {
				return form.Schema{"type": "array", "minItems": 1, "items": form.Schema{"type": []string{"string", "number",
					"boolean"}}}
			}
			f.In = func(r *form.Reader, key string, n *yaml.Node, q *protocol.Request) { commandIn(r, n, key, q) }
			f.Out = func(q *protocol.Request) *yaml.Node {
				return form.List{Of: form.Words{}, Flow: true}.Write(form.ValueOf(&q.Words))
			}
		case protocol.HTTP:
			f.As = form.AnyOf(form.Name(), web)
			f.In = func(r *form.Reader, key string, n *yaml.Node, q *protocol.Request) { webIn(r, web, n, key, q) }
			f.Out = func(q *protocol.Request) *yaml.Node { return webNode(web, q) }
		case protocol.GRPC:
			f.As = form.AnyOf(form.Name(), call)
			f.In = func(r *form.Reader, key string, n *yaml.Node, q *protocol.Request) { rpcIn(r, call, n, key, q) }
			f.Out = func(q *protocol.Request) *yaml.Node { return rpcNode(call, q) }
		default:
			f.In = func(r *form.Reader, key string, n *yaml.Node, q *protocol.Request) { q.Text = r.TextOf(n, key) }
			f.Out = func(q *protocol.Request) *yaml.Node { return form.Text(q.Text) }
		}
		in, out := f.In, f.Out
		f.In = func(r *form.Reader, key string, n *yaml.Node, q *protocol.Request) {
			q.Verb = v.verb
			in(r, key, n, q)
		}
		f.Out = func(q *protocol.Request) *yaml.Node {
			if q.Verb != v.verb {
				return nil
			}
			return out(q)
		}
		all = append(all, form.Key(v.key, "", f, v.doc))
	}
	capture := form.Custom[protocol.Capture]{In: captureIn, Out: captureNode, As: captureSchema}
	return append(all,
		form.Key("fields", "Fields", form.List{Of: form.Name(), Flow: true, Full: true},
			"key-value requests: the fields' names"),
		form.Key("rows", "Rows", form.Whole(1, 1_000_000),
			"sql, batch: rows in one request; the parameters are those of one row"),
		form.Key("simple", "Simple", form.Flag{}, "sql: send as text without preparing; false"),
		form.Key("expect_error", "ExpectError", form.Flag{},
			"sql: the server may refuse the statement, which is then sent as text; false"),
		form.Key("creates", "Creates", form.Choice{string(protocol.MustBeNew), string(protocol.MayExist)},
			"what it means if the record to insert is there already: must-be-new, a failure; may-exist, a success in vain"),
		form.Key("capture", "Capture", form.List{Of: capture, Flow: true}, "columns of the answer's first row to keep"),
	)
}

// requestMapping returns the form of a request. For name and what see form.NewMapping.
func requestMapping(name, what string) *form.Mapping {
	m := form.NewMapping(name, what, requestFields()...)
	m.After = func(r *form.Reader, o *form.Object, to any) { checkRequest(r, o, to.(*protocol.Request), what) }
	m.Rules = requestRules(false)
	return m
}

// requestRules returns the rules of checkRequest as JSON Schemas for editors.
func requestRules(variants bool) []any {
	keys := verbKeys()
	if variants {
		keys = append(keys, "variants")
	}
	return []any{form.Exactly(keys), needs("rows", "batch", "sql", "variants"), needs("simple", "sql", "variants"),
		needs("expect_error", "sql", "variants"), needs("creates", "sql", "insert", "batch", "command", "variants")}
}

// needs returns the rule that key is present only together with at least one of others.
func needs(key string, others ...string) form.Schema {
	return form.Schema{"if": form.Schema{"required": []string{key}}, "then": form.Schema{"anyOf": form.Each(others)}}
}

// checkRequest reports a request that doesn't have exactly one verb, and keys that have no meaning for its verb.
func checkRequest(r *form.Reader, o *form.Object, q *protocol.Request, what string) {
	if o == nil {
		return
	}
	var found []string
	for _, k := range verbKeys() {
		if o.Has(k) {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		r.ProblemAt(o.Node, "add sql, or one of "+strings.Join(verbKeys()[1:], ", "), "%s says nothing to send", what)
		return
	}
	if len(found) > 1 {
		r.ProblemAt(o.Get(found[1]), "keep one", "%s has both %s", what, strings.Join(found, " and "))
		return
	}
	if q.Verb != protocol.Batch && q.Verb != protocol.SQL {
		o.Refuse("remove it or use sql or batch", "here", "rows")
	}
	for _, key := range []string{"simple", "expect_error"} {
		if n := o.Get(key); n != nil && q.Verb != protocol.SQL {
			r.ProblemAt(n, "remove it", "%s is for sql only", key)
		}
	}
	if !slices.Contains([]protocol.Verb{protocol.SQL, protocol.Insert, protocol.Batch, protocol.Command}, q.Verb) {
		o.Refuse("remove it, or use sql, insert, batch or command", "for "+found[0], "creates")
	}
	if !slices.Contains([]protocol.Verb{protocol.Insert, protocol.Replace, protocol.Update, protocol.Upsert, protocol.Read,
		protocol.Scan, protocol.Batch}, q.Verb) {
		o.Refuse("remove it", "for "+found[0], "fields")
	}
}

func commandIn(r *form.Reader, n *yaml.Node, key string, q *protocol.Request) {
	if n.Kind != yaml.SequenceNode {
		r.ProblemAt(n, "write a list", "%s is %s instead of a list", key, form.KindName(n))
		return
	}
	for _, c := range n.Content {
		c = form.Resolve(c)
		q.Words = append(q.Words, plainText(r, c, "a word of the command"))
	}
}

// plainText returns a string, or a number or bool as written.
func plainText(r *form.Reader, n *yaml.Node, what string) string {
	if form.TagIs(n, "!!int", "!!float", "!!bool") {
		return n.Value
	}
	return r.TextOf(n, what)
}

func webMapping() *form.Mapping {
	m := form.NewMapping("http", "http",
		form.Key("method", "Method", form.Name(), "GET"),
		form.Required("path", "", form.Custom[protocol.Web]{
			In:  func(r *form.Reader, key string, n *yaml.Node, w *protocol.Web) { w.Path = r.TextOf(n, key) },
			Out: func(w *protocol.Web) *yaml.Node { return marked(form.Text(hidePath(w.Path)), secretsOfPath(w.Path)...) },
			As:  form.Name().Schema,
		}, "path and query"),
		form.Key("origin", "Origin", form.Words{}, "scheme://host:port, if it isn't the session's address"),
		form.Key("headers", "Header", form.Custom[[][2]string]{In: headersIn, Out: headersNode,
			As: func(*form.Definitions) form.Schema {
				plain := []string{"string", "number", "boolean"}
				return form.Schema{"type": "object", "additionalProperties": form.Schema{"anyOf": []any{
					form.Schema{"type": plain}, form.Schema{"type": "array", "items": form.Schema{"type": "string"}},
				}}}
			}}, "in order; a list sends one header several times"),
		form.Key("body", "", form.Custom[protocol.Web]{
			In:  func(r *form.Reader, key string, n *yaml.Node, w *protocol.Web) { w.Body = []byte(r.TextOf(n, key)) },
			Out: bodyNode,
			As:  form.Words{}.Schema,
		}, "what is sent"),
		form.Key("secret_body", "SecretBody", form.Flag{}, "the body is never printed or stored; false"),
		form.Key("raw", "Raw", form.Flag{}, "the body is the whole request, encoded for HTTP/1; false"),
		form.Key("hash", "Hash", form.Unsigned{}, "FNV-1a 64 that the answer's body must have"),
		form.Key("hash_every", "HashEvery", form.Unsigned{Above: true}, "check every n-th answer; 1"),
	)
	m.After = func(_ *form.Reader, o *form.Object, to any) {
		w := to.(*protocol.Web)
		w.Method = strings.ToUpper(w.Method)
		if o.Has("hash") && !o.Has("hash_every") {
			w.HashEvery = 1
		}
	}
	return m
}

// webIn reads an HTTP request: a path, or a mapping.
func webIn(r *form.Reader, m *form.Mapping, n *yaml.Node, key string, q *protocol.Request) {
	q.Web = &protocol.Web{Method: http.MethodGet}
	if n.Kind == yaml.ScalarNode {
		q.Web.Path = r.TextOf(n, key)
		return
	}
	m.Read(r, key, n, form.ValueOf(q.Web))
}

func webNode(m *form.Mapping, q *protocol.Request) *yaml.Node {
	if q.Web == nil {
		return pairs()
	}
	n := m.Write(form.ValueOf(q.Web))
	if q.Web.HashEvery != 0 && q.Web.Hash == 0 {
		n.Content = append(n.Content, form.Text("hash"), form.Number(0))
	}
	return n
}

func bodyNode(w *protocol.Web) *yaml.Node {
	switch {
	case w.SecretBody && len(w.Body) > 0:
		return marked(form.Text(secret.Hidden), bodySecret)
	case w.Body == nil:
		return nil
	}
	return markedParts(binary(w.Body), bodyPart, string(w.Body))
}

// headersIn keeps the order of the file. A list of values means that the header is sent several times.
func headersIn(r *form.Reader, _ string, n *yaml.Node, to *[][2]string) {
	o := r.Object(n, "headers", []string{"*"})
	if o == nil {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		value := o.Values[name]
		switch {
		case value == nil:
		case value.Kind == yaml.SequenceNode:
			for _, c := range value.Content {
				*to = append(*to, [2]string{name, r.TextOf(form.Resolve(c), "header "+name)})
			}
		default:
			*to = append(*to, [2]string{name, plainText(r, value, "header "+name)})
		}
	}
}

func headersNode(header *[][2]string) *yaml.Node {
	if len(*header) == 0 {
		return nil
	}
	h := pairs()
	at := map[string]*yaml.Node{}
	for _, pair := range *header {
		value := form.Text(pair[1])
		if secret.Name(pair[0]) {
			value = marked(form.Text(secret.Hidden), pair[0])
		}
		earlier := at[pair[0]]
		switch {
		case earlier == nil:
			at[pair[0]] = value
			h.Content = append(h.Content, form.Text(pair[0]), value)
		case earlier.Kind == yaml.SequenceNode:
			earlier.Content = append(earlier.Content, value)
		default:
			first := *earlier
			*earlier = *flow(&first, value)
		}
	}
	return h
}

// captureIn reads a column's name or number, or a mapping with the column and the type to decode it to.
func captureIn(r *form.Reader, _ string, n *yaml.Node, c *protocol.Capture) {
	column := n
	if n.Kind == yaml.MappingNode {
		o := r.Object(n, "a capture", []string{"column", "type"})
		o.Require("a capture", "column", "type")
		if t := o.Get("type"); t != nil {
			var s gen.Spec
			typeNames()[:9].Read(r, "type", t, form.ValueOf(&s.Type))
			c.Kind = s.Kind()
		}
		if column = o.Get("column"); column == nil {
			return
		}
	}
	if form.TagIs(column, "!!int") {
		c.Column = int(r.IntegerOf(column, "a captured column", 0, 65_535))
		return
	}
	if c.Name = r.TextOf(column, "a captured column"); c.Name == "" && form.TagIs(column, "!!str") {
		r.ProblemAt(column, "name the column", "a captured column without a name")
	}
}

func captureNode(c *protocol.Capture) *yaml.Node {
	n := form.Text(c.Name)
	if c.Name == "" {
		n = form.Number(c.Column)
	}
	for _, t := range typeNames()[:9] {
		if c.Kind != gen.Null && (&gen.Spec{Type: gen.Type(strings.ToLower(t))}).Kind() == c.Kind {
			return pairs(form.Text("column"), n, form.Text("type"), form.Text(t))
		}
	}
	return n
}

func captureSchema(d *form.Definitions) form.Schema {
	column := form.Schema{"anyOf": []any{form.Schema{"type": "string", "minLength": 1}, form.Whole(0, 65_535).Schema(d)}}
	return form.Schema{"anyOf": []any{column, form.Schema{
		"type": "object", "additionalProperties": false, "required": []string{"column", "type"},
		"properties": form.Schema{"column": column, "type": typeNames()[:9].Schema(d)},
	}}}
}
