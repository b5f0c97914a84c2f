package postgres

import (
	"context"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
)

// Rows in an order, of which only the first are returned, are read by an index with that order.
func TestOrderWithLimitIsAdvised(t *testing.T) {
	d := newDatabase(t, counting(t), people, "vacuum analyze person")
	sent := "select id, email from person order by born desc limit $1"
	in := d.inspected(d.repeat(3, sent, 10), inspect.Operation{Name: "latest", Statements: []string{sent}, Done: 3,
		Arguments: func(int, int) ([]*string, bool) { return []*string{text("10")}, true }})
	inspecttest.Expect(t, in, FindSorted, "20,000 rows", "to return 10", "CREATE INDEX ON person (born desc)")
	sure(t, d.conn, "create extension hypopg")
	list := d.proposed(in)
	if len(list) != 1 || !strings.Contains(list[0].DDL, "ON person (born desc)") {
		t.Fatalf("%+v", list)
	}
	d.carriedOut(&list[0])
	inspecttest.Silent(t, d.inspected(d.repeat(3, sent, 10)), FindSorted)
}

// The work_mem that is advised is more than there is, also for a hashed aggregate, which has most of its rows in
// memory. An index with the order helps a sort, and no sum.
func TestSpillAdvice(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	for _, set := range []string{"work_mem = ''256kB''", "enable_sort = off"} {
		sure(t, d.conn, "do $$ begin execute format('alter database %I set "+set+"', current_database()); end $$")
	}
	d.conn = d.connect("client") // with these settings
	sum := d.inspected(d.repeat(3, "select author, sum(price) from book group by author"))
	f := inspecttest.Expect(t, sum, FindSpill, "work_mem is")
	if strings.Contains(f.Advice.String(), "order") {
		t.Errorf("an order for a sum: %s", f.Advice)
	}
	sure(t, d.conn, "do $$ begin execute format('alter database %I reset enable_sort', current_database()); end $$")
	sorted := d.inspected(d.repeat(3, "select * from book order by name, author"))
	inspecttest.Expect(t, sorted, FindSpill, "CREATE INDEX ON book (name, author)")
	c := caseFile{catalog: catalog{workMem: "4MB"}}
	for needB, want := range map[float64]float64{1 << 20: 8 << 20, 30 << 20: 64 << 20} {
		if got := c.enoughMemory(needB); got != want {
			t.Errorf("%g B: advised %g, want %g", needB, got, want)
		}
	}
	if n := (&node{Type: "Aggregate", PeakKB: 4145, DiskKB: 800}); n.spilledKB() != 4145+1600 {
		t.Errorf("%g kB", n.spilledKB())
	}
}

// A table that autovacuum leaves alone needs autovacuum, not another threshold.
func TestAutovacuumOffIsSaid(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book set (autovacuum_enabled = off)", "analyze book")
	in := d.inspected(d.repeat(2, "update book set price = price + 1"))
	inspecttest.Expect(t, in, FindBloat, "autovacuum_enabled=off", "RESET (autovacuum_enabled)")
}

// No finding advises to drop an index that another finding needs.
func TestAdviceDoesNotContradict(t *testing.T) {
	c := caseFile{catalog: catalog{indexes: []indexFacts{
		{name: "public.i", table: "public.t", definition: `CREATE INDEX i ON public.t USING btree (a, lower(c), "B" DESC NULLS LAST)`},
		{name: "public.j", table: "public.t", definition: `CREATE INDEX j ON public.t USING btree (b)`},
	}}}
	if keys := c.catalog.indexes[0].keysOf(); !slices.Equal(keys, []string{"a", "lowerc", "b"}) {
		t.Errorf("%q", keys)
	}
	c.add(record.Finding{ID: FindUnusedIndex, Subject: "i"})
	c.add(record.Finding{ID: FindUnusedIndex, Subject: "j"})
	c.wants("public.t", "a")
	c.reconcile()
	if len(c.findings) != 1 || c.findings[0].Subject != "j" {
		t.Errorf("%+v", c.findings)
	}
}

// Every CREATE INDEX of the advice is accepted by the server.
func TestAdvisedStatementsAreAccepted(t *testing.T) {
	d := newDatabase(t, counting(t), people, "alter table person add tags text[], add words tsvector",
		"update person set tags = array[code], words = to_tsvector('simple', code)", "vacuum analyze person")
	in := d.inspected(func(i *Inspector) {
		for _, sql := range []string{
			`select * from person where doc @> '{"email": "u7"}'`, "select * from person where doc ? 'nothing'",
			"select * from person where tags && array['x']", "select * from person where words @@ to_tsquery('simple', 'x')",
			"select * from person where name ilike '%abcdef%'", "select * from person where email ~ 'r77@'",
			"select * from person where doc->'city' = '77'", "select * from person where upper(code) = 'x'",
			"select * from person where (born at time zone 'UTC')::date = '1990-01-01'",
		} {
			d.repeat(2, sql)(i)
		}
	})
	tried := 0
	for _, f := range found(in, FindSeqScan) {
		for _, ddl := range advisedIn(f.Advice.String()) {
			if strings.Contains(ddl, "$") {
				continue // a constant is to be put in
			}
			if strings.Contains(ddl, "gin_trgm_ops") {
				sure(t, d.conn, "create extension if not exists pg_trgm")
			}
			if _, err := d.conn.Exec(context.Background(), ddl); err != nil {
				t.Errorf("%s: %v", ddl, err)
			}
			tried++
		}
	}
	if tried < 4 {
		t.Errorf("%d statements advised: %+v", tried, in.Findings)
	}
}

// advisedIn returns the statements that create indexes in a text.
func advisedIn(text string) (all []string) {
	for {
		at := strings.Index(text, "CREATE INDEX ON ")
		if at < 0 {
			return all
		}
		text = text[at:]
		depth, end := 0, len(text)
		for i, r := range text {
			if r == '(' {
				depth++
			} else if r == ')' {
				if depth--; depth == 0 {
					end = i + 1
					break
				}
			}
		}
		all, text = append(all, text[:end]), text[end:]
	}
}

// A pattern that isn't known is one that values match: with wildcards.
func TestPatternsKeepWildcards(t *testing.T) {
	d := newDatabase(t, counting(t), people, "vacuum analyze person")
	in := d.inspected(d.repeat(3, "select * from person where code like $1", "%abcdef%"))
	if p := in.Plans[0]; len(p.Arguments) != 1 || !strings.HasPrefix(p.Arguments[0], "'%") ||
		!strings.HasSuffix(p.Arguments[0], "%'") || len(p.Arguments[0]) != 9 {
		t.Errorf("%q", p.Arguments)
	}
	if got := patternOf("a_b%c"); got != `%a\_b\%c%` {
		t.Error(got)
	}
}
