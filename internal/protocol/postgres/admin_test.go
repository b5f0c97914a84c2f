package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/sqlconn"
)

// everything returns a chunk of a table that has a column of each type, and creates the table.
func everything(t testing.TB, a protocol.Admin, first, rows uint64) *protocol.Chunk {
	execute(t, a, "DROP TABLE IF EXISTS \"Every \"\"thing\"",
		`CREATE TABLE "Every ""thing" ("ID" bigint PRIMARY KEY, i2 smallint, i4 integer,
	 f4 real, f8 double precision, n numeric(12,4), b boolean, s text, v varchar(20), ts timestamptz, tz timestamp, d date, u uuid, j json, jb jsonb, y bytea)`)
	chunk := &protocol.Chunk{Table: `Every "thing`, Keys: []string{"ID"}, First: first, Rows: rows,
		Row: func(v []gen.Value, row uint64) {
			i := int64(row)
			v[0].SetInt(i)
			v[1].SetInt(-i % 30000)
			v[2].SetInt(i * 3)
			v[3].Kind, v[3].F = gen.Float, float64(i)/4
			v[4].Kind, v[4].F = gen.Float, float64(i)/3
			v[5].Kind, v[5].I, v[5].Scale = gen.Decimal, i*7, 4
			v[6].Kind, v[6].I = gen.Bool, i%2
			v[7].SetString("ряд")
			v[8].SetString("it's \\ \t\n")
			v[9].Kind, v[9].I = gen.Datetime, i*1000003
			v[10].Kind, v[10].I = gen.Datetime, -i*1000003
			v[11].Kind, v[11].I = gen.Datetime, i*usPerDay
			v[12].Kind, v[12].B = gen.UUID, append(v[12].B[:0], id16...)
			v[13].Kind, v[13].B = gen.JSON, append(v[13].B[:0], `{"a": 1}`...)
			v[14].Kind, v[14].B = gen.JSON, append(v[14].B[:0], `[1, 2]`...)
			v[15].Kind, v[15].B = gen.Bytes, append(v[15].B[:0], 0, 255)
			if row%5 == 0 {
				for k := 1; k < len(v); k++ {
					v[k].SetNull()
				}
			}
		}}
	for _, n := range strings.Fields("ID i2 i4 f4 f8 n b s v ts tz d u j jb y") {
		chunk.Columns = append(chunk.Columns, protocol.Column{Name: n})
	}
	return chunk
}

// expected compares the rows on the server with values that the server computes itself.
const expected = `SELECT count(*) FROM generate_series(%d, %d) i LEFT JOIN "Every ""thing" t ON t."ID" = i WHERE
 CASE WHEN i %% 5 = 0 THEN (t."ID", i2, i4, f4, f8, n, b, s, v, ts, tz, d, u, j::text, jb, y) IS DISTINCT FROM
   (i::bigint, NULL::smallint, NULL::int, NULL::real, NULL::float8, NULL::numeric, NULL::bool, NULL, NULL, NULL::timestamptz, NULL::timestamp, NULL::date, NULL::uuid, NULL, NULL::jsonb, NULL::bytea)
 ELSE (t."ID", i2, i4, f4, f8, n, b, s, v, ts, tz, d, u, j::text, jb, y) IS DISTINCT FROM
   (i::bigint, (-i %% 30000)::smallint, i*3, (i/4.0)::real, i::float8/3, (i*7)/10000.0, i %% 2 = 1, 'ряд', E'it''s \\ \t\n',
   'epoch'::timestamptz + i * '1.000003 s'::interval, 'epoch'::timestamp - i * '1.000003 s'::interval, '1970-01-01'::date + i,
   '00112233-4455-6677-8899-aabbccddeeff'::uuid, '{"a": 1}', '[1,2]'::jsonb, '\x00ff'::bytea) END`

func checkEverything(t *testing.T, a protocol.Admin, first, last, total int) {
	t.Helper()
	if wrong := column(t, a, fmt.Sprintf(expected, first, last))[0]; wrong != "0" {
		t.Errorf("%s rows of %d–%d aren't what was loaded", wrong, first, last)
	}
	if n := column(t, a, `SELECT count(*) FROM "Every ""thing"`)[0]; n != fmt.Sprint(total) {
		t.Errorf("the table has %s rows, want %d", n, total)
	}
}

func load(t *testing.T, a protocol.Admin, c *protocol.Chunk, replace bool) {
	t.Helper()
	told := uint64(0)
	c.Progress = func(rows uint64) { told += rows }
	if n, err := a.Load(testContext(t), c, replace); err != nil || n != int64(c.Rows) {
		t.Errorf("loaded %d rows of %d: %v", n, c.Rows, err)
	}
	if told != c.Rows {
		t.Errorf("progress told of %d rows of %d", told, c.Rows)
	}
}

