package postgres

import (
	"context"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
)

const people = `create table person (id int primary key, code varchar(40), email text, phone text, name text collate "en-x-icu", doc jsonb, born timestamp with time zone);
	insert into person select g, md5(g::text), 'User' || g || '@example.com', (g * 7)::text, md5((g * 3)::text),
		jsonb_build_object('email', 'u' || g, 'city', g % 10), '2000-01-01'::timestamptz + g * interval '1 hour' from generate_series(1, 20000) g`

// special is a statement that a plain index on the column doesn't support.
type special struct {
	name, index string // existing index
	sent        string
	arguments   []string
	ddl         string // proposed index; "" if none is proposed
	advice      string // text of the finding seq-scan; "" if there is none
}

func TestSpecialIndexes(t *testing.T) {
	for _, c := range []special{
		{name: "cast of a key", sent: "select * from person where id::text = $1", arguments: []string{"77"},
			ddl:    "CREATE INDEX CONCURRENTLY person_id_text_idx ON person (((id)::text)); ANALYZE person",
			advice: "id is cast to text"},
		{name: "key compared with a number", sent: "select * from person where id = $1::numeric", arguments: []string{"77"},
			ddl: "ON person (((id)::numeric))", advice: "integer"},
		{name: "cast that is free", index: "create index on person (code)",
			sent: "select * from person where code::text = $1", arguments: []string{"x"}},
		{name: "no index", sent: "select * from person where code = $1",
			arguments: []string{"x"}, ddl: "CREATE INDEX CONCURRENTLY person_code_idx ON person (code)",
			advice: "index on person (code)"},
		{name: "key compared as it is", sent: "select * from person where id = $1", arguments: []string{"77"}},
		{name: "or", sent: "select * from person where email = $1 or phone = $2", arguments: []string{"a", "b"},
			ddl:    "CREATE INDEX CONCURRENTLY person_email_idx ON person (email); CREATE INDEX CONCURRENTLY person_phone_idx ON person (phone)",
			advice: "(email), (phone)"},
		{name: "or with one index", index: "create index on person (phone)",
			sent: "select * from person where email = $1 or phone = $2", arguments: []string{"a", "b"},
			ddl: "CREATE INDEX CONCURRENTLY person_email_idx ON person (email)", advice: "each side: (email)"},
		{name: "or with both", index: "create index on person (phone); create index on person (email)",
			sent: "select * from person where email = $1 or phone = $2", arguments: []string{"a", "b"}},
		{name: "or with a side that no index serves",
			sent: "select * from person where email = $1 or phone like '%55555'", arguments: []string{"a"},
			advice: "no index"},
		{name: "lower", index: "create index on person (email)",
			sent: "select * from person where lower(email) = $1", arguments: []string{"user7@example.com"},
			ddl:    "CREATE INDEX CONCURRENTLY person_lower_email_idx ON person ((lower(email))); ANALYZE person",
			advice: "CREATE INDEX ON person ((lower(email)))"},
		{name: "lower with its index", index: "create index on person (lower(email))",
			sent: "select * from person where lower(email) = $1", arguments: []string{"user7@example.com"}},
		{name: "function of the time zone", sent: "select * from person where to_char(born, 'YYYY') = $1",
			arguments: []string{"1999"}, advice: "no index"},
		{name: "json", sent: "select * from person where doc->>'email' = $1", arguments: []string{"u7"},
			ddl:    "ON person ((doc ->> 'email'::text)); ANALYZE person",
			advice: "CREATE INDEX ON person ((doc ->> 'email'::text))"},
		{name: "json with its index", index: "create index on person ((doc->>'email'))",
			sent: "select * from person where doc->>'email' = $1", arguments: []string{"u7"}},
		{name: "like", index: "create index on person (name)", sent: "select * from person where name like 'abc%'",
			ddl:    "CREATE INDEX CONCURRENTLY person_brunt_1_idx ON person (name text_pattern_ops)",
			advice: "CREATE INDEX ON person (name text_pattern_ops)"},
		{name: "like with a pattern of the load", sent: "select * from person where name like $1",
			arguments: []string{"abc%"}, ddl: "ON person (name text_pattern_ops)", advice: "text_pattern_ops"},
		{name: "like with its index", index: "create index on person (name text_pattern_ops)",
			sent: "select * from person where name like 'abc%'"},
		{name: "like without a beginning", sent: "select * from person where name like '%abcdef%'",
			ddl:    "CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE INDEX CONCURRENTLY person_name_gin_idx ON person USING gin (name gin_trgm_ops)",
			advice: "USING gin (name gin_trgm_ops)"},
		{name: "contains", sent: "select * from person where doc @> $1::jsonb", arguments: []string{`{"email": "u7"}`},
			ddl:    "CREATE INDEX CONCURRENTLY person_doc_gin_idx ON person USING gin (doc)",
			advice: "CREATE INDEX ON person USING gin (doc)"},
		{name: "contains with its index", index: "create index on person using gin (doc)",
			sent: "select * from person where doc @> $1::jsonb", arguments: []string{`{"email": "u7"}`}},
		{name: "wrong order", index: "create index person_born_code on person (born, code)",
			sent: "select * from person where code = $1", arguments: []string{"x"},
			ddl:    "CREATE INDEX CONCURRENTLY person_code_idx ON person (code)",
			advice: "person_born_code has code, but after born"},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
}

func (c *special) test(t *testing.T) {
	d := newDatabase(t, counting(t), people)
	if c.index != "" {
		sure(t, d.conn, c.index)
	}
	sure(t, d.conn, "vacuum analyze person")
	var sent []any
	var known []*string
	for i := range c.arguments {
		sent, known = append(sent, c.arguments[i]), append(known, &c.arguments[i])
	}
	if c.name == "key compared as it is" || strings.Contains(c.sent, "numeric") {
		sent[0] = 77
	}
	find := inspect.Operation{Name: "find", Statements: []string{c.sent}, Done: 3,
		Arguments: func(int, int) ([]*string, bool) { return known, true }}
	in := d.inspected(d.repeat(3, c.sent, sent...), find)
	if c.advice == "" {
		inspecttest.Silent(t, in, FindSeqScan)
	} else {
		inspecttest.Expect(t, in, FindSeqScan, c.advice)
	}
	sure(t, d.conn, "create extension hypopg")
	list := d.proposed(in)
	if c.ddl == "" {
		if len(list) > 0 {
			t.Errorf("%+v", list)
		}
		return
	}
	if len(list) != 1 || !strings.Contains(list[0].DDL, c.ddl) {
		t.Fatalf("%+v", list)
	}
	d.carriedOut(&list[0])
	plan := d.inspected(d.repeat(3, c.sent, sent...), find)
	inspecttest.Silent(t, plan, FindSeqScan)
	if again := d.proposed(plan); len(again) > 0 {
		t.Errorf("proposed again: %+v", again)
	}
}

// proposed returns the advice for an inspection.
func (d *database) proposed(in *record.Inspection) []record.Proposal {
	d.t.Helper()
	db, err := Open(context.Background(), d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	list, err := db.Propose(context.Background(), []record.Inspection{*in})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// carriedOut builds the proposed index, drops it, and builds it again, as an A/B test does.
func (d *database) carriedOut(p *record.Proposal) {
	d.t.Helper()
	ctx := context.Background()
	db, err := Open(ctx, d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	for i, script := range []string{p.DDL, p.Drop, p.DDL} {
		if err := db.Exec(ctx, script, inspect.Progress{}); err != nil {
			d.t.Fatal(err)
		}
		if there, err := db.Settle(ctx, p); err != nil || there != (i != 1) {
			d.t.Errorf("after %s: %v, %v", script, there, err)
		}
	}
}
