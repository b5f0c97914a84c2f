package scripts_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/test/testserver"
)

// Nothing listens there.
const nowhere = "127.0.0.1:1"

func TestDeadTarantool(t *testing.T) {
	t.Parallel()
	head := `import tarantool from "k6/x/tarantool"; const conn = tarantool.connect("` + nowhere +
		`"); export const options = { iterations: 3 };`
	o := run(t, script(t, head+`export function setup() { tarantool.call(conn, "f") } export default function () {}`))
	if o.code != 107 || !o.says("connect") || !o.says(nowhere) {
		t.Errorf("in setup: exit %d", o.code)
	}
	o = run(t, script(t, head+`export default function () { tarantool.call(conn, "f") }`))
	if _, failed := o.counts("call f"); o.code != 0 || failed != 3 || o.failed("connect") != 3 {
		t.Errorf("in iterations: exit %d, %d failed as connect", o.code, o.failed("connect"))
	}
	o = run(
		t, script(
			t, `import tarantool from "k6/x/tarantool"; export function setup() { tarantool.connect("`+nowhere+`") } export default function () {}`))
	if o.code != 107 || !o.says("connection refused") {
		t.Errorf("connecting in setup: exit %d", o.code)
	}
}

// A server that dies fails requests, but doesn't end the run, and is used again when it is back.
func TestTarantoolDiesAndReturns(t *testing.T) {
	t.Parallel()
	s := testserver.Tarantool(t, testserver.Lua("function one() return 1 end"))
	j := begin(t, append(as(s), script(t, `
		import tarantool from "k6/x/tarantool";
		const conn = tarantool.connect(__ENV.ADDR, { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD });
		export const options = { scenarios: { s: { executor: "constant-arrival-rate", rate: 100, timeUnit: "1s", duration: "6s", preAllocatedVUs: 20 } } };
		let last = "";
		export default function () {
			try { tarantool.call(conn, "one"); last = "ok" } catch (e) { last = e.class }
		}`))...)
	j.underWay(2)
	s.Kill()
	time.Sleep(time.Second)
	s.Restart()
	o := j.wait()
	ok, failed := o.counts("call one")
	if o.code != 0 || ok < 100 || failed == 0 || o.failed("connect") == 0 ||
		o.failed("server")+o.failed("client")+o.failed("protocol") > 0 {
		t.Errorf("exit %d, %d succeeded, failures %v", o.code, ok, o.run.Total.Errors)
	}
}

// A script that never ends is refused before it takes all memory.
func TestEndlessScripts(t *testing.T) {
	t.Parallel()
	const says = "it has no end after 64 MiB"
	if o := run(t, "/dev/zero"); o.code == 0 || !o.says("/dev/zero: "+says) {
		t.Errorf("a device: exit %d", o.code)
	}
	endless, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	j := prepare(t, "", nil, "k6", "run", "--quiet", "-")
	j.cmd.Stdin = endless
	if o := j.start().wait(); o.code == 0 || !o.says("standard input: "+says) {
		t.Errorf("standard input: exit %d", o.code)
	}
}

// Iterations that are interrupted don't wait for their answers, because these would count as done.
func TestInterruptedCallsReturn(t *testing.T) {
	t.Parallel()
	s := testserver.Tarantool(t, testserver.Lua("function slow() require('fiber').sleep(60) end"))
	o := run(t, append(as(s), script(t, `
		import tarantool from "k6/x/tarantool";
		import brunt from "k6/x/brunt";
		const conn = tarantool.connect(__ENV.ADDR, { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD });
		const db = brunt.open({ protocol: "iproto", addresses: [__ENV.ADDR], user: __ENV.TNT_USER, password: __ENV.TNT_PASSWORD });
		const one = (exec) => ({ executor: "constant-vus", vus: 2, duration: "1s", gracefulStop: "0s", exec: exec });
		export const options = { scenarios: { a: one("a"), b: one("b") } };
		export function a() { tarantool.call(conn, "slow") }
		export function b() { db.exec({ call: "slow" }) }`))...)
	if o.code != 0 || o.run == nil || o.run.Total.Unfinished != 4 || o.run.Total.Failed != 0 {
		t.Errorf("exit %d, %+v", o.code, o.run)
	}
}

