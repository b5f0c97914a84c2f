package sql

import (
	"strings"
	"testing"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

const carsQuery = "select * from cars_q where id = $1::integer and brand = $2::string and stock = $3::boolean"

func carsNames() *Names {
	t, i := cars()
	return NewNames([]plan.Table{t}, []plan.Index{i})
}

var carsParams = []gen.Kind{gen.Int, gen.String, gen.Bool}

func TestTranslate(t *testing.T) {
	for _, c := range []struct{ product, in, want string }{
		{"Picodata", carsQuery, carsQuery},
		{"PostgreSQL", carsQuery, "select * from cars_q where id = $1::bigint and brand = $2::text and stock = $3::boolean"},
		{"Tarantool", carsQuery,
			`select * from "cars_q" where "id" = CAST($1 AS INTEGER) and "brand" = CAST($2 AS STRING) and "stock" = CAST($3 AS BOOLEAN)`},
		{
			"SQLite", carsQuery, "select * from cars_q where id = CAST(?1 AS INTEGER) and brand = CAST(?2 AS TEXT) and stock = CAST(?3 AS INTEGER)"},

		{"PostgreSQL", "select 'a::string' , \"b::string\" /* ::string */ -- ::string\n, $$::string$$, $x$ $$::string $x$",
			"select 'a::string' , \"b::string\" /* ::string */ -- ::string\n, $$::string$$, $x$ $$::string $x$"},
		{"PostgreSQL", "select cast($1 as string), cast ( (select brand as string from cars_q) as unsigned )",
			"select cast($1 as text), cast ( (select brand as string from cars_q) as bigint )"},
		{
			"PostgreSQL", "select $1 :: datetime, $2::double, $3::double precision, x::varchar(10), y::numeric(10, 2), z::integer[]", "select $1 :: timestamptz, $2::double precision, $3::double precision, x::varchar(10), y::numeric(10, 2), z::integer[]"},
		{"PostgreSQL", "select x::timestamp(3) with time zone, y::time, z::mytype",
			"select x::timestamp(3) with time zone, y::time, z::mytype"},
		{"PostgreSQL", "select * from t where a = ? and b = ? and c = ?",
			"select * from t where a = $1 and b = $2 and c = $3"},
		{"PostgreSQL", "select j ? 'a' from t where a = $1", "select j ? 'a' from t where a = $1"},
		{"PostgreSQL", "insert into t values ($1) on conflict do nothing",
			"insert into t values ($1) on conflict do nothing"},
		{"PostgreSQL", "insert into t values ($1) on conflict do fail", "insert into t values ($1)"},
		{"PostgreSQL", "insert into t values ($1) on conflict (a) do update set b = $2",
			"insert into t values ($1) on conflict (a) do update set b = $2"},

		{"Tarantool", "insert into cars_q (id, brand) values ($1::integer, $2) on conflict do nothing;",
			`insert OR IGNORE into "cars_q" ("id", "brand") values (CAST($1 AS INTEGER), $2);`},
		{"Tarantool", "INSERT INTO Cars_Q VALUES ($1, 1) ON CONFLICT (id) DO REPLACE",
			`INSERT OR REPLACE INTO "cars_q" VALUES ($1, 1)`},
		{"Tarantool", "select c.id::string, count(*), max(c.stock)::string, brand(1) from cars_q as c group by c.id",
			`select CAST(c."id" AS STRING), count(*), CAST(max(c."stock") AS STRING), brand(1) from "cars_q" as c group by c."id"`},
		{"Tarantool", "select (id + 1)::double::string from cars_q where ($1)::integer in (1) and (id = 1)::boolean",
			`select CAST(CAST(("id" + 1) AS DOUBLE) AS STRING) from "cars_q" where CAST(($1) AS INTEGER) in (1) and CAST(("id" = 1) AS BOOLEAN)`},
		{"Tarantool", "select case when id = 1 then 2 else 3 end::string, -1::integer, s.cars_q.id::integer",
			`select CAST(case when "id" = 1 then 2 else 3 end AS STRING), -CAST(1 AS INTEGER), CAST(s."cars_q"."id" AS INTEGER)`},
		{"Tarantool", "select 1 from cars_q where received > '1999-10-26T09:00:00Z'::datetime and received < $1::datetime",
			`select 1 from "cars_q" where "received" > 940928400000000 and "received" < CAST($1 AS INTEGER)`},
		{"Tarantool", `select "id", 'id', id from cars_q`, `select "id", 'id', "id" from "cars_q"`},
		{"Tarantool", "select ::integer, +::integer, 1::", "select ::integer, +::integer, 1::"},
		{"Tarantool", "select $2::decimal, $1::uuid, cast(id as uuid)",
			`select CAST($2 AS NUMBER), CAST($1 AS STRING), cast("id" as STRING)`},
		{"Tarantool", "select x::frob", "select CAST(x AS frob)"},

		{
			"MySQL", carsQuery, "select * from cars_q where id = CAST($1 AS SIGNED) and brand = CAST($2 AS CHAR) and stock = CAST($3 AS SIGNED)"},
		{"MySQL", `select "a""b", 'it''s "x"' from "t`, "select `a\"b`, 'it''s \"x\"' from \"t"},
		{"MySQL", "insert into t values (1) on conflict do nothing", "insert IGNORE into t values (1)"},
		{"MySQL", "insert into t values (1) on conflict (a) do replace", "REPLACE into t values (1)"},
		{"MySQL", "select 1 where a > '1999-10-26T12:00:00+03:00'::datetime",
			"select 1 where a > TIMESTAMP'1999-10-26 09:00:00.000000'"},

		{"SQLite", "select 1 from cars_q where received = '1999-10-26T12:00:00+03:00'::datetime",
			"select 1 from cars_q where received = '1999-10-26T09:00:00.000000Z'"},
		{"SQLite", "insert into t values (1) on conflict do replace", "insert OR REPLACE into t values (1)"},
		{"SQLite", "select null::string, true::boolean, f(1)(2)",
			"select CAST(null AS TEXT), CAST(true AS INTEGER), f(1)(2)"},
	} {
		got, _, err := flavor(t, c.product).Translate(c.in, carsParams, carsNames())
		same(t, c.product+": "+c.in, got, c.want, err)
	}
}

func TestTranslateFaults(t *testing.T) {
	for _, c := range []struct{ product, in, want string }{
		{"Picodata", "select $4", "uses $4 but has 3 parameters"},
		{"SQLite", "select $0", "uses $0"},
		{"Tarantool", "select $99999999999999999999999", "parameters"},
		{"PostgreSQL", "insert into t values (1) on conflict do replace", "DO UPDATE SET"},
		{"Tarantool", "insert into t values (1) on conflict (a) do update set b = 1", "no ON CONFLICT DO UPDATE"},
		{"Tarantool", "select 'soon'::datetime", "'soon' is not a datetime"},
		{"MySQL", "insert into t values (1) on conflict (a) do update set b = 1", "ON DUPLICATE KEY"},
		{"SQLite", "select '::datetime", ""},
		{"SQLite", "select 'x'::datetime", "'x' is not a datetime"},
	} {
		got, _, err := flavor(t, c.product).Translate(c.in, carsParams, nil)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %q, %v; want an error with %q", c.product, c.in, got, err, c.want)
		}
	}
}

