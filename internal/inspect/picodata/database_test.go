package picodata

import (
	"context"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// An index is proposed for a scan, tried by building it, and nothing remains of it.
func TestIndexIsProposed(t *testing.T) {
	s := standIn(t)
	in := inspected(t, urlOf(s, metrics(t, text(100, 0, 0, 1, 2))),
		statement("sold", `SELECT "id" FROM "sold" WHERE "book" = 5`))
	ctx := context.Background()
	db, err := Open(ctx, urlOf(s), true)
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Propose(ctx, []record.Inspection{*in})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v; %+v", list, err, in.Plans)
	}
	p := &list[0]
	if p.DDL != `CREATE INDEX "sold_book_brunt_idx" ON "sold" USING TREE ("book") OPTION (TIMEOUT = 600)` ||
		p.Drop != `DROP INDEX "sold_book_brunt_idx" OPTION (TIMEOUT = 600)` || p.Gains[0].Before != 5000 {
		t.Errorf("%+v", p)
	}
	for _, step := range []struct {
		script string
		there  bool
	}{{"", false}, {p.DDL, true}, {p.Drop, false}} {
		if err := db.Exec(ctx, step.script, inspect.Progress{}); err != nil {
			t.Fatal(err)
		}
		if there, err := db.Settle(ctx, p); there != step.there || err != nil {
			t.Errorf("after %q: %v, %v", step.script, there, err)
		}
	}
}
