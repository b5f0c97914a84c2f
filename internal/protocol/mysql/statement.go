package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"fmt"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
	"brunt/internal/protocol/sqlconn"
)

// statement is a request prepared for sending.
type statement struct {
	sqlconn.Statement
	kind     protocol.Kind
	before   string      // a statement to run first, or ""
	order    []int       // number of the argument for each question mark
	params   int         // number of arguments
	rows     bool        // it returns rows
	records  *kv.Request // the request, if missing records must be noticed; or nil
	captures []int       // column numbers; nil until the first answer
}

// prepare prepares a request on a session.
func (st *statement) prepare(ctx context.Context, s *session, req *protocol.Request) *protocol.Error {
	st.kind = req.Kind()
	switch req.Verb {
	case protocol.SQL:
	case protocol.Begin:
		st.Text = "START TRANSACTION"
		if level := strings.TrimSpace(req.Text); level != "" {
			st.before = "SET TRANSACTION ISOLATION LEVEL " + strings.ToUpper(level)
		}
		return nil
	case protocol.Commit:
		st.Text = "COMMIT"
		return nil
	case protocol.Rollback:
		st.Text = "ROLLBACK"
		return nil
	}
	var refused *protocol.Error
	if req.Verb == protocol.SQL {
		st.params = len(req.Params)
		st.Text, st.order, refused = questionMarks(req.Text, st.params)
	} else {
		st.Text, st.order, st.records, refused = recordStatement(req)
		st.params = len(st.order)
	}
	if refused != nil {
		return refused
	}
	st.rows = returnsRows(st.Text)
	if len(req.Capture) > 0 && !st.rows {
		return protocol.Bad("the statement returns no rows to capture from")
	}
	if req.Simple {
		return nil
	}
	if err := st.Prepare(ctx, s); err != nil {
		e := s.Failure(ctx, err)
		if req.ExpectError && e.Class == protocol.Server && !e.Fatal {
			return nil
		}
		return e
	}
	if n := st.Prepared.NumInput(); n >= 0 && n != len(st.order) {
		return protocol.Bad("the server sees %d parameters in the statement, the plan gives %d", n, len(st.order))
	}
	return nil
}

// questionMarks replaces numbered parameters by question marks. A statement that has only question marks keeps
// them. order is the number of the argument for each question mark.
func questionMarks(text string, params int) (out string, order []int, refused *protocol.Error) {
	var b strings.Builder
	marks := 0
	for _, token := range sqltext.Split(text) {
		n, numbered := token.Parameter()
		switch {
		case token.Kind == sqltext.Mark:
			order = append(order, marks)
			marks++
		case numbered && (n < 1 || n > params):
			return "", nil, protocol.Bad("the statement uses %.20s but has %d parameters", token.Text, params)
		case numbered:
			order = append(order, n-1)
			b.WriteByte('?')
			continue
		}
		b.WriteString(token.Text)
	}
	if marks > 0 && (marks != params || len(order) != marks) {
		return "", nil, protocol.Bad("the statement has %d question marks and %d parameters", marks, params)
	}
	return b.String(), order, nil
}

// returnsRows reports whether a statement returns rows.
func returnsRows(text string) bool {
	first := ""
	for _, t := range sqltext.Split(text) {
		if t.Kind != sqltext.Word {
			continue
		}
		if first == "" {
			first = strings.ToUpper(t.Text)
		}
		if t.Is("RETURNING") {
			return true
		}
	}
	switch first {
	case "SELECT", "SHOW", "WITH", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE", "DESC", "ANALYZE", "CHECK", "OPTIMIZE",
		"CALL":
		return true
	}
	return false
}

// keyColumn is the column of a record's key, named as in YCSB's clients.
const keyColumn = "YCSB_KEY"

// recordStatement translates a request on records to SQL. order is the number of the argument for each question
// mark. records is the request if the answer shows which of its records are missing, otherwise nil.
func recordStatement(req *protocol.Request) (text string, order []int, records *kv.Request, refused *protocol.Error) {
	r, refused := kv.Parse(req)
	if refused != nil {
		return "", nil, nil, refused
	}
	table := quoteTable(r.Table)
	for i := range r.Rows * r.PerRow {
		order = append(order, i)
	}
	keys := "= ?"
	if r.Rows > 1 {
		keys = "IN " + sqlconn.Tuples(1, r.Rows, false)
	}
	switch {
	case r.Verb == protocol.Read:
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s %s", columns(&r), table, keyColumn, keys), order, &r, nil
	case r.Verb == protocol.Scan:
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s >= ? ORDER BY %[3]s LIMIT ?", columns(&r), table, keyColumn), order,
			nil, nil
	case r.Verb == protocol.Delete:
		return fmt.Sprintf("DELETE FROM %s WHERE %s %s", table, keyColumn, keys), order, &r, nil
	case r.Verb == protocol.Update && req.Verb != protocol.Batch:
		return fmt.Sprintf("UPDATE %s SET %s WHERE %s = ?", table, assignments(r.Fields, "?"), keyColumn),
			append(order[1:], 0), &r, nil
	}
	values := sqlconn.Tuples(r.Rows, r.PerRow, false)
	names := keyColumn + ", " + strings.Join(quoted(r.Fields), ", ")
	if r.Verb == protocol.Insert {
		return fmt.Sprintf("INSERT IGNORE INTO %s (%s) VALUES %s", table, names, values), order, &r, nil
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s ON DUPLICATE KEY UPDATE %s", table, names, values,
		assignments(r.Fields, "")), order, nil, nil
}

func columns(r *kv.Request) string {
	if len(r.Fields) == 0 {
		return "*"
	}
	return strings.Join(quoted(r.Fields), ", ")
}

// quoted returns the quoted column names of fields, in capitals. Column names don't depend on letter case.
func quoted(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = quote(strings.ToUpper(f))
	}
	return out
}

// assignments returns an assignment for each field: of value or, if that is "", of the value that the INSERT has
// for the field.
func assignments(fields []string, value string) string {
	var out []string
	for _, f := range quoted(fields) {
		if value == "" {
			out = append(out, f+" = VALUES("+f+")")
		} else {
			out = append(out, f+" = "+value)
		}
	}
	return strings.Join(out, ", ")
}

// argument returns a value in a form that the library accepts. Decimals and UUIDs are sent as text.
func argument(v *gen.Value) sqldriver.Value {
	switch v.Kind {
	case gen.Bool:
		return v.I
	case gen.UUID:
		return string(gen.AppendUUID(nil, v.B))
	}
	return v.Any()
}
