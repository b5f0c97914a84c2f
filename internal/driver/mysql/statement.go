package mysql

import (
	"context"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/driver/kv"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/sqltext"
)

// statement is a request made ready.
type statement struct {
	sqlconn.Statement
	kind     driver.Kind
	before   string      // a statement to run first, or ""
	order    []int       // which argument each question mark stands for
	params   int         // how many arguments it takes
	rows     bool        // it returns rows
	records  *kv.Request // what it asks for, if missing records are to be noticed; or nil
	captures []int       // columns; nil until the first answer
}

// prepare makes a request ready on a session.
func (st *statement) prepare(ctx context.Context, s *session, req *driver.Request) *driver.Error {
	st.kind = req.Kind()
	switch req.Verb {
	case driver.SQL:
	case driver.Begin:
		st.Text = "START TRANSACTION"
		if level := strings.TrimSpace(req.Text); level != "" {
			st.before = "SET TRANSACTION ISOLATION LEVEL " + strings.ToUpper(level)
		}
		return nil
	case driver.Commit:
		st.Text = "COMMIT"
		return nil
	case driver.Rollback:
		st.Text = "ROLLBACK"
		return nil
	}
	var refused *driver.Error
	if req.Verb == driver.SQL {
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
		return driver.Bad("the statement returns no rows to capture from")
	}
	if req.Simple {
		return nil
	}
	if err := st.Prepare(ctx, s); err != nil {
		e := s.Failure(ctx, err)
		if req.ExpectError && e.Class == driver.Server && !e.Fatal {
			return nil
		}
		return e
	}
	if n := st.Prepared.NumInput(); n >= 0 && n != len(st.order) {
		return driver.Bad("the server sees %d parameters in the statement, the plan gives %d", n, len(st.order))
	}
	return nil
}

// questionMarks replaces numbered parameters by question marks. A statement that has only question
// marks keeps them.
func questionMarks(text string, params int) (out string, order []int, refused *driver.Error) {
	var b strings.Builder
	marks := 0
	for _, token := range sqltext.Split(text) {
		n, numbered := token.Parameter()
		switch {
		case token.Kind == sqltext.Mark:
			order = append(order, marks)
			marks++
		case numbered && (n < 1 || n > params):
			return "", nil, driver.Bad("the statement uses %.20s but has %d parameters", token.Text, params)
		case numbered:
			order = append(order, n-1)
			b.WriteByte('?')
			continue
		}
		b.WriteString(token.Text)
	}
	if marks > 0 && (marks != params || len(order) != marks) {
		return "", nil, driver.Bad("the statement has %d question marks and %d parameters", marks, params)
	}
	return b.String(), order, nil
}

// returnsRows tells queries from statements that change something.
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
	case "SELECT", "SHOW", "WITH", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE", "DESC", "ANALYZE", "CHECK", "OPTIMIZE", "CALL":
		return true
	}
	return false
}
