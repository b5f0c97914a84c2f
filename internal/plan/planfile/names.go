package planfile

import (
	"strings"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// nameAll gives items without a name a unique one, made from the text that base returns. name returns where the name of
// an item is stored.
func nameAll[T any](items []T, name func(*T) *string, base func(*T) string) {
	taken := map[string]int{}
	for i := range items {
		taken[*name(&items[i])] = 1
	}
	for i := range items {
		if at := name(&items[i]); *at == "" {
			*at = plan.Unused(base(&items[i]), taken)
		}
	}
}

// operationName returns a readable name of an operation.
func operationName(op *plan.Operation) string {
	switch len(op.Steps) {
	case 0:
		return "operation"
	case 1:
		return requestName(&op.Steps[0].Request)
	}
	return "transaction"
}

func requestName(q *protocol.Request) string {
	name := ""
	switch q.Verb {
	case protocol.SQL:
		name = statementName(q.Text)
	case protocol.HTTP:
		name = q.Web.Method + " " + strings.SplitN(q.Web.Path, "?", 2)[0]
	case protocol.GRPC:
		name = q.RPC.Method[strings.LastIndexByte(q.RPC.Method, '/')+1:]
	case protocol.Command:
		name = strings.Join(q.Words[:min(len(q.Words), 1)], " ")
	case protocol.Eval:
		name = "eval"
	default:
		for _, v := range verbs() {
			if v.verb == q.Verb {
				name = v.key + " " + q.Text
			}
		}
	}
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == '{' || c == '}' {
			return '_'
		}
		return c
	}, strings.Join(strings.Fields(name), " "))
	if r := []rune(name); len(r) > 60 {
		name = string(r[:60])
	}
	if strings.TrimSpace(name) == "" {
		return "operation"
	}
	return name
}

// statementName returns the statement's first word and the name of its table.
func statementName(sql string) string {
	words := strings.FieldsFunc(withoutComments(sql[:min(len(sql), 4096)]), func(c rune) bool {
		return strings.ContainsRune(" \t\r\n\f\v(),;", c)
	})
	if len(words) == 0 {
		return "sql"
	}
	verb := strings.ToLower(words[0])
	after := ""
	switch verb {
	case "select", "delete":
		after = "from"
	case "insert", "replace", "merge":
		after = "into"
	case "update", "truncate", "call":
		after = verb
	}
	for i, w := range words[:len(words)-1] {
		if after != "" && strings.EqualFold(w, after) {
			return verb + " " + strings.Trim(words[i+1], "\"`[]")
		}
	}
	return verb
}

func withoutComments(sql string) string {
	sql = strings.TrimSpace(sql)
	for {
		end := ""
		switch {
		case strings.HasPrefix(sql, "--"):
			end = "\n"
		case strings.HasPrefix(sql, "/*"):
			end = "*/"
		default:
			return sql
		}
		i := strings.Index(sql, end)
		if i < 0 {
			return ""
		}
		sql = strings.TrimSpace(sql[i+len(end):])
	}
}
