package mysql

import (
	"fmt"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/driver/kv"
	"brunt/internal/driver/sqlconn"
)

// keyColumn is the column of a record's key, as YCSB's clients name it.
const keyColumn = "YCSB_KEY"

// recordStatement writes a request on records as SQL. order says which argument each question mark
// stands for, records the request if the answer tells whether its records are there.
func recordStatement(req *driver.Request) (text string, order []int, records *kv.Request, refused *driver.Error) {
	r, refused := kv.Parse(req)
	if refused != nil {
		return "", nil, nil, refused
	}
	table := quote(r.Table)
	for i := range r.Rows * r.PerRow {
		order = append(order, i)
	}
	keys := "= ?"
	if r.Rows > 1 {
		keys = "IN " + sqlconn.Tuples(1, r.Rows, false)
	}
	switch {
	case r.Verb == driver.Read:
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s %s", columns(&r), table, keyColumn, keys), order, &r, nil
	case r.Verb == driver.Scan:
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s >= ? ORDER BY %[3]s LIMIT ?", columns(&r), table, keyColumn), order, nil, nil
	case r.Verb == driver.Delete:
		return fmt.Sprintf("DELETE FROM %s WHERE %s %s", table, keyColumn, keys), order, &r, nil
	case r.Verb == driver.Update && req.Verb != driver.Batch:
		return fmt.Sprintf("UPDATE %s SET %s WHERE %s = ?", table, assignments(r.Fields, "?"), keyColumn), append(order[1:], 0), &r, nil
	}
	values := sqlconn.Tuples(r.Rows, r.PerRow, false)
	names := keyColumn + ", " + strings.Join(quoted(r.Fields), ", ")
	if r.Verb == driver.Insert {
		return fmt.Sprintf("INSERT IGNORE INTO %s (%s) VALUES %s", table, names, values), order, nil, nil
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s ON DUPLICATE KEY UPDATE %s", table, names, values, assignments(r.Fields, "")), order, nil, nil
}

func columns(r *kv.Request) string {
	if len(r.Fields) == 0 {
		return "*"
	}
	return strings.Join(quoted(r.Fields), ", ")
}

// quoted are the columns of fields. Columns' names are the same in any letter case.
func quoted(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = quote(strings.ToUpper(f))
	}
	return out
}

// assignments sets each field to value, or to what an INSERT would have given it.
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