func TestLoad(t *testing.T) {
	for _, inserts := range []bool{false, true} {
		t.Run(fmt.Sprintf("inserts=%v", inserts), func(t *testing.T) {
			a := openAdmin(t, targetOf(server(t)))
			a.(*admin).noCopy = inserts
			c := everything(t, a, 1000, 12345)
			load(t, a, c, false)
			checkEverything(t, a, 1000, 13344, 12345)

			_, err := a.Load(testContext(t), c, false)
			if e := protocol.AsError(err); e == nil || e.Class != protocol.Server || e.Code != "23505" ||
				!strings.Contains(e.Text, `"Every ""thing"`) {
				t.Errorf("loading twice without replace: %v", err)
			}
			checkEverything(t, a, 1000, 13344, 12345)

			execute(t, a, `UPDATE "Every ""thing" SET i2 = 1, s = 'changed'`, `DELETE FROM "Every ""thing" WHERE "ID" < 2000`,
				`INSERT INTO "Every ""thing" ("ID") VALUES (7)`)
			load(t, a, c, true)
			checkEverything(t, a, 1000, 13344, 12346)

			c.First, c.Rows = 20000, 3
			load(t, a, c, true)
			checkEverything(t, a, 20000, 20002, 12349)
			c.Rows = 0
			if n, err := a.Load(testContext(t), c, false); n != 0 || err != nil {
				t.Errorf("an empty chunk: %d, %v", n, err)
			}
		})
	}
}

// As with Picodata: no COPY, no transaction around it, small statements.
func TestLoadAsPicodata(t *testing.T) {
	a := openAdmin(t, targetOf(server(t)))
	a.(*admin).picodata, a.(*admin).noCopy = true, true
	load(t, a, everything(t, a, 5, 2345), false)
	checkEverything(t, a, 5, 2349, 2345)
	want := `INSERT INTO "t""x" ("a", "B c") VALUES ($1, $2), ($3, $4) ON CONFLICT DO REPLACE`
	if got := sqlconn.Numbered(sqltext.QuoteTable(`t"x`), []string{"a", "B c"}, 2, true); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for columns, want := range map[int]uint64{1: 1000, 16: 250, 4001: 1} {
		if got := rowsAStatement(columns, true); got != want {
			t.Errorf("%d columns: %d rows, want %d", columns, got, want)
		}
	}
	if got := rowsAStatement(200, false); got != 327 {
		t.Errorf("200 columns: %d rows, want 327", got)
	}
}

// Types without a binary form here, and texts for other types, are inserted by INSERT. A key may have several columns.
func TestLoadByText(t *testing.T) {
	a := openAdmin(t, targetOf(server(t)))
	execute(t, a, "DROP TABLE IF EXISTS odd", "DROP TYPE IF EXISTS mood", "CREATE TYPE mood AS ENUM ('sad', 'glad')",
		"CREATE TABLE odd (a int, b text, m mood, t timestamptz, PRIMARY KEY (a, b))")
	c := &protocol.Chunk{Table: "odd", Columns: []protocol.Column{{Name: "m"}, {Name: "t"}, {Name: "b"}, {Name: "a"}},
		Keys: []string{"a", "b"}, Rows: 2500,
		Row: func(v []gen.Value, row uint64) {
			v[0].SetString([]string{"sad", "glad"}[row%2])
			v[1].SetString("2001-02-03 04:05:06+00")
			v[2].SetString(fmt.Sprint("k", row%50))
			v[3].SetInt(int64(row / 50))
		}}
	load(t, a, c, false)
	load(t, a, c, true)
	got := column(
		t, a, "SELECT count(*) || ' ' || count(DISTINCT (a, b)) || ' ' || count(*) FILTER (WHERE m = 'glad') || ' ' || min(extract(epoch FROM t)::int) FROM odd")[0]
	if got != "2500 2500 1250 981173106" {
		t.Errorf("got %q", got)
	}
}

