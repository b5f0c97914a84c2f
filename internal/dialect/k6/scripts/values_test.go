package scripts_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// Values come back as they were sent, with the types that each server has.
func TestValues(t *testing.T) {
	t.Parallel()
	checks := `
		import { check } from "k6";
		import brunt from "k6/x/brunt";
		const db = brunt.open(JSON.parse(__ENV.TARGET));
		export const options = { iterations: 1, thresholds: { checks: ["rate == 1"] } };
		const is = (what, got, want) => check(got, { [what + ": " + (typeof got) + " " + got]: (g) => typeof g === typeof want && String(g) === String(want) });
		const refused = (what, f) => { let c = "none"; try { f() } catch (e) { c = e.class } is(what + " is refused", c, "client") };
		export default function () { `
	for name, c := range map[string]struct {
		target string
		body   string
	}{
		"postgres": {of(t, "pg", servers.Postgres(t)), `
			const [r] = db.query("select $1::bigint a, $2::numeric b, $3::bytea c, $4::timestamptz d, $5::text e, $6::boolean f, $7::double precision g, $8::jsonb h, $9::uuid i, $10::int j",
				[9223372036854775807n, brunt.decimal("12345678901234.50"), new Uint8Array([0, 255, 7]), new Date(1700000000123), "ж'\"$1", true, 0.1, { a: [1, null] }, brunt.uuid("d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77"), null]);
			is("int8", r.a, 9223372036854775807n); is("decimal", r.b.toString(), "12345678901234.50"); is("decimal as number", r.b * 2, 24691357802469);
			is("bytes", r.c, new Uint8Array([0, 255, 7])); is("bytes' kind", r.c instanceof Uint8Array, true);
			is("time", r.d.getTime(), 1700000000123); is("text", r.e, "ж'\"$1"); is("boolean", r.f, true); is("double", r.g, 0.1);
			is("json", JSON.stringify(r.h), '{"a":[1,null]}'); is("uuid", r.i, "d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77"); is("null", r.j, null);
			const [x] = db.query("select $1::int[] a, $2::text[] b, $3::int8[] c, array[[1,2],[3,null]] d, '{}'::date[] e",
				[[1, null, 3], ['q"{},\\', "", null], [9007199254740993n, 5]]);
			is("arrays", JSON.stringify(x), JSON.stringify({ a: [1, null, 3], b: ['q"{},\\', "", null], c: ["9007199254740993", 5], d: [[1, 2], [3, null]], e: [] }));
			const [l] = db.query("select 1e30::numeric a, 'infinity'::timestamptz b, array['\\x00ff'::bytea] c, set_config('bytea_output', 'escape', false) d");
			const [m] = db.query("select $1::numeric = 1e30::numeric a, $2::timestamptz = 'infinity' b, $3::bytea[] = array['\\x00ff'::bytea] c, '\\x00ff5c'::bytea d, array['\\x00ff'::bytea] e", [l.a, l.b, l.c]);
			is("long decimal", l.a.toString(), "1000000000000000000000000000000"); is("infinity", l.b, "infinity");
			is("sent back", m.a && m.b && m.c, true); is("bytes by escapes", m.d, new Uint8Array([0, 255, 92])); is("in arrays", m.e[0], "\\x00ff");
			is("rows as arrays", JSON.stringify(db.query("select 1, 'x'", [], { rows: "array" })), '[[1,"x"]]');
			is("none", db.query("select 1 where false").length, 0);
			const [n] = db.query("select $1::float8 a, $2::float8 b, $3::numeric c, $4::float4 d", [NaN, -Infinity, NaN, Infinity]);
			is("NaN", n.a, NaN); is("infinite", n.b, -Infinity); is("NaN, numeric", String(n.c), "NaN"); is("infinite, float4", n.d, Infinity);
			refused("NaN as JSON", () => db.query("select $1::jsonb", [NaN])); refused("too large", () => db.query("select $1::float4", [1e300]));
			is("affected", db.exec("select 1").rows, 1);
			try { db.exec("select 1/0") } catch (e) { is("class", e.class, "server"); is("code", e.code, "22012") }
			db.begin("serializable"); db.exec("create temp table k6_t (a int)"); db.exec("insert into k6_t values ($1)", [1]); db.rollback();
			try { db.query("select * from k6_t") } catch (e) { is("rolled back", e.code, "42P01") }
			for (let i = 0; i < 300; i++) db.query("select " + i + " as x, $1::int as y", [i]);
			is("after many statements", db.query("select 299 as x, $1::int as y", [5])[0].y, 5);`},
		"mariadb": {of(t, "mysql", servers.MariaDB(t)), `
			const [r] = db.query("select cast($1 as signed) a, cast($2 as decimal(20,2)) b, $3 c, $4 d, $5 e", [9223372036854775807n, brunt.decimal("12.50"), "ж", null, 0.5]);
			is("int8", r.a, 9223372036854775807n); is("decimal", Number(r.b), 12.5); is("text", r.c, "ж"); is("null", r.d, null); is("double", Number(r.e), 0.5);
			const [x] = db.query("select cast(x'00ff' as binary(2)) a, cast(18446744073709551615 as unsigned) b, timestamp'2024-02-29 12:34:56.5' c, date'2024-02-29' d, cast('12345678901234567890.5' as decimal(30,1)) e, time'10:11:12' f");
			is("bytes", x.a, new Uint8Array([0, 255])); is("bytes' kind", x.a instanceof Uint8Array, true); is("unsigned", x.b, 18446744073709551615n);
			is("time", x.c.getTime(), 1709210096500); is("date", x.d.getTime(), 1709164800000); is("long decimal", x.e.toString(), "12345678901234567890.5"); is("time of day", x.f.slice(0, 8), "10:11:12");
			const [y] = db.query("select $1 = x'00ff' a, $2 = cast('12345678901234567890.5' as decimal(30,1)) b", [x.a, x.e]);
			is("sent back", y.a + y.b, 2);
			db.exec("create or replace table k6_v (a varbinary(9), b blob, c bit(12), d bigint unsigned, e datetime(6), f json, g decimal(65,30), h year)");
			db.exec("insert into k6_v values (x'00ff5c27', x'80', b'101010101010', 18446744073709551615, '2024-02-29 12:34:56.789012', '{\"a\": 1.50}', 12345678901234567890123456789012345.123456789012345678901234567890, 2024)");
			const [z] = db.query("select * from k6_v");
			is("varbinary", z.a, new Uint8Array([0, 255, 92, 39])); is("blob", z.b, new Uint8Array([128])); is("bit", z.c, new Uint8Array([10, 170]));
			is("in a column", z.d, 18446744073709551615n); is("to the microsecond", z.e.getTime(), 1709210096789); is("year", z.h, 2024);
			is("65 digits", z.g.toString(), "12345678901234567890123456789012345.123456789012345678901234567890");
			db.exec("insert into k6_v values ($1, $2, $3, $4, $5, $6, $7, $8)", [z.a, z.b, z.c, z.d, z.e, z.f, z.g, z.h]);
			is("stored again", db.query("select count(*) n from (select distinct a, b, c, d, left(e, 23), f, g, h from k6_v) x")[0].n, 1);
			refused("NaN", () => db.query("select $1", [NaN])); refused("infinite", () => db.exec({ sql: "select $1", simple: true }, [-Infinity]));
			for (let i = 0; i < 300; i++) db.query("select " + i + " as x, $1 as y", [i]);`},
		"sqlite": {`{"protocol":"sqlite","addresses":[":memory:values"]}`, `
			db.exec("create table v (a integer, b text, c blob, d real)");
			is("affected", db.exec("insert into v values ($1, $2, $3, $4)", [9007199254740993n, "ж", new Uint8Array([1, 2]), 2.5]).affected, 1);
			const [r] = db.query("select * from v");
			is("integer", r.a, 9007199254740993n); is("text", r.b, "ж"); is("bytes", r.c, new Uint8Array([1, 2])); is("real", r.d, 2.5);
			const s = db.prepare("select a + $1 as n from v"); is("prepared", s.query([1])[0].n, 9007199254740994n);
			is("infinite", db.query("select $1 as x", [Infinity])[0].x, Infinity); refused("NaN", () => db.query("select $1 as x", [NaN]));`},
		"tarantool": {of(t, "iproto", tarantool(t)), `
			db.exec({ eval: "local s = box.schema.space.create('k6_v', {if_not_exists = true, format = {{'id', 'unsigned'}, {'x', 'any'}}}) s:create_index('pk', {if_not_exists = true})" });
			db.exec({ insert: "k6_v" }, [18446744073709551615n, "ж"]);
			const [r] = db.query({ select: "k6_v" }, [18446744073709551615n]);
			is("unsigned", r.id, 18446744073709551615n); is("any", r.x, "ж");
			is("SQL", db.query('select "id" from "k6_v" where "x" = ?', ["ж"])[0].id, 18446744073709551615n);
			is("several values", JSON.stringify(db.query({ eval: "return 1, {2, {x = {3.5, 'ж', box.NULL}}, true}" })),
				'[{"1":1,"2":[2,{"x":[3.5,"ж",null]},true]}]');
			is("within a row", db.query({ eval: "return {{id = 1, list = {9007199254740993ULL, 'x'}}}" })[0].list.join(),
				"9007199254740993,x");
			const long = brunt.decimal("12345678901234567890.123456789012345678");
			is("long decimals", db.query({ eval: "local d = ... return {{ d, d * 0 + require('decimal').new('1e20'), tostring(d) }}" }, [long])[0][3], "12345678901234567890.123456789012345678");
			is("NaN", db.query({ eval: "local x = ... return {{ x ~= x }}" }, [NaN])[0][1], true);
			is("infinite", db.query("select ? as x", [-Infinity])[0].X, -Infinity); refused("NaN in SQL", () => db.query("select ?", [NaN]));
			db.exec({ eval: "box.space.k6_v:drop()" });`},
		"redis": {of(t, "redis", servers.Redis(t)), `
			db.exec("SET k6:$1 $2", [1, "ж x"]);
			is("get", db.query("GET k6:$1", [1])[0].value, "ж x"); is("number", db.query("INCR k6:n")[0].value, 1);
			db.exec({ command: ["RPUSH", "k6:list", "a", "b"] }); 
			db.exec("HSET k6:hash b 2 a 1");
			is("map", JSON.stringify(db.query("hgetall k6:hash")), '[{"key":"a","value":"1"},{"key":"b","value":"2"}]');
			is("list", db.query("LRANGE k6:list 0 -1").map((r) => r.value).join(), "a,b");
			is("missing", db.exec("GET k6:none").missing, true);
			db.exec("MSET k6:nan $1 k6:inf $2", [NaN, -Infinity]); is("as texts", db.query("MGET k6:nan k6:inf").map((r) => r.value).join(), "NaN,-inf");
			try { db.exec("INCR k6:1") } catch (e) { is("class", e.class, "server") }
			db.exec("DEL k6:1 k6:n k6:list k6:hash k6:nan k6:inf");`},
		"bbolt": {`{"protocol":"bbolt","addresses":["` + t.TempDir() + `/db"]}`, `
			db.exec({ insert: "t", fields: ["a", "b"] }, ["key1", "x", "y"]);
			const [r] = db.query({ read: "t", fields: ["a", "b"] }, ["key1"]); is("field", r.b, "y"); is("key", r.key, "key1");
			is("scan", db.query({ scan: "t", fields: ["a"] }, ["key0", 10]).length, 1);
			is("missing", db.exec({ read: "t", fields: ["a"] }, ["none"]).missing, true);`},
		"http": {`{"protocol":"http","addresses":["` + servers.Nginx(t).Addr + `"]}`, `
			const [r] = db.query("/"); is("status", r.status, 200); is("body", r.body.length > 100, true); is("header", r.headers["Content-Type"], "text/html");
			is("change", db.exec({ http: { method: "HEAD", path: "/" } }).status, 200);`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, "-e", "TARGET="+c.target, script(t, checks+c.body+"\n}"))
			if o.code != 0 || o.says("level=error") {
				t.Errorf("exit %d", o.code)
			}
		})
	}
}

