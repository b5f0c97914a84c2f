package planfile

import (
	"net/http"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/plan"
)

// verbKeys are the keys that say what to send; each request has exactly one.
func verbKeys() []string {
	return []string{"sql", "call", "eval", "select", "insert", "replace", "update", "upsert", "delete", "read", "scan",
		"batch", "command", "http"}
}

func verbOf(key string) driver.Verb {
	switch key {
	case "call":
		return driver.Call
	case "eval":
		return driver.Eval
	case "select":
		return driver.Select
	case "insert":
		return driver.Insert
	case "replace":
		return driver.Replace
	case "update":
		return driver.Update
	case "upsert":
		return driver.Upsert
	case "delete":
		return driver.Delete
	case "read":
		return driver.Read
	case "scan":
		return driver.Scan
	case "batch":
		return driver.Batch
	case "command":
		return driver.Command
	case "http":
		return driver.HTTP
	}
	return driver.SQL
}

// request reads what to send.
func (r *reader) request(o *object, s *plan.Step, what string) {
	var found []string
	for _, k := range verbKeys() {
		if o.has(k) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		r.problemAt(o.node, "add sql, or one of "+strings.Join(verbKeys()[1:], ", "), "%s says nothing to send", what)
		return
	case 1:
	default:
		r.problemAt(o.get(found[1]), "keep one", "%s has both %s", what, strings.Join(found, " and "))
		return
	}
	key := found[0]
	q := &s.Request
	q.Verb = verbOf(key)
	switch q.Verb {
	case driver.Command:
		o.list(key, func(_ int, n *yaml.Node) {
			if tagIs(n, "!!int", "!!float", "!!bool") {
				q.Words = append(q.Words, n.Value)
				return
			}
			q.Words = append(q.Words, r.textOf(n, "a word of the command"))
		})
	case driver.HTTP:
		r.web(o.get(key), q)
	default:
		q.Text = o.text(key)
	}
	q.Fields, q.Simple = o.words("fields"), o.flag("simple")
	q.Rows = int(o.integer("rows", 1, 1_000_000))
	if n := o.get("rows"); n != nil && q.Verb != driver.Batch {
		r.problemAt(n, "remove it or use batch", "rows has no meaning here")
	}
	if n := o.get("simple"); n != nil && q.Verb != driver.SQL {
		r.problemAt(n, "remove it", "simple is for sql only")
	}
}

func webKeys() []string { return []string{"method", "path", "headers", "body", "hash", "hash_every"} }

// web reads an HTTP request: a path, or a mapping.
func (r *reader) web(n *yaml.Node, q *driver.Request) {
	w := &driver.Web{Method: http.MethodGet}
	q.Web = w
	if n.Kind == yaml.ScalarNode {
		w.Path = r.textOf(n, "http")
		return
	}
	o := r.object(n, "http", webKeys())
	o.require("http", "path")
	if o.has("method") {
		w.Method = strings.ToUpper(o.text("method"))
	}
	w.Path = o.text("path")
	if o.has("body") {
		w.Body = []byte(o.text("body"))
	}
	if h := o.get("headers"); h != nil {
		r.headers(h, w)
	}
	w.Hash = o.unsigned("hash")
	w.HashEvery = uint32(o.integer("hash_every", 0, 1<<32-1))
	if o.has("hash") && !o.has("hash_every") {
		w.HashEvery = 1
	}
}

// headers keeps the order of the file; a list of texts stands for one header sent several times.
func (r *reader) headers(n *yaml.Node, w *driver.Web) {
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
				w.Header = append(w.Header, [2]string{name, r.textOf(resolve(c), "header "+name)})
			}
		case tagIs(value, "!!int", "!!float", "!!bool"):
			w.Header = append(w.Header, [2]string{name, value.Value})
		default:
			w.Header = append(w.Header, [2]string{name, r.textOf(value, "header "+name)})
		}
	}
}

func captureKeys() []string { return []string{"column", "type"} }

// capture reads a column's name or number, alone or with the type to decode it to.
func (r *reader) capture(n *yaml.Node) driver.Capture {
	var c driver.Capture
	column := n
	if n.Kind == yaml.MappingNode {
		o := r.object(n, "a capture", captureKeys())
		o.require("a capture", "column", "type")
		t := o.choice("type", typeNames()[:9])
		c.Kind = (&gen.Spec{Type: gen.Type(t)}).Kind()
		if column = o.get("column"); column == nil {
			return c
		}
	}
	if tagIs(column, "!!int") {
		c.Column = int(r.integerOf(column, "a captured column", 0, 65_535))
		return c
	}
	if c.Name = r.textOf(column, "a captured column"); c.Name == "" && tagIs(column, "!!str") {
		r.problemAt(column, "name the column", "a captured column without a name")
	}
	return c
}