func TestLoadRefusals(t *testing.T) {
	a := openAdmin(t, targetOf(server(t)))
	execute(t, a, "DROP TABLE IF EXISTS small", "CREATE TABLE small (a int)")
	row := func(v []gen.Value, row uint64) { v[0].SetInt(int64(row) << 31 >> 1) }
	cases := []struct {
		chunk   protocol.Chunk
		replace bool
		class   protocol.Class
		text    string
	}{
		{protocol.Chunk{Table: "small", Rows: 10, Row: row, Columns: []protocol.Column{{Name: "a"}}}, true, protocol.Client,
			"no primary key"},
		{protocol.Chunk{Table: "small", Rows: 10, Row: row, Columns: []protocol.Column{{Name: "a"}}}, false, protocol.Client,
			`row 2, column "a": the value 2147483648 can't be sent as integer`},
		{protocol.Chunk{Table: "small", Rows: 1, Row: row, Columns: []protocol.Column{{Name: "b"}}}, false, protocol.Server,
			`column "b" does not exist`},
		{protocol.Chunk{Table: "none", Rows: 1, Row: row, Columns: []protocol.Column{{Name: "b"}}}, false, protocol.Server,
			`"none" does not exist`},
		{protocol.Chunk{Table: "small", Rows: 1, Row: row, Columns: []protocol.Column{{Name: "a"}}, Keys: []string{"k"}},
			true, protocol.Client, `no column "k"`},
	}
	for _, c := range cases {
		_, err := a.Load(testContext(t), &c.chunk, c.replace)
		if e := protocol.AsError(err); e == nil || e.Class != c.class || !strings.Contains(e.Text, c.text) || e.Fatal {
			t.Errorf("got %v, want %v …%s…", err, c.class, c.text)
		}
	}
	if n := column(t, a, "SELECT count(*) FROM small")[0]; n != "0" {
		t.Errorf("%s rows were left behind", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	endless := protocol.Chunk{Table: "small", Rows: 1 << 40, Columns: []protocol.Column{{Name: "a"}},
		Row: func(v []gen.Value, row uint64) {
			if row == 500000 {
				cancel()
			}
			v[0].SetInt(1)
		}}
	if _, err := a.Load(ctx, &endless, false); err == nil || !protocol.AsError(err).Fatal {
		t.Errorf("a load that was cancelled: %v", err)
	}
	if n := column(t, openAdmin(t, targetOf(server(t))), "SELECT count(*) FROM small")[0]; n != "0" {
		t.Errorf("%s rows were left behind", n)
	}
}

func TestExecAndQuery(t *testing.T) {
	a := openAdmin(t, targetOf(server(t)))
	execute(t, a, "CREATE TEMP TABLE q (a int, b text)")
	if n, err := a.Exec(testContext(t), "INSERT INTO q VALUES (1, NULL), (2, 'x')"); n != 2 || err != nil {
		t.Errorf("Exec: %d, %v", n, err)
	}
	if _, err := a.Exec(testContext(t), "DROP TABLE nowhere"); protocol.AsError(err).Code != "42P01" {
		t.Errorf("Exec of nonsense: %v", err)
	}
	var got []string
	err := a.Query(testContext(t), "SELECT a, b FROM q ORDER BY a", func(v []*string) error {
		got = append(got, fmt.Sprint(*v[0], v[1] == nil))
		return nil
	})
	if err != nil || fmt.Sprint(got) != "[1true 2false]" && fmt.Sprint(got) != "[1 true 2 false]" {
		t.Errorf("Query: %q, %v", got, err)
	}
	stop, calls := errors.New("enough"), 0
	err = a.Query(testContext(t), "SELECT generate_series(1, 1000)", func([]*string) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("a callback that refuses: %v after %d calls", err, calls)
	}
	if got := column(t, a, "SELECT 5"); len(got) != 1 || got[0] != "5" {
		t.Errorf("after a refusal: %q", got)
	}
}

func TestDescribe(t *testing.T) {
	target := targetOf(server(t))
	info, err := New().Describe(testContext(t), target)
	if err != nil || info.Product != "PostgreSQL" || !strings.HasPrefix(info.Version, "1") {
		t.Fatalf("got %+v, %v", info, err)
	}
	if info.Settings["shared_buffers"] != "128MB" || info.Settings["fsync"] != "off" ||
		info.Settings["max_connections"] != "300" {
		t.Errorf("settings: %v", info.Settings)
	}
	target.Password = "no"
	if _, err := New().Describe(testContext(t), target); protocol.AsError(err).Class != protocol.Connect {
		t.Errorf("a wrong password: %v", err)
	}
}

// Options become settings of the session.
func TestOptions(t *testing.T) {
	target := targetOf(server(t))
	target.Options = map[string]string{"work_mem": "3MB", "options": "-c statement_timeout=1234"}
	a := openAdmin(t, target)
	got := column(
		t, a, "SELECT concat_ws(' ', current_setting('work_mem'), current_setting('statement_timeout'), current_setting('application_name'))")[0]
	if got != "3MB 1234ms brunt" {
		t.Errorf("got %q", got)
	}
}