// A value that setup() returns arrives unchanged, as far as JSON can represent it. k6 passes it on as JSON.
func TestWhatSetupReturns(t *testing.T) {
	t.Parallel()
	s := tarantool(t)
	o := run(t, "-e", "ADDR="+s.Addr, "-e", "USER="+s.User, "-e", "PASS="+s.Password, script(t, `
		import { check } from "k6";
		import brunt from "k6/x/brunt";
		import tarantool from "k6/x/tarantool";
		const conn = tarantool.connect(__ENV.ADDR, { user: __ENV.USER, pass: __ENV.PASS });
		const db = brunt.open("sqlite::memory:setup");
		export const options = { iterations: 1, thresholds: { checks: ["rate == 1"] } };
		export function setup() {
			const result = tarantool.eval(conn, "return {1, 'two', {three = 3.5}}, box.NULL");
			return { result, code: result.code, decimal: brunt.decimal("12345678901234.50"), list: [result, brunt.uuid("d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77")],
				rows: db.query("SELECT 1 AS one, 'x' AS two") };
		}
		const is = (what, got, want) => check(got, { [what + ": " + JSON.stringify(got)]: (g) => JSON.stringify(g) === JSON.stringify(want) });
		const same = (data) => {
			is("data", data.result.data, [[1, "two", { three: 3.5 }], null]);
			is("code", [data.result.code, data.code, data.result.error], [0, 0, ""]);
			is("in a list", data.list[0].data, data.result.data);
			is("decimal", data.decimal, "12345678901234.50");
			is("uuid", data.list[1], "d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77");
			// Objects that k6 hands on have their keys in any order.
			is("rows", [data.rows.length, data.rows[0].one, data.rows[0].two], [1, 1, "x"]);
		};
		export default same;
		export function teardown(data) { same(data) }`))
	if o.code != 0 || o.says("level=error") {
		t.Errorf("exit %d", o.code)
	}
}

