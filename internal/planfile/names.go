package planfile

import (
	"strings"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// nameOperations gives operations without a name a readable and unique one.
func nameOperations(ops []plan.Operation) {
	taken := map[string]int{}
	for i := range ops {
		taken[ops[i].Name] = 1
	}
	for i := range ops {
		op := &ops[i]
		if op.Name != "" {
			continue
		}
		base := "operation"
		if len(op.Steps) > 0 {
			base = requestName(&op.Steps[0].Request)
		}
		if len(op.Steps) > 1 {
			base = "transaction"
		}
		op.Name = plan.Unused(base, taken)
	}
}

func requestName(q *protocol.Request) string {
	name := ""
	switch q.Verb {
	case protocol.SQL:
		name = statementName(q.Text)
	case protocol.HTTP:
		name = q.Web.Method + " " + strings.SplitN(q.Web.Path, "?", 2)[0]
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
