package ycsb

import (
	"fmt"
	"strings"

	"brunt/internal/driver"
)

// sqlStore asks in SQL: a table of a key and one column a field.
type sqlStore struct {
	s      *Settings
	insert string // what stands before INTO …: "INSERT"
	ignore string // what ends an insert so that an existing record stays: " ON CONFLICT DO NOTHING"
	text   string // type of keys and fields; %d is the length
	order  string // what a scan ends with before its limit
}

// keyWidth is how long a key may be: 64 characters, or what the prefix and padding need.
func (s *Settings) keyWidth() int {
	return max(64, len(s.Keys.Prefix)+max(20, s.Keys.Padding))
}

func (q *sqlStore) table() string { return q.s.Table }

func (q *sqlStore) Prepare(drop bool) []driver.Request {
	var out []driver.Request
	exec := func(text string) {
		out = append(out, driver.Request{Verb: driver.SQL, Text: text, Simple: true})
	}
	if drop {
		exec("DROP TABLE IF EXISTS " + q.table())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (YCSB_KEY %s PRIMARY KEY", q.table(), fmt.Sprintf(q.text, q.s.keyWidth()))
	for _, f := range q.s.Fields {
		fmt.Fprintf(&b, ", %s %s", strings.ToUpper(f), fmt.Sprintf(q.text, max(q.s.FieldLength, 1)))
	}
	b.WriteString(")")
	exec(b.String())
	return out
}

func sqlRequest(text string, slots ...Slot) []Request {
	return []Request{{Request: driver.Request{Verb: driver.SQL, Text: text}, Slots: slots}}
}

func (q *sqlStore) Read(fields []string, check bool) []Request {
	r := sqlRequest(fmt.Sprintf("SELECT %s FROM %s WHERE YCSB_KEY = $1", strings.Join(fields, ","), q.table()), KeySlot)
	if check {
		for i := range fields {
			r[0].Capture = append(r[0].Capture, driver.Capture{Column: i})
		}
	}
	return r
}

func (q *sqlStore) Scan(fields []string) []Request {
	return sqlRequest(fmt.Sprintf("SELECT %s FROM %s WHERE YCSB_KEY >= $1%s LIMIT $2", strings.Join(fields, ","), q.table(), q.order), KeySlot, CountSlot)
}

// List asks for records from a key on, in the keys' order, with their keys first.
func (q *sqlStore) List(fields []string) []Request {
	return sqlRequest(fmt.Sprintf("SELECT YCSB_KEY,%s FROM %s WHERE YCSB_KEY >= $1 ORDER BY YCSB_KEY LIMIT $2", strings.Join(fields, ","), q.table()), KeySlot, CountSlot)
}

func (q *sqlStore) Insert(fields []string) []Request {
	return sqlRequest(q.insertText(fields, 1), KeySlot, FieldSlots)
}

// insertText is an insert of some records.
func (q *sqlStore) insertText(fields []string, rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s INTO %s (YCSB_KEY", q.insert, q.table())
	for _, f := range fields {
		b.WriteString(" ," + f)
	}
	b.WriteString(") VALUES ")
	n := 1
	for r := range rows {
		if r > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "($%d", n)
		n++
		for range fields {
			fmt.Fprintf(&b, " ,$%d", n)
			n++
		}
		b.WriteString(")")
	}
	return b.String() + q.ignore
}

func (q *sqlStore) Update(fields []string) []Request {
	var set []string
	for i, f := range fields {
		set = append(set, fmt.Sprintf("%s = $%d", f, i+1))
	}
	text := fmt.Sprintf("UPDATE %s SET %s WHERE YCSB_KEY = $%d", q.table(), strings.Join(set, ", "), len(fields)+1)
	return sqlRequest(text, FieldSlots, KeySlot)
}

func (q *sqlStore) Delete() []Request {
	return sqlRequest(fmt.Sprintf("DELETE FROM %s WHERE YCSB_KEY = $1", q.table()), KeySlot)
}

// updateText is an update of all fields of some records. PostgreSQL and SQLite both call the columns
// of VALUES column1, column2 …
func (q *sqlStore) updateText(fields []string, rows int) string {
	var set, values []string
	for i, f := range fields {
		set = append(set, fmt.Sprintf("%s = v.column%d", f, i+2))
	}
	n := 1
	for range rows {
		var row []string
		for range len(fields) + 1 {
			row = append(row, fmt.Sprintf("$%d", n))
			n++
		}
		values = append(values, "("+strings.Join(row, ", ")+")")
	}
	return fmt.Sprintf("UPDATE %s SET %s FROM (VALUES %s) AS v WHERE YCSB_KEY = v.column1", q.table(), strings.Join(set, ", "), strings.Join(values, ", "))
}

// Batch inserts, updates or reads several records with one statement.
func (q *sqlStore) Batch(verb driver.Verb, fields []string, rows int) []Request {
	switch verb {
	case driver.Insert:
		return sqlRequest(q.insertText(fields, rows), KeySlot, FieldSlots)
	case driver.Update:
		return sqlRequest(q.updateText(fields, rows), KeySlot, FieldSlots)
	case driver.Read:
		marks := make([]string, rows)
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
		return sqlRequest(fmt.Sprintf("SELECT %s FROM %s WHERE YCSB_KEY IN (%s)", strings.Join(fields, ","), q.table(), strings.Join(marks, ", ")), KeySlot)
	}
	return nil
}