// of returns the expression by which a script opens a server.
func of(t *testing.T, proto string, s *testserver.Server) string {
	t.Helper()
	return `{"protocol":"` + proto + `","addresses":["` + s.Addr + `"],"user":"` + s.User + `","password":"` + s.Password +
		`","database":"` + s.Database + `"}`
}

// A target may be a URL.
func TestTargetAsURL(t *testing.T) {
	t.Parallel()
	s := servers.Postgres(t)
	address := (&url.URL{Scheme: "postgres", User: url.UserPassword(s.User, "secret word"), Host: s.Addr, Path: s.Database,
		RawQuery: "application_name=k6"}).String()
	o := run(t, "-e", "TARGET="+address, script(t, `
		import brunt from "k6/x/brunt";
		const db = brunt.open(__ENV.TARGET);
		export default function () { console.log("as " + db.query("show application_name")[0].application_name) }`))
	if o.code != 0 || !o.says("as k6") || o.says("secret") {
		t.Errorf("exit %d", o.code)
	}
}

// Requests are distributed over the addresses that answer, by their weights.
func TestBalance(t *testing.T) {
	t.Parallel()
	lua := testserver.Lua("count = 0\nfunction hit() count = count + 1 return count end")
	a, b := testserver.Tarantool(t, lua), testserver.Tarantool(t, lua)
	hits := func(weight string) outcome {
		return run(t, append(as(a), "-e", "SECOND="+b.Addr, script(t, `
			import { check } from "k6";
			import tarantool from "k6/x/tarantool";
			const as = { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD };
			const both = tarantool.connect([__ENV.ADDR + "`+weight+`", __ENV.SECOND], as);
			const each = [__ENV.ADDR, __ENV.SECOND].map((x) => tarantool.connect(x, as));
			export const options = { vus: 4, iterations: 400 };
			export default function () { tarantool.call(both, "hit") }
			export function teardown() {
				console.log("hits " + each.map((c) => { try { return tarantool.eval(c, "local n = count; count = 0; return n").data[0] } catch (e) { return e.class } }).join(" "));
			}`))...)
	}
	if o := hits(""); o.code != 0 || !o.says("hits 200 200") {
		t.Errorf("in turn: exit %d", o.code)
	}
	if o := hits("*3"); o.code != 0 || !o.says("hits 300 100") {
		t.Errorf("by weights: exit %d", o.code)
	}
	b.Kill()
	o := hits("")
	if ok, failed := o.counts("call hit"); o.code != 0 || ok < 390 || ok+failed != 400 {
		t.Errorf("with a dead address: exit %d, %d succeeded, %d failed", o.code, ok, failed)
	}
}

