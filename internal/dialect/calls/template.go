package calls

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// Template is a template of Go whose actions have been replaced by parameters: "$1" for the first one.
type Template struct {
	Text string
	// Actions are the pipelines, conditions and loops of the parameters, without the outer braces. Those that set
	// variables stand before the action that comes next, so the actions of a template are executed as one, in order.
	Actions []string
}

// Split replaces the actions of a template. Those that aren't inside of a JSON text become texts of their own, whose
// value a message's field of any type takes.
func Split(t *template.Template) (out Template, err error) {
	var b strings.Builder
	quoted, set := false, "" // set: actions that set variables
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
				set += n.Pipe.String() + "}}{{"
				continue
			}
			b.WriteString(out.parameter(set+n.Pipe.String(), quoted))
			set = ""
		case *parse.IfNode, *parse.RangeNode, *parse.WithNode:
			if err := oneValue(n, quoted); err != nil {
				return Template{}, err
			}
			action := strings.TrimSuffix(strings.TrimPrefix(n.String(), "{{"), "}}")
			b.WriteString(out.parameter(set+action, quoted))
			set = ""
		default:
			return Template{}, fmt.Errorf("%s: only values, variables, conditions and loops are supported in templates",
				shortened(n))
		}
	}
	out.Text = b.String()
	return out, nil
}

// parameter returns the JSON text of an action.
func (t *Template) parameter(action string, quoted bool) string {
	if quoted {
		return t.place(action)
	}
	return `"` + t.place(action) + `"`
}

func shortened(n parse.Node) string { return strings.Join(strings.Fields(n.String()), " ") }

// oneValue reports why a condition or loop makes more than a value, or a part of a text in quotes: messages are known
// before the load but for their values.
func oneValue(n parse.Node, quoted bool) error {
	never, what := `"\\`, "quotes and backslashes"
	if !quoted {
		never, what = never+"{}[],:", "one value"
	}
	for _, text := range texts(n) {
		if !strings.ContainsAny(text, never) {
			continue
		}
		if quoted {
			return fmt.Errorf("%s: conditions and loops in a text have no %s", shortened(n), what)
		}
		return fmt.Errorf("%s: conditions and loops make %s; write texts as \"{{if …}}…{{end}}\"", shortened(n), what)
	}
	return nil
}

// texts returns the texts in a node.
func texts(n parse.Node) (all []string) {
	branch := func(b *parse.BranchNode) []string { return append(texts(b.List), texts(b.ElseList)...) }
	switch n := n.(type) {
	case *parse.TextNode:
		return []string{string(n.Text)}
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, one := range n.Nodes {
			all = append(all, texts(one)...)
		}
	case *parse.IfNode:
		return branch(&n.BranchNode)
	case *parse.RangeNode:
		return branch(&n.BranchNode)
	case *parse.WithNode:
		return branch(&n.BranchNode)
	}
	return all
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
