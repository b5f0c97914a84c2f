package postgres

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

func TestConditions(t *testing.T) {
	for text, want := range map[string][]condition{
		"(b.author = $1)": {{alias: "b", column: "author", operator: "=", param: 1}},
		"((b.author)::text = 'x'::text)": {{alias: "b", column: "author", operator: "=",
			literal: "'x'", expression: "(author)::text", cast: "text"}},
		"((b.name = $2) AND ((b.author)::text = ($1)::text))": {{alias: "b", column: "name", operator: "=", param: 2},
			{alias: "b", column: "author", operator: "=", param: 1, expression: "(author)::text", cast: "text"}},
		"(5 < b.price)": {{alias: "b", column: "price", operator: ">",
			literal: "5"}},
		"(b.id = ANY ('{1,2}'::integer[]))": {{alias: "b", column: "id", operator: "=",
			literal: "'{1,2}'", array: true}},
		"(b.id = ANY ($2))": {{alias: "b", column: "id", operator: "=", param: 2, array: true}},
		"(o.customer_id = c.id)": {{alias: "o", column: "customer_id", operator: "=",
			otherAlias: "c", otherColumn: "id"}},
		"(b.gone IS NULL)":     {{alias: "b", column: "gone", operator: "IS NULL"}},
		"(b.gone IS NOT NULL)": {{alias: "b", column: "gone", operator: "IS NOT NULL"}},
		"((NOT b.done) AND b.open)": {{alias: "b", column: "done", operator: "IS FALSE"},
			{alias: "b", column: "open", operator: "IS TRUE"}},
		"(b.name ~~ 'ab%'::text)": {{alias: "b", column: "name", operator: "~~",
			literal: "'ab%'"}},
		"((b.a = 1) OR (b.b = 2))":                   nil,
		"(((b.a = 1) OR (b.b = 2)) AND (b.c >= $3))": {{alias: "b", column: "c", operator: ">=", param: 3}},
		`(b."Name" = 'it''s (AND) so'::character varying(20))`: {{alias: "b", column: "Name", operator: "=",
			literal: "'it''s (AND) so'"}},
		"(lower(b.name) = $1)": {{alias: "b", column: "name", operator: "=", param: 1, expression: "lower(name)"}},
		"(lower((b.name)::text) ~~ 'x%'::text)": {{alias: "b", column: "name", operator: "~~", literal: "'x%'",
			expression: "lower((name)::text)"}},
		"((d.doc ->> 'e m'::text) = $1)": {{alias: "d", column: "doc", operator: "=", param: 1,
			expression: "doc ->> 'e m'::text"}},
		"((b.id)::numeric = ($1)::numeric)": {{alias: "b", column: "id", operator: "=", param: 1,
			expression: "(id)::numeric", cast: "numeric"}},
		"(shop.price(b.id, (b.n + 1)) < 5)": {{alias: "b", column: "id", operator: "<", literal: "5",
			expression: "shop.price(id, (n + 1))"}},
		"((b.doc -> $1) = $2)": {{alias: "b", column: "doc", operator: "=", param: 2, expression: "doc -> $1",
			varies: true}},
		"(e.meta @> '{}'::jsonb)":  {{alias: "e", column: "meta", operator: "@>", literal: "'{}'"}},
		"(e.tags && $1)":           {{alias: "e", column: "tags", operator: "&&", param: 1}},
		"(e.name !~~* 'a%'::text)": {{alias: "e", column: "name", operator: "!~~*", literal: "'a%'"}},
		"((a.x + b.y) = 5)":        nil,
		"('x' ~~ b.pattern)":       nil,
		"(5 <> b.price)":           {{alias: "b", column: "price", operator: "<>", literal: "5"}},
		"((SubPlan 1) = b.name)":   {{alias: "b", column: "name", operator: "="}},
		"(b.at > ('2024-01-01'::timestamp with time zone - $1))": {{alias: "b", column: "at", operator: ">"}},
		"":  nil,
		"(": nil,
	} {
		got := conditions(text)
		for i := range got {
			got[i].text = ""
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestDisjunctions(t *testing.T) {
	for text, want := range map[string]string{
		"((b.a = 1) OR (b.b = 2))":                              "a b",
		"((b.c > 1) AND ((lower(b.a) = $1) OR (b.b = 2)))":      "(lower(a)) b",
		"((b.a = 1) OR (b.b IS NULL) OR (b.c ~~ 'x%'::text))":   "",
		"((b.a = 1) OR (b.c ~~ 'x%'::text))":                    "a c text_pattern_ops",
		"((b.a = 1) OR (b.c ~~ '%x'::text))":                    "",
		"((b.a = 1) OR (c.b = 2))":                              "",
		"((b.a = 1) OR (b.a = 2))":                              "a",
		"(((b.a = 1) AND (b.x = 3)) OR ((b.b = 2) AND b.open))": "a b",
		"((b.a = 1) OR (now() > $1))":                           "",
		"(b.a = 1)":                                             "",
	} {
		w := tableUse{}
		for _, sides := range disjunctions(text) {
			w.takeEither(sides)
		}
		got := ""
		if len(w.either) > 0 {
			got = strings.Join(w.either[0], " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestTypedConstants(t *testing.T) {
	for text, want := range map[string]string{
		"select now() - interval $1":          "select now() - cast($1 as interval)",
		"select interval $1 day, date $2":     "select cast($1 as interval), cast($2 as date)",
		"select x from t limit $1":            "select x from t limit $1",
		"select x::text from t where d = $1":  "select x::text from t where d = $1",
		"select interval from t where x = $1": "select interval from t where x = $1",
	} {
		if got := typedConstants(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzConditions(f *testing.F) {
	f.Add("((b.name = $2) AND ((b.author)::text = ANY ('{1,2}'::text[])) AND (NOT b.done))")
	f.Add("(((((")
	f.Add("NOT")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range conditions(text) {
			if c.column == "" || c.operator == "" {
				t.Errorf("%q: %+v", text, c)
			}
		}
		orderOf([]string{text})
		for _, sides := range disjunctions(text) {
			if len(sides) < 2 {
				t.Errorf("%q: %+v", text, sides)
			}
		}
		typedConstants(text)
	})
}

func FuzzPlan(f *testing.F) {
	f.Add(
		`[{"Plan": {"Node Type": "Seq Scan", "Alias": "b", "Schema": "public", "Relation Name": "book", "Filter": "(b.author = $1)", "Plans": [{}]}}]`)
	f.Add(`[{"Plan": {"Plans": [null]}}]`)
	f.Fuzz(func(_ *testing.T, text string) {
		e, err := parsePlan(text)
		if err != nil {
			return
		}
		e.record()
		candidates(e.Root, &catalog{}, func(string, string) float64 { return 0 })
	})
}

// The standard deviations of windows are those of NumPy. The times are 1, 2, 3, 4 and then 10, 20 ms: np.std([1,2,3,4])
// = 1.118034, np.std([1,2,3,4,10,20]) = 6.624868, np.std([10,20]) = 5.
func TestStandardDeviationsAreTakenApart(t *testing.T) {
	before := tally{calls: 4, totalMs: 10, deviation: 1.118034 * 1.118034 * 4}
	after := tally{calls: 6, totalMs: 40, deviation: 6.624868 * 6.624868 * 6}
	d := after.since(before)
	if got := math.Sqrt(d.deviation / d.calls); d.calls != 2 || d.totalMs != 30 || math.Abs(got-5) > 1e-4 {
		t.Errorf("%+v, standard deviation %v", d, got)
	}
	back := before.with(d)
	if got := math.Sqrt(back.deviation / back.calls); back.calls != 6 || math.Abs(got-6.624868) > 1e-4 {
		t.Errorf("%+v, standard deviation %v", back, got)
	}
	if got := before.since(after); !reflect.DeepEqual(got, before) {
		t.Errorf("after a reset: %+v", got)
	}
	if got := after.since(tally{}); got.calls != 6 || math.Abs(got.deviation-after.deviation) > 1e-9 {
		t.Errorf("new: %+v", got)
	}
}

// row returns an answer with one row.
func row(fields map[string]string) *result {
	r := &result{rows: [][]*string{nil}}
	for name, value := range fields {
		r.columns, r.numeric = append(r.columns, name), append(r.numeric, name != "query")
		r.rows[0] = append(r.rows[0], &value)
	}
	return r
}

// The columns of pg_stat_statements by version, as the documentation of PostgreSQL 12, 13 and 17 lists
// them.
func TestStatementsOfAllVersions(t *testing.T) {
	for version, fields := range map[string]map[string]string{
		"12": {"calls": "4", "total_time": "8", "mean_time": "2", "stddev_time": "1", "min_time": "1", "max_time": "3",
			"rows": "7", "blk_read_time": "5"},
		"13": {"calls": "4", "total_exec_time": "8", "mean_exec_time": "2", "stddev_exec_time": "1", "min_exec_time": "1",
			"max_exec_time": "3", "rows": "7",
			"blk_read_time": "5", "plans": "0", "wal_bytes": "0"},
		"17": {"calls": "4", "total_exec_time": "8", "mean_exec_time": "2", "stddev_exec_time": "1", "min_exec_time": "1",
			"max_exec_time": "3", "rows": "7",
			"shared_blk_read_time": "5", "local_blk_read_time": "0", "jit_deform_count": "0", "query": "x"},
	} {
		got := row(fields).tally(0)
		want := tally{calls: 4, rows: 7, totalMs: 8, deviation: 4, more: map[string]float64{"blk_read_time": 5}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", version, got, want)
		}
	}
}

func TestCountersGrow(t *testing.T) {
	got := grew(map[string]float64{"seq_scan": 5, "n_live_tup": 10, "reset": 9},
		map[string]float64{"seq_scan": 8, "n_live_tup": 7, "reset": 2, "new": 3})
	if want := map[string]float64{"seq_scan": 3, "n_live_tup": 7, "reset": 2, "new": 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNormalText(t *testing.T) {
	for a, b := range map[string]string{
		"select * from t where id = $1":        "SELECT  * FROM t\nWHERE id=42;",
		"insert into t values ($1, $2)":        "insert into t values (?, 'x') -- so",
		"select a from t where b = $1 limit 5": "select a from t where b = $1 limit $2",
	} {
		if inspect.Normal(a) != inspect.Normal(b) {
			t.Errorf("%q and %q: %q, %q", a, b, inspect.Normal(a), inspect.Normal(b))
		}
	}
	if inspect.Normal(`select "A" from t`) == inspect.Normal(`select "a" from t`) {
		t.Error("quoted names of different case are the same")
	}
}

func TestStatementsAreMatched(t *testing.T) {
	list := []record.Statement{
		{ID: "1", Text: "select * from t where id = $1", Calls: 7},
		{ID: "2", Text: "select count(*) from book", Calls: 100},
		{ID: "3", Text: "insert into book values ($1)", Calls: 51},
		{ID: "4", Text: "delete from book where id = $1", Calls: 51},
		{ID: "5", Text: "select 1", Calls: 999},
	}
	operations := []inspect.Operation{
		{Name: "read", Statements: []string{"SELECT * FROM t WHERE id = 5"}, Done: 100},
		{Name: "page", Method: "GET", Done: 101},
		{Name: "add", Method: "POST", Done: 50},
		{Name: "remove", Method: "DELETE", Done: 51, Uncertain: 1},
	}
	inspect.Match(list, operations, inspect.Normal).Put(list)
	for k, want := range []string{"read text", "page count", "add count", "remove count", " "} {
		if got := strings.Join(list[k].Operations, ",") + " " + list[k].Match; got != want {
			t.Errorf("%s: %q, want %q", list[k].Text, got, want)
		}
	}
}

func TestSecretsOfConnectionStrings(t *testing.T) {
	for _, dsn := range []string{"postgres://me:s3cret@127.0.0.1:1/x",
		"host=127.0.0.1 port=1 user=me password=s3cret dbname=x", "postgres://me:s3cret@:::x/", "host= = password=s3cret"} {
		i, err := New(dsn)
		if err == nil {
			err = i.Begin(t.Context())
			if strings.Contains(i.Name(), "s3cret") {
				t.Errorf("%s", i.Name())
			}
		}
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

func TestScriptsAreCut(t *testing.T) {
	got := statementsOf("create index a on t (b); -- so; it is\n insert into t values (';');\n/* end; */ ")
	if want := []string{"create index a on t (b)", "-- so; it is\n insert into t values (';')"}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("%q", got)
	}
}

func TestIndexNames(t *testing.T) {
	c := candidate{table: `"public"."book"`, columns: []string{"author", "id desc"}}
	if got := indexName(&c, 0); got != "book_author_id_idx" {
		t.Error(got)
	}
	long := candidate{table: `"public"."` + strings.Repeat("я", 40) + `"`, columns: []string{`"Name"`}, where: "x"}
	if got := indexName(&long, 2); len(got) > 63 || !strings.HasSuffix(got, "_brunt_3_part_idx") {
		t.Error(got, len(got))
	}
}

// An existing index isn't proposed again, even if a new one would be smaller.
func TestIndexThatIsThereIsNoCandidate(t *testing.T) {
	on := func(where string, columns ...string) candidate {
		return candidate{table: `"public"."book"`, columns: columns, where: where}
	}
	a := &advisor{
		catalog: catalog{tables: map[string]tableFacts{"public.book": {rows: 1e6}}, indexes: []indexFacts{
			{table: "public.book", definition: "CREATE UNIQUE INDEX book_pkey ON public.book USING btree (id)"},
			{table: "public.book", definition: `CREATE INDEX o ON public.book USING btree ("order", price DESC) INCLUDE (id)`},
			{table: "public.book", definition: "CREATE INDEX p ON public.book USING btree (name) WHERE (price > 5)"},
			{table: "public.book", definition: "CREATE INDEX h ON public.book USING hash (author)"},
			{table: "public.book", definition: "CREATE INDEX l ON public.book USING btree (title text_pattern_ops)"},
			{table: "public.author", definition: "CREATE INDEX y ON public.author USING btree (year)"},
		}},
		statements: []*costed{{candidates: []candidate{
			on("", "id"), on("", "order", "price desc"),
			on("price > 5", "id"), on("", "order"), on("", "name"), on("", "author"), on("", "title"), on("", "year"),
		}}},
	}
	var got []string
	for _, c := range a.pool() {
		got = append(got, c.columns[0])
	}
	if want := []string{"id", "order", "name", "author", "title", "year"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Settings may contain secrets, which are never recorded.
func TestSecretsInSettingsAreHidden(t *testing.T) {
	for _, row := range []struct{ name, value, want string }{
		{"primary_conninfo", "host=a password=s3cretword", "set"},
		{"archive_command", "curl -u me:s3cretword host", "set"},
		{"ssl_passphrase_command", "echo s3cretword", "set"},
		{"vault.api_token", "s3cretword", "***"},
		{"pg_cron.host", "postgres://u:s3cretword@h/d", "postgres://***@h/d"},
		{"password_encryption", "md5", "md5"},
		{"shared_buffers", "16MB", "16MB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := record.Setting{Name: row.name, Value: row.value}
			if hideSecrets(&s); s.Value != row.want {
				t.Errorf("%q, want %q", s.Value, row.want)
			}
		})
	}
}
