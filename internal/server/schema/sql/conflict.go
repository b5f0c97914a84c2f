package sql

import (
	"errors"
	"strings"
)

// conflict rewrites INSERT … ON CONFLICT DO NOTHING, REPLACE or FAIL (clauses of Picodata). Other flavors write this at
// the start of the statement, or don't have it.
func (tr *translator) conflict() error {
	on, action, end := tr.findConflict()
	if on < 0 {
		return nil
	}
	head := ""
	p := tr.flavor.product
	switch action {
	case "fail":
	case "nothing":
		switch p {
		case Tarantool:
			head = " OR IGNORE"
		case MySQL:
			head = " IGNORE"
		default:
			return nil
		}
	case "replace":
		if p == PostgreSQL {
			return errors.New("there is no ON CONFLICT DO REPLACE: write ON CONFLICT (key) DO UPDATE SET …")
		}
		head = " OR REPLACE"
	default:
		if p == MySQL {
			return errors.New("there is no ON CONFLICT DO UPDATE: write ON DUPLICATE KEY UPDATE …")
		}
		if p == Tarantool {
			return errors.New("there is no ON CONFLICT DO UPDATE: use ON CONFLICT DO REPLACE, or an upsert request")
		}
		return nil
	}
	i := after(tr.in, 0)
	if i == len(tr.in) || !tr.in[i].Is("insert") {
		return nil
	}
	out := append([]token(nil), tr.in[:i+1]...)
	if p == MySQL && action == "replace" {
		out[i].Text, head = "REPLACE", ""
	}
	out = append(out, token{Kind: sign, Text: head})
	out = append(out, tr.in[i+1:before(tr.in, on-1)+1]...)
	tr.in = append(out, tr.in[end:]...)
	return nil
}

// findConflict finds ON CONFLICT [(…)] DO action. on is -1 if there is none.
func (tr *translator) findConflict() (on int, action string, end int) {
	list := tr.in
	for i := range list {
		if !list[i].Is("on") {
			continue
		}
		k := after(list, i+1)
		if k == len(list) || !list[k].Is("conflict") {
			continue
		}
		k = after(list, k+1)
		if k < len(list) && list[k].IsSign("(") {
			for k < len(list) && !list[k].IsSign(")") {
				k++
			}
			k = after(list, min(k+1, len(list)))
		}
		if k == len(list) || !list[k].Is("do") {
			continue
		}
		if k = after(list, k+1); k < len(list) && list[k].Kind == word {
			return i, strings.ToLower(list[k].Text), k + 1
		}
	}
	return -1, "", 0
}