func TestTranslateUnsigned(t *testing.T) {
	f := flavor(t, "PostgreSQL")
	got, _, err := f.Translate("select $1::unsigned", []gen.Kind{gen.Uint}, NewNames([]plan.Table{wideTable()}, nil))
	same(t, "wide", got, "select $1::numeric(20,0)", err)
	got, _, err = f.Translate("select $1::unsigned", []gen.Kind{gen.Uint}, nil)
	same(t, "narrow", got, "select $1::bigint", err)
}

func TestTranslateNotices(t *testing.T) {
	_, notices, err := flavor(t, "Tarantool").Translate("select $1::datetime, $2", []gen.Kind{gen.Datetime, gen.UUID}, nil)
	if err != nil || len(notices) != 2 || notices[0].ID != "sql-datetime-mapped" || notices[1].ID != "sql-uuid-mapped" {
		t.Errorf("notices %v, %v", notices, err)
	}
}

func FuzzTranslate(f *testing.F) {
	for _, s := range []string{carsQuery, "select 'a''b', e'\\'', $$x$$, $a$b$a$, \"q\"\"\", /* /* */ */ 1.5e-3 -- end",
		"((a)[1].b::integer)::string", "case end end::x", "insert on conflict (", "cast(x as", "x::double", "1::varchar(",
		"$", "E'", "?::text", "a.::b.c::d", "])::x", "on conflict do"} {
		f.Add(s)
	}
	names := carsNames()
	params := make([]gen.Kind, 9)
	f.Fuzz(func(t *testing.T, s string) {
		list := sqltext.Split(s)
		if join(list) != s {
			t.Fatalf("the tokens of %q make up %q", s, join(list))
		}
		plain := true
		for _, k := range list {
			if k.Text == "" {
				t.Fatalf("%q has an empty token", s)
			}
			plain = plain && k.Kind != cast && !k.Is("cast") && !k.Is("conflict") && k.Kind != mark && k.Kind != param
		}
		for _, p := range products {
			fl := flavor(t, p)
			got, _, err := fl.Translate(s, params, names)
			if p == "Picodata" && err == nil && got != s {
				t.Fatalf("Picodata's own text %q became %q", s, got)
			}
			got, _, err = fl.Translate(s, params, nil)
			if p == "MySQL" && strings.Contains(s, `"`) {
				continue // it quotes names differently
			}
			if plain && (err != nil || got != s) {
				t.Fatalf("%s: %q without casts became %q, %v", p, s, got, err)
			}
		}
	})
}
