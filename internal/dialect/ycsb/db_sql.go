package ycsb

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// sqlStore uses SQL. The table has a column for the key and one for each field.
type sqlStore struct {
	s       *Settings
	schemas bool   // a table may be in a schema, which its name begins with
	insert  string // the words before INTO: "INSERT"
	ignore  string // the end of an insert that keeps existing records: " ON CONFLICT DO NOTHING"
}

func (q *sqlStore) Prepare(drop bool) []protocol.Request {
	var out []protocol.Request
	exec := func(text string) {
		out = append(out, protocol.Request{Verb: protocol.SQL, Text: text, Simple: true})
	}
	if at := strings.LastIndexByte(q.s.Table, '.'); at > 0 && len(sqltext.Path(q.s.Table)) > 1 && q.schemas {
		schema := q.s.Table[:at]
		exec(fmt.Sprintf("DO $$ BEGIN IF to_regnamespace(%s) IS NULL THEN CREATE SCHEMA %s; END IF; END $$",
			sqltext.QuoteText(schema), schema))
	}
	if drop {
		exec("DROP TABLE IF EXISTS " + q.s.Table)
	}
	// A key may have 64 characters, or more if the prefix and padding need more.
	keyWidth := max(64, len(q.s.Keys.Prefix)+max(20, q.s.Keys.Padding))
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (YCSB_KEY VARCHAR(%d) PRIMARY KEY", q.s.Table, keyWidth)
	for _, f := range q.s.Fields {
		fmt.Fprintf(&b, ", %s VARCHAR(%d)", strings.ToUpper(f), max(q.s.FieldLength, 1))
	}
	b.WriteString(")")
	exec(b.String())
	return out
}

func sqlRequest(text string, slots ...Slot) []Request {
	return []Request{{Request: protocol.Request{Verb: protocol.SQL, Text: text}, Slots: slots}}
}

func (q *sqlStore) Read(fields []string, check bool) []Request {
	r := sqlRequest(fmt.Sprintf("SELECT %s FROM %s WHERE YCSB_KEY = $1", strings.Join(fields, ","), q.s.Table), KeySlot)
	if check {
		for i := range fields {
			r[0].Capture = append(r[0].Capture, protocol.Capture{Column: i})
		}
	}
	return r
}

func (q *sqlStore) Scan(fields []string) []Request {
	return sqlRequest(fmt.Sprintf("SELECT %s FROM %s WHERE YCSB_KEY >= $1 LIMIT $2", strings.Join(fields, ","), q.s.Table),
		KeySlot, CountSlot)
}

// List reads records with their keys in the first column, in the order of the keys, from a key on.
func (q *sqlStore) List(fields []string) []Request {
	return sqlRequest(fmt.Sprintf("SELECT YCSB_KEY,%s FROM %s WHERE YCSB_KEY >= $1 ORDER BY YCSB_KEY LIMIT $2",
		strings.Join(fields, ","), q.s.Table), KeySlot, CountSlot)
}

func (q *sqlStore) Insert(fields []string) []Request {
	return sqlRequest(q.insertText(fields, 1), KeySlot, FieldSlots)
}

// insertText returns an INSERT statement for that many records.
func (q *sqlStore) insertText(fields []string, rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s INTO %s (YCSB_KEY", q.insert, q.s.Table)
	for _, f := range fields {
		b.WriteString(" ," + f)
	}
	b.WriteString(") VALUES ")
	for r := range rows {
		if r > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(" + strings.Join(marks(r*(len(fields)+1), len(fields)+1), " ,") + ")")
	}
	return b.String() + q.ignore
}

func (q *sqlStore) Update(fields []string) []Request {
	var set []string
	for i, f := range fields {
		set = append(set, fmt.Sprintf("%s = $%d", f, i+1))
	}
	text := fmt.Sprintf("UPDATE %s SET %s WHERE YCSB_KEY = $%d", q.s.Table, strings.Join(set, ", "), len(fields)+1)
	return sqlRequest(text, FieldSlots, KeySlot)
}

func (q *sqlStore) Delete() []Request {
	return sqlRequest(fmt.Sprintf("DELETE FROM %s WHERE YCSB_KEY = $1", q.s.Table), KeySlot)
}

// updateText returns an UPDATE statement for all fields of that many records. Both PostgreSQL and SQLite name the
// columns of VALUES column1, column2 …
func (q *sqlStore) updateText(fields []string, rows int) string {
	var set, values []string
	for i, f := range fields {
		set = append(set, fmt.Sprintf("%s = v.column%d", f, i+2))
	}
	for r := range rows {
		values = append(values, "("+strings.Join(marks(r*(len(fields)+1), len(fields)+1), ", ")+")")
	}
	return fmt.Sprintf("UPDATE %s SET %s FROM (VALUES %s) AS v WHERE YCSB_KEY = v.column1", q.s.Table,
		strings.Join(set, ", "), strings.Join(values, ", "))
}

// marks returns n placeholders that follow the first before ones.
func marks(before, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("$%d", before+i+1)
	}
	return out
}

// Batch inserts, updates or reads several records with one statement.
func (q *sqlStore) Batch(verb protocol.Verb, fields []string, rows int) []Request {
	switch verb {
	case protocol.Insert:
		return sqlRequest(q.insertText(fields, rows), KeySlot, FieldSlots)
	case protocol.Update:
		return sqlRequest(q.updateText(fields, rows), KeySlot, FieldSlots)
	case protocol.Read:
		return sqlRequest(fmt.Sprintf("SELECT %s FROM %s WHERE YCSB_KEY IN (%s)", strings.Join(fields, ","), q.s.Table,
			strings.Join(marks(0, rows), ", ")), KeySlot)
	}
	return nil
}

func postgresDatabase() *Database {
	return &Database{
		Names:    []string{"pg", "postgresql", "postgres", "cockroach", "cdb"},
		About:    "PostgreSQL, and what speaks its protocol: CockroachDB, YugabyteDB …",
		Protocol: "pg", Batches: true, LoadPipeline: 8,
		Properties: propertiesOf("pg"),
		Keywords: map[string]string{
			"host": "pg.host", "port": "pg.port", "user": "pg.user", "dbname": "pg.db", "sslmode": "pg.sslmode",
		},
		Translate: func(t *translation) {
			t.jdbc("db", "pg", []string{"postgresql"}, "postgresql", "edb")
			t.jdbc("postgrenosql", "pg", []string{"postgresql"}, "postgresql", "edb")
			t.choose("postgrenosql.autocommit", "", map[string]string{"true": ""})
		},
		Target: func(set *properties.Reader) plan.Target {
			port := set.Int("pg.port", 5432, 1, 65535)
			t := plan.Target{
				Protocol: "pg", User: set.Text("pg.user", "root"), Password: set.Text("pg.password", ""),
				Database: set.Text("pg.db", "test"),
			}
			for _, host := range list(set.Text("pg.host", "127.0.0.1")) {
				t.Addresses = append(t.Addresses, join(host, fmt.Sprint(port)))
			}
			mode := set.Choice("pg.sslmode", "disable", "disable", "allow", "prefer", "require", "verify-ca", "verify-full")
			t.TLS.Enabled = mode == "require" || mode == "verify-ca" || mode == "verify-full"
			t.TLS.InsecureSkipVerify = mode == "require"
			return t
		},
	}
}

// join adds a port to a host that has none.
func join(host, port string) string {
	if _, _, e := net.SplitHostPort(host); e == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

func sqliteDatabase() *Database {
	return &Database{
		Names: []string{"sqlite"}, About: "SQLite, inside brunt", Protocol: "sqlite", Batches: true,
		Properties: propertiesOf("sqlite"),
		Translate: func(t *translation) {
			t.without("db.user", "db.passwd")
			t.jdbcSettings("sqlite")
			if address, given := t.get("db.url"); given {
				path, ok := strings.CutPrefix(address, "jdbc:sqlite:")
				if !ok || path == "" || strings.ContainsAny(path, "?") {
					t.fail("db.url", "give jdbc:sqlite:path")
					return
				}
				t.put("db.url", "sqlite.db", path)
			}
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol:  "sqlite",
				Addresses: []string{set.Text("sqlite.db", filepath.Join(os.TempDir(), "ycsb.db"))},
				Options: options(set, map[string]string{"sqlite.journalmode": "journal_mode",
					"sqlite.synchronous": "synchronous"}),
			}
		},
	}
}
