package brunt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/k6x/conns"
	"brunt/internal/planfile"
	"brunt/internal/sqltext"
)

// asked is what a script asks for: a request, and its name in the record.
type asked struct {
	name string
	conns.Request
}

// readRequest reads what to send: a statement, or a request as plans write it ({command: […]}, {call: …},
// {http: …}, …).
func readRequest(protocol string, what any, params int) (*asked, error) {
	fields, ok := what.(map[string]any)
	if text, isText := what.(string); isText {
		fields, ok = shorthand(protocol, text), true
	}
	if !ok {
		return nil, fmt.Errorf("what to send isn't a string or an object such as {call: \"name\"}")
	}
	list := slices.Repeat([]any{map[string]any{"type": "Constant", "value": 0}}, params)
	query := map[string]any{}
	for key, v := range fields {
		query[key] = v
	}
	query["params"] = list
	text, err := json.Marshal(map[string]any{"queries": []any{query}})
	if err != nil {
		return nil, err
	}
	p, err := planfile.Read("", text)
	if err != nil {
		return nil, driver.Bad("%s", problem(err))
	}
	op := &p.Operations[0]
	a := &asked{Request: conns.Request{Key: string(text), Request: op.Steps[0].Request}}
	if a.name, ok = fields["name"].(string); !ok {
		a.name = nameOf(&a.Request.Request)
	}
	a.Request.Name = a.name
	a.Params = slices.Repeat([]gen.Kind{gen.Null}, params)
	return a, nil
}

// shorthand is what a text means where SQL isn't spoken: words of a command, or a path.
func shorthand(protocol, text string) map[string]any {
	switch protocol {
	case "redis":
		words := []any{}
		for _, w := range strings.Fields(text) {
			words = append(words, w)
		}
		return map[string]any{"command": words}
	case "http", "https":
		return map[string]any{"http": text}
	}
	return map[string]any{"sql": text}
}

// nameOf is what the record calls a request that has no name: its verb and what it is about.
func nameOf(r *driver.Request) string {
	switch r.Verb {
	case driver.Command:
		return strings.ToUpper(r.Words[0])
	case driver.HTTP:
		path, _, _ := strings.Cut(r.Web.Path, "?")
		return r.Web.Method + " " + path
	case driver.Call:
		return "call " + r.Text
	case driver.Eval:
		return "eval"
	case driver.SQL:
		return statementName(r.Text)
	}
	return fmt.Sprintf("request %s", r.Text)
}

// statementName is a statement's first word and the table that it names first.
func statementName(text string) string {
	first := strings.ToLower(sqltext.FirstWord(text))
	next := false
	for _, t := range sqltext.Split(text) {
		if t.Kind != sqltext.Word && t.Kind != sqltext.Quoted {
			continue
		}
		if next {
			return first + " " + strings.Trim(t.Text, `"`+"`")
		}
		next = t.Is("FROM") || t.Is("INTO") || t.Is("UPDATE") || t.Is("TABLE")
	}
	return first
}
