package mysql

import (
	"context"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/load/gen"
	"brunt/internal/record"
)

// An index is proposed for a scan, tried by building it, and nothing remains of it.
func TestIndexIsProposed(t *testing.T) {
	d := newDatabase(t, counting(t), books, "ANALYZE TABLE book")
	text := "SELECT id FROM book WHERE author = ?"
	in := d.inspected(d.repeat(5, text, 3), operation("by author", text, []gen.Kind{gen.Int}, "3"))
	ctx := context.Background()
	db, err := Open(ctx, d.url(), true)
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Propose(ctx, []record.Inspection{*in})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	p := &list[0]
	if !strings.HasPrefix(p.DDL, "CREATE INDEX `book_author_brunt_idx` ON `book` (author)") || len(p.Gains) != 1 ||
		p.Gains[0].Statement != in.Windows[0].Statements[0].ID {
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
	if err := db.Exec(ctx, p.DDL, inspect.Progress{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(ctx, p.DDL, inspect.Progress{Begun: true}); err != nil { // an attempt that was killed had built it
		t.Error(err)
	}
	in = d.inspected(d.repeat(5, text, 3), operation("by author", text, []gen.Kind{gen.Int}, "3"))
	inspecttest.Silent(t, in, FindFullScan)
}
