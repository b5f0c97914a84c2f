package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func chunkOf(first, rows uint64) *protocol.Chunk {
	return &protocol.Chunk{Table: `t "1`, Keys: []string{"id"}, Columns: []protocol.Column{{Name: "id"}, {Name: "s"},
		{Name: "Δ x"}}, First: first, Rows: rows,
		Row: func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row))
			v[1].SetString(fmt.Sprint("text ", row))
			v[2].SetNull()
			if row%2 == 0 {
				v[2].Kind, v[2].F = gen.Float, float64(row)/2
			}
		}}
}

func TestLoad(t *testing.T) {
	a := openAdmin(t, New(), fileTarget(t), `CREATE TABLE "t ""1" (id INTEGER PRIMARY KEY, s TEXT, "Δ x" REAL)`)
	c := chunkOf(100, 12345)
	told := uint64(0)
	c.Progress = func(rows uint64) { told += rows }
	if n, err := a.Load(context.Background(), c, false); n != 12345 || err != nil || told != 12345 {
		t.Fatalf("%d rows, %d told, %v", n, told, err)
	}
	const sum = `SELECT count(*), min(id), max(id), sum(s = 'text ' || id), sum("Δ x" = id / 2.0), sum("Δ x" IS NULL) FROM "t ""1"`
	const want = "12345 100 12444 12345 6173 6172"
	if got := one(t, a, sum); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := a.Load(context.Background(), c, false); protocol.AsError(err).Code != "SQLITE_CONSTRAINT" {
		t.Errorf("loading twice: %v", err)
	}
	a.Exec(context.Background(), `UPDATE "t ""1" SET s = 'x'`)
	a.Exec(context.Background(), `DELETE FROM "t ""1" WHERE id < 500`)
	if n, err := a.Load(context.Background(), c, true); n != 12345 || err != nil {
		t.Errorf("replacing: %d, %v", n, err)
	}
	if got := one(t, a, sum); got != want {
		t.Errorf("after replacing: %s, want %s", got, want)
	}
	c.Keys = nil
	if _, err := a.Load(context.Background(), c, true); protocol.AsError(err).Class != protocol.Client {
		t.Errorf("replacing without keys: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c = chunkOf(1<<20, 1<<40)
	c.Progress = func(uint64) { cancel() }
	if _, err := a.Load(ctx, c, false); err == nil {
		t.Error("a cancelled load succeeded")
	}
	bad := chunkOf(1<<20, 10)
	bad.Row = func(v []gen.Value, row uint64) { v[0].Kind, v[0].I = gen.Uint, -1 }
	if _, err := a.Load(context.Background(), bad, false); protocol.AsError(err).Class != protocol.Client ||
		!strings.Contains(err.Error(), `column "id"`) {
		t.Errorf("a value beyond integers: %v", err)
	}
	if got := one(t, a, sum); got != want {
		t.Errorf("failed loads left rows: %s, want %s", got, want)
	}
}

// Rows are made one after another in the same place.
func TestLoadKeepsBytes(t *testing.T) {
	a := openAdmin(t, New(), fileTarget(t), "CREATE TABLE b (id INTEGER PRIMARY KEY, v BLOB)")
	c := &protocol.Chunk{Table: "b", Columns: []protocol.Column{{Name: "id"}, {Name: "v"}}, Rows: 1000,
		Row: func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row))
			v[1].Kind, v[1].B = gen.Bytes, append(v[1].B[:0], fmt.Sprintf("%04d", row)...)
		}}
	if n, err := a.Load(context.Background(), c, false); n != 1000 || err != nil {
		t.Fatal(n, err)
	}
	if got := one(t, a, "SELECT count(*), sum(CAST(CAST(v AS TEXT) AS INTEGER) = id) FROM b"); got != "1000 1000" {
		t.Errorf("rows, and those that hold their own bytes: %s", got)
	}
}

func TestExecAndQuery(t *testing.T) {
	a := openAdmin(t, New(), fileTarget(t), "CREATE TABLE t (a, b)")
	if n, err := a.Exec(context.Background(), "INSERT INTO t VALUES (1, 2.5), (NULL, x'41')"); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := a.Exec(context.Background(), "CREATE INDEX i ON t (a)"); n != 0 || err != nil {
		t.Errorf("DDL affected %d, %v", n, err)
	}
	if _, err := a.Exec(context.Background(), "DROP TABLE nowhere"); protocol.AsError(err).Class != protocol.Server {
		t.Errorf("nonsense: %v", err)
	}
	if got := one(t, a, "SELECT a, b FROM t ORDER BY rowid"); got != "1 2.5 NULL A" {
		t.Errorf("got %s", got)
	}
	stop := errors.New("enough")
	if err := a.Query(context.Background(), "SELECT a FROM t", func([]*string) error { return stop }); !errors.Is(err,
		stop) {
		t.Errorf("got %v", err)
	}
	if err := a.Query(context.Background(), "SELECT * FROM nowhere", nil); protocol.AsError(err).Class != protocol.Server {
		t.Errorf("got %v", err)
	}
}

func TestDescribe(t *testing.T) {
	target := fileTarget(t)
	target.Options = map[string]string{"synchronous": "off", "busy_timeout": "77"}
	info, err := New().Describe(context.Background(), target)
	if err != nil || info.Product != "SQLite" || !strings.HasPrefix(info.Version, "3.") {
		t.Fatalf("%+v, %v", info, err)
	}
	if s := info.Settings; s["journal_mode"] != "wal" || s["synchronous"] != "0" || s["busy_timeout"] != "77" ||
		s["page_size"] != "4096" {
		t.Errorf("settings: %v", s)
	}
}

func BenchmarkLoad(b *testing.B) {
	a := openAdmin(b, New(), fileTarget(b), `CREATE TABLE "t ""1" (id INTEGER PRIMARY KEY, s TEXT, "Δ x" REAL)`)
	const rows = 100000
	first := uint64(0)
	for b.Loop() {
		if _, err := a.Load(context.Background(), chunkOf(first, rows), false); err != nil {
			b.Fatal(err)
		}
		first += rows
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