// The same seed generates the same values for any number of virtual users, each value once.
func TestGeneratedOnce(t *testing.T) {
	t.Parallel()
	ids := func(vus string) string {
		o := run(t, "--vus", vus, "--iterations", "60", script(t, `
			import datagen from "k6/x/datagen";
			import exec from "k6/execution";
			const g = datagen.generator({ type: "Integer", range: [1, 60], unique: true }, { seed: 9, rows: 60 });
			const seen = datagen.generator("Integer", { seed: 1 });
			export default function () { console.log("id " + g.next() + ".") }
			export function teardown() { console.log("taken " + g.taken() + ", like plans " + g.at(0) + " " + g.at(59)) }`))
		for n := 1; n <= 60; n++ {
			if !o.says("id " + strconv.Itoa(n) + ".") {
				t.Errorf("%d isn't among them", n)
			}
		}
		if !o.says("taken 60, like plans 1 60") {
			t.Error("unique whole numbers of a table count up")
		}
		return o.text
	}
	ids("1")
	ids("5")
}

// The cars of the article differ in each run, unless a seed is set.
func TestCarsOfRuns(t *testing.T) {
	t.Parallel()
	first := func(options string) string {
		o := run(t, script(t, `
			import datagen from "k6/x/datagen";
			export function setup() { datagen.generateData(`+options+`) }
			export default function () { console.log("car " + datagen.getData().car_id + ".") }`))
		_, car, _ := strings.Cut(o.text, "car ")
		car, _, _ = strings.Cut(car, ".")
		return car
	}
	if a, b := first(""), first(""); len(a) != 5 || a == b {
		t.Errorf("two runs begin with %q and %q", a, b)
	}
	if a, b := first("{seed: 7}"), first("{seed: 7}"); len(a) != 5 || a != b {
		t.Errorf("two runs of one seed begin with %q and %q", a, b)
	}
}
