package calls

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// Template is a template of Go whose actions have been replaced by parameters: "$1" for the first one.
type Template struct {
	Text    string
	Actions []string // the pipeline of each parameter, without braces
}

// Split replaces the actions of a template. Those that aren't inside of a JSON text become texts of their own, whose
// value a message's field of any type takes.
func Split(t *template.Template) (out Template, err error) {
	var b strings.Builder
	quoted := false
	if t.Tree == nil {
		return out, nil
	}
	for _, node := range t.Root.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			b.WriteString(Escape(string(n.Text)))
			quoted = inQuotes(quoted, n.Text)
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return Template{}, errors.New("variables of templates aren't supported")
			}
			place := out.place(n.Pipe.String())
			if !quoted {
				place = `"` + place + `"`
			}
			b.WriteString(place)
		default:
			return Template{}, fmt.Errorf("%s: only values are supported in templates",
				strings.Join(strings.Fields(n.String()), " "))
		}
	}
	out.Text = b.String()
	return out, nil
}

// place returns the parameter of an action. What is the same in all of a call has one.
func (t *Template) place(action string) string {
	if strings.HasPrefix(action, ".") {
		for i, a := range t.Actions {
			if a == action {
				return "$" + strconv.Itoa(i+1)
			}
		}
	}
	t.Actions = append(t.Actions, action)
	return "$" + strconv.Itoa(len(t.Actions))
}

// Renumber replaces the numbers of the parameters in a text.
func Renumber(text string, number func(i int) int) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		out.WriteByte(text[i])
		if text[i] != '$' || i+1 == len(text) {
			continue
		}
		if text[i+1] == '$' {
			out.WriteByte('$')
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(text[i+1 : end]); err == nil {
			out.WriteString(strconv.Itoa(number(n)))
			i = end - 1
		}
	}
	return out.String()
}

// inQuotes reports whether a JSON text that began earlier, or not, is still open at the end of text.
func inQuotes(quoted bool, text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '\\' && quoted:
			i++
		}
	}
	return quoted
}
