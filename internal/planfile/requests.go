package planfile

import (
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/secret"
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
		{"command", protocol.Command, "words of a Redis command"},
		{"http", protocol.HTTP, "a path, or how to ask for it"},
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
func requestFields() []field {
	web := webMapping()
	var all []field
	for _, v := range verbs() {
		f := custom[protocol.Request]{as: words{}.schema}
		switch v.verb {
		case protocol.Command:
			f.as = func(*definitions) schema {
				return schema{"type": "array", "minItems": 1, "items": schema{"type": []string{"string", "number", "boolean"}}}
			}
			f.in = func(r *reader, key string, n *yaml.Node, q *protocol.Request) { commandIn(r, n, key, q) }
			f.out = func(q *protocol.Request) *yaml.Node { return list{of: words{}, flow: true}.write(valueOf(&q.Words)) }
		case protocol.HTTP:
			f.as = anyOf(words{name: true}, web)
			f.in = func(r *reader, key string, n *yaml.Node, q *protocol.Request) { webIn(r, web, n, key, q) }
			f.out = func(q *protocol.Request) *yaml.Node { return webNode(web, q) }
		default:
			f.in = func(r *reader, key string, n *yaml.Node, q *protocol.Request) { q.Text = r.textOf(n, key) }
			f.out = func(q *protocol.Request) *yaml.Node { return text(q.Text) }
		}
		in, out := f.in, f.out
		f.in = func(r *reader, key string, n *yaml.Node, q *protocol.Request) {
			q.Verb = v.verb
			in(r, key, n, q)
		}
		f.out = func(q *protocol.Request) *yaml.Node {
			if q.Verb != v.verb {
				return nil
			}
			return out(q)
		}
		all = append(all, field{v.key, "", f, v.doc, false})
	}
	capture := custom[protocol.Capture]{captureIn, captureNode, captureSchema}
	return append(all,
		field{"fields", "Fields", list{of: words{name: true}, flow: true, full: true},
			"key-value requests: the fields' names", false},
		field{"rows", "Rows", whole{1, 1_000_000}, "sql, batch: rows in one request; the parameters are those of one row",
			false},
		field{"simple", "Simple", flag{}, "sql: send as text without preparing; false", false},
		field{"expect_error", "ExpectError", flag{},
			"sql: the server may refuse the statement, which is then sent as text; false", false},
		field{"capture", "Capture", list{of: capture, flow: true}, "columns of the answer's first row to keep", false},
	)
}

// requestRules returns the rules of checkRequest as JSON Schemas for editors.
func requestRules(variants bool) []any {
	keys := verbKeys()
	if variants {
		keys = append(keys, "variants")
	}
	return []any{exactly(keys), needs("rows", "batch", "sql", "variants"), needs("simple", "sql", "variants"),
		needs("expect_error", "sql", "variants")}
}

// checkRequest reports a request that doesn't have exactly one verb, and keys that have no meaning for its verb.
func checkRequest(r *reader, o *object, q *protocol.Request, what string) {
	if o == nil {
		return
	}
	var found []string
	for _, k := range verbKeys() {
		if o.has(k) {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		r.problemAt(o.node, "add sql, or one of "+strings.Join(verbKeys()[1:], ", "), "%s says nothing to send", what)
		return
	}
	if len(found) > 1 {
		r.problemAt(o.get(found[1]), "keep one", "%s has both %s", what, strings.Join(found, " and "))
		return
	}
	if q.Verb != protocol.Batch && q.Verb != protocol.SQL {
		o.refuse("remove it or use sql or batch", "here", "rows")
	}
	for _, key := range []string{"simple", "expect_error"} {
		if n := o.get(key); n != nil && q.Verb != protocol.SQL {
			r.problemAt(n, "remove it", "%s is for sql only", key)
		}
	}
	if !slices.Contains([]protocol.Verb{protocol.Insert, protocol.Replace, protocol.Update, protocol.Upsert, protocol.Read,
		protocol.Scan, protocol.Batch}, q.Verb) {
		o.refuse("remove it", "for "+found[0], "fields")
	}
}

func commandIn(r *reader, n *yaml.Node, key string, q *protocol.Request) {
	if n.Kind != yaml.SequenceNode {
		r.problemAt(n, "write a list", "%s is %s instead of a list", key, kindName(n))
		return
	}
	for _, c := range n.Content {
		c = resolve(c)
		q.Words = append(q.Words, plainText(r, c, "a word of the command"))
	}
}

// plainText returns a string, or a number or bool as written.
func plainText(r *reader, n *yaml.Node, what string) string {
	if tagIs(n, "!!int", "!!float", "!!bool") {
		return n.Value
	}
	return r.textOf(n, what)
}

func webMapping() *mapping {
	m := newMapping("http", "http",
		field{"method", "Method", words{name: true}, "GET", false},
		field{"path", "", custom[protocol.Web]{
			func(r *reader, key string, n *yaml.Node, w *protocol.Web) { w.Path = r.textOf(n, key) },
			func(w *protocol.Web) *yaml.Node { return marked(text(hidePath(w.Path)), secretsOfPath(w.Path)...) },
			words{name: true}.schema,
		}, "path and query", true},
		field{"origin", "Origin", words{}, "scheme://host:port, if it isn't the session's address", false},
		field{"headers", "Header", custom[[][2]string]{headersIn, headersNode, func(*definitions) schema {
			plain := []string{"string", "number", "boolean"}
			return schema{"type": "object", "additionalProperties": schema{"anyOf": []any{
				schema{"type": plain}, schema{"type": "array", "items": schema{"type": "string"}},
			}}}
		}}, "in order; a list sends one header several times", false},
		field{"body", "", custom[protocol.Web]{
			func(r *reader, key string, n *yaml.Node, w *protocol.Web) { w.Body = []byte(r.textOf(n, key)) }, bodyNode,
			words{}.schema,
		}, "what is sent", false},
		field{"secret_body", "SecretBody", flag{}, "the body is never printed or stored; false", false},
		field{"hash", "Hash", unsigned{}, "FNV-1a 64 that the answer's body must have", false},
		field{"hash_every", "HashEvery", unsigned{above: true}, "check every n-th answer; 1", false},
	)
	m.after = func(_ *reader, o *object, to any) {
		w := to.(*protocol.Web)
		w.Method = strings.ToUpper(w.Method)
		if o.has("hash") && !o.has("hash_every") {
			w.HashEvery = 1
		}
	}
	return m
}

// webIn reads an HTTP request: a path, or a mapping.
func webIn(r *reader, m *mapping, n *yaml.Node, key string, q *protocol.Request) {
	q.Web = &protocol.Web{Method: http.MethodGet}
	if n.Kind == yaml.ScalarNode {
		q.Web.Path = r.textOf(n, key)
		return
	}
	m.read(r, key, n, valueOf(q.Web))
}

func webNode(m *mapping, q *protocol.Request) *yaml.Node {
	if q.Web == nil {
		return pairs()
	}
	n := m.write(valueOf(q.Web))
	if q.Web.HashEvery != 0 && q.Web.Hash == 0 {
		n.Content = append(n.Content, text("hash"), number(0))
	}
	return n
}

func bodyNode(w *protocol.Web) *yaml.Node {
	switch {
	case w.SecretBody && len(w.Body) > 0:
		return marked(text(secret.Hidden), bodySecret)
	case w.Body == nil:
		return nil
	}
	return binary(w.Body)
}

// headersIn keeps the order of the file. A list of values means that the header is sent several times.
func headersIn(r *reader, _ string, n *yaml.Node, to *[][2]string) {
	o := r.object(n, "headers", []string{"*"})
	if o == nil {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		value := o.values[name]
		switch {
		case value == nil:
		case value.Kind == yaml.SequenceNode:
			for _, c := range value.Content {
				*to = append(*to, [2]string{name, r.textOf(resolve(c), "header "+name)})
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
		value := text(pair[1])
		if secret.Name(pair[0]) {
			value = marked(text(secret.Hidden), pair[0])
		}
		earlier := at[pair[0]]
		switch {
		case earlier == nil:
			at[pair[0]] = value
			h.Content = append(h.Content, text(pair[0]), value)
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
func captureIn(r *reader, _ string, n *yaml.Node, c *protocol.Capture) {
	column := n
	if n.Kind == yaml.MappingNode {
		o := r.object(n, "a capture", []string{"column", "type"})
		o.require("a capture", "column", "type")
		if t := o.get("type"); t != nil {
			var s gen.Spec
			typeNames()[:9].read(r, "type", t, valueOf(&s.Type))
			c.Kind = s.Kind()
		}
		if column = o.get("column"); column == nil {
			return
		}
	}
	if tagIs(column, "!!int") {
		c.Column = int(r.integerOf(column, "a captured column", 0, 65_535))
		return
	}
	if c.Name = r.textOf(column, "a captured column"); c.Name == "" && tagIs(column, "!!str") {
		r.problemAt(column, "name the column", "a captured column without a name")
	}
}

func captureNode(c *protocol.Capture) *yaml.Node {
	n := text(c.Name)
	if c.Name == "" {
		n = number(c.Column)
	}
	for _, t := range typeNames()[:9] {
		if c.Kind != gen.Null && (&gen.Spec{Type: gen.Type(strings.ToLower(t))}).Kind() == c.Kind {
			return pairs(text("column"), n, text("type"), text(t))
		}
	}
	return n
}

func captureSchema(d *definitions) schema {
	column := schema{"anyOf": []any{schema{"type": "string", "minLength": 1}, whole{0, 65_535}.schema(d)}}
	return schema{"anyOf": []any{column, schema{
		"type": "object", "additionalProperties": false, "required": []string{"column", "type"},
		"properties": schema{"column": column, "type": typeNames()[:9].schema(d)},
	}}}
}