// Any wrong argument to any function causes an exception with the function's name, and never ends the process.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	s := tarantool(t)
	o := run(t, append(as(s), script(t, `
		import tarantool from "k6/x/tarantool";
		import datagen from "k6/x/datagen";
		import picostress from "k6/x/picostress";
		import brunt from "k6/x/brunt";
		const conn = tarantool.connect(__ENV.ADDR, { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD });
		const db = brunt.open("sqlite::memory:wrong");
		const circle = []; circle.push(circle);
		const odd = [undefined, null, 7, -1, NaN, Infinity, 1e300, 12345678901234567890n, "", "text", true, [], [[]], [1, "a"], {}, { a: 1 }, { type: "Integer" },
			() => 1, new Date(NaN), new Date(), new Uint8Array(3), new ArrayBuffer(2), Symbol.iterator, new Map(), new Proxy({}, {}), conn, db, /x/];
		let thrown = 0, plain = 0, unnamed = [];
		const ofGo = /interface *\{|map\[|func\(|\[\]|\bu?int\d*\b|float64|big\.|json:|reflect|sobek|%!|0x[0-9a-f]{4}|&\{|<nil>|\bnil\b|marshal|Go (value|type)|strconv/;
		const judged = new Map();  // many exceptions have the same message
		function speaksGo(message) {
			if (!judged.has(message)) judged.set(message, ofGo.test(message));
			return judged.get(message);
		}
		const settings = {
			"tarantool.connect": [(o) => tarantool.connect(__ENV.ADDR, o), ["timeout", "reconnect", "max_reconnects", "user", "pass", "rate_limit",
				"r_limit_action", "concurrency", "skip_schema", "transport", "ssl", "balance", "connections", "connect_timeout", "rows"]],
			"brunt.open": [(o) => brunt.open({ protocol: "sqlite", addresses: [":memory:wrong"], ...o }), ["protocol", "addresses", "user", "password",
				"database", "sessions", "timeout", "options", "tls", "balance", "pipeline"]],
			"brunt.query": [(o) => db.query({ sql: "select 1", ...o }), ["sql", "name", "call", "command", "http", "weight", "params"]],
			"brunt.rows": [(o) => db.query("select 1", [], o), ["rows"]],
			"datagen.generator": [(o) => datagen.generator("Integer", o), ["seed", "rows", "name"]],
			"datagen.spec": [(o) => datagen.generator({ type: "Integer", ...o }), ["type", "range", "unique", "distribution", "value", "nulls"]],
			"datagen.rows": [(o) => datagen.rows(o), ["a"]],
		};
		function misconfigure() {
			for (const [name, [call, keys]] of Object.entries(settings)) for (const key of keys) for (const x of odd) {
				try { call({ [key]: x }); plain++ } catch (e) {
					thrown++;
					if (speaksGo(e.message)) unnamed.push("words of Go: " + name + ", " + key + ": " + e);
				}
			}
		}
		const skip = ["generateData", "getData", "close", "closeConnPool", "new", "runPlan", "version", "resolveCallFutures", "rollback", "commit", "begin"];
		function attack(name, object, first) {
			for (const key of Object.keys(object)) {
				if (typeof object[key] !== "function" || skip.includes(key)) continue;
				for (const x of odd) for (const y of odd) {
					try { first === undefined ? object[key](x, y, x, y) : object[key](first, x, y, x, y, x, y); plain++ } catch (e) {
						thrown++;
						if (!(e instanceof Error) || e.class === undefined) unnamed.push(name + "." + key + ": " + e);
						if (speaksGo(e.message)) unnamed.push("words of Go: " + e);
						if (e instanceof TypeError && !String(e.message).includes(key) && !String(e.message).includes("datagen")) unnamed.push(key + ": " + e);
					}
				}
			}
		}
		export default function () {
			attack("tarantool", tarantool); attack("tarantool", tarantool, conn);
			attack("datagen", datagen); attack("datagen", datagen.generator("UUID"));
			attack("brunt", brunt); attack("db", db); attack("statement", db.prepare("select 1"));
			attack("picostress", picostress.new());
			misconfigure();
			try { tarantool.call(conn, "f", [circle]) } catch (e) { console.log("circle: " + e) }
			console.log("thrown " + thrown + ", " + [...new Set(unnamed)].slice(0, 20).join("; ") + ".");
		}`))...)
	if o.code != 0 || !o.says("thrown ") || !o.says(", .") {
		t.Errorf("exit %d", o.code)
	}
}

// Exceptions name the function and the argument, and say what is expected.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := tarantool(t)
	for code, want := range map[string]string{
		`tarantool.call("x", "f")`:                                 `tarantool.call: argument 1 (the connection) is a string; give what connect() returned`,
		`tarantool.call(conn, 7)`:                                  `tarantool.call: argument 2 (the function's name, or the program) is the number 7; give a string`,
		`tarantool.insert(conn, "nowhere", [1])`:                   `no space "nowhere"`,
		`tarantool.connect("a:b:c")`:                               `"a:b:c" is not host:port`,
		`tarantool.connect("a", { tiemout: 3 })`:                   `the options: unknown "tiemout"`,
		`tarantool.connect(["a", "b"], {balance: "best"})`:         `unknown policy "best"`,
		`tarantool.connect("a", { timeout: "soon" })`:              `"timeout" is "soon"; give a time such as`,
		`tarantool.decimal("1,5")`:                                 `"1,5" is no decimal`,
		`datagen.generator({ type: "Integr" })`:                    `datagen.generator: `,
		`datagen.generator({ type: "Integer", rnage: [] })`:        `rnage`,
		`datagen.rows({})`:                                         `argument 1 (the columns) is an object; give an object with a spec`,
		`brunt.open({ protocol: "postgers" })`:                     `unknown protocol "postgers"`,
		`brunt.open({ protocl: "pg" })`:                            `protocl`,
		`brunt.open("sqlite::memory:").query("select $1")`:         `$1 has no parameter`,
		`brunt.open("pg://` + nowhere + `/x").exec("select 1")`:    `connect refused: can't connect to ` + nowhere,
		`brunt.open("sqlite::memory:").commit()`:                   `commit: no transaction is under way`,
		`brunt.open("redis://` + nowhere + `").exec({ sql: "x" })`: `connect`,
		`brunt.runPlan("nowhere.yml")`:                             `nowhere.yml`,
		`picostress.new().config.name`:                             `no configuration is known`,
		`{ const e = picostress.new().call("select 1"); throw e }`: `call initConnPool first`,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(code, "{") {
				code = "{ " + code + " }"
			}
			o := run(t, append(as(s), script(t, fmt.Sprintf(`
				import tarantool from "k6/x/tarantool";
				import datagen from "k6/x/datagen";
				import picostress from "k6/x/picostress";
				import brunt from "k6/x/brunt";
				const conn = tarantool.connect(__ENV.ADDR, { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD });
				export default function () {
					try %s catch (e) { console.log("it says: " + e.message + " | " + e.class) }
				}`, code)))...)
			if o.code != 0 || !o.says("it says: ") || !strings.Contains(unescaped(o.text), want) {
				t.Errorf("exit %d, wanted %q", o.code, want)
			}
		})
	}
}

// unescaped undoes the quoting of k6's log.
func unescaped(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }
