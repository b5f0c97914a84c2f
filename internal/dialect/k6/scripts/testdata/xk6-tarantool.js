// What calls of k6/x/tarantool return and throw, one line each. It is for xk6-tarantool as well as for brunt: __ENV.LIST
// says that connect() wants a list, as its later versions do.
import tarantool from "k6/x/tarantool";

const conn = tarantool.connect(__ENV.LIST ? [__ENV.ADDR] : __ENV.ADDR, { user: __ENV.USER, pass: __ENV.PASS });
export const options = { iterations: 1, vus: 1 };

const kind = (x) => (Array.isArray(x) ? x.map(kind) : typeof x === "bigint" ? "number" : x === null ? "null" : typeof x);
// Maps are opaque to scripts of xk6-tarantool; they are told by the result's text.
const plain = (k, x) => (typeof x === "bigint" ? parseFloat(String(x)) : x && typeof x === "object" && !Array.isArray(x) ? "map" : x);

const show = (name, f) => {
  let line;
  try {
    const r = f();
    line = ["code " + r.code, "error " + JSON.stringify(r.error), "data " + JSON.stringify(Array.from(r.data, (x) => x), plain),
      "kinds " + JSON.stringify(r.data.map(kind)), "id " + typeof r.request_id, String(r).replace(/^<\d+/, "<N"),
      r.string().replace(/^<\d+/, "<N")].join("; ");
  } catch (e) {
    line = "throws " + String(e.message || e).split(" (")[0];
  }
  console.log("RESULT " + name + ": " + line);
};

export default () => {
  show("insert", () => tarantool.insert(conn, "peer", [1, "cadillac", 2.5]));
  show("insert twice", () => tarantool.insert(conn, "peer", [1, "cadillac", 2.5]));
  show("insert a map", () => tarantool.insert(conn, "peer", [2, "volga", { a: [1, "x", null, true], "ж": -1.5 }]));
  show("insert null", () => tarantool.insert(conn, "peer", [3, "null", null]));
  show("insert a negative number", () => tarantool.insert(conn, "peer", [4, "negative", -7]));
  show("insert a large number", () => tarantool.insert(conn, "peer", [5, "large", 4294967296]));
  show("replace", () => tarantool.replace(conn, "peer", [1, "lada", false]));
  show("select", () => tarantool.select(conn, "peer", "pk", 0, 10, 0, [1]));
  show("select all", () => tarantool.select(conn, "peer", "pk", 0, 10, 2, []));
  show("select with an offset", () => tarantool.select(conn, "peer", "pk", 1, 2, 2, []));
  show("select nothing", () => tarantool.select(conn, "peer", "pk", 0, 10, 0, [99]));
  show("select by numbers", () => tarantool.select(conn, 600, 0, 0, 1, 0, [1]));
  show("select backwards", () => tarantool.select(conn, "peer", "pk", 0, 2, 4, [4]));
  show("update", () => tarantool.update(conn, "peer", "pk", [1], [["=", 1, "moskvich"]]));
  show("update nothing", () => tarantool.update(conn, "peer", "pk", [99], [["=", 1, "x"]]));
  show("upsert a new tuple", () => tarantool.upsert(conn, "peer", [6, "new", 1], [["=", 1, "changed"]]));
  show("upsert an old tuple", () => tarantool.upsert(conn, "peer", [6, "new", 1], [["=", 1, "changed"]]));
  show("delete", () => tarantool.delete(conn, "peer", "pk", [6]));
  show("delete nothing", () => tarantool.delete(conn, "peer", "pk", [6]));
  show("call", () => tarantool.call(conn, "peer_echo", [1, "x", { a: 1 }, [1, 2]]));
  show("call17", () => tarantool.call17(conn, "peer_echo", [1, "x", { a: 1 }, [1, 2]]));
  show("call without arguments", () => tarantool.call(conn, "peer_nothing", []));
  show("call17 without arguments", () => tarantool.call17(conn, "peer_nothing", []));
  show("call a method", () => tarantool.call(conn, "box.space.peer:select", [1]));
  show("call17 a method", () => tarantool.call17(conn, "box.space.peer:select", [1]));
  show("call what isn't there", () => tarantool.call(conn, "peer_unknown", []));
  show("call what fails", () => tarantool.call(conn, "peer_fails", []));
  show("eval", () => tarantool.eval(conn, "return 1, 'two', {three = 3}, nil, true, 1.5, -1", []));
  show("eval with arguments", () => tarantool.eval(conn, "return ...", [1, "x", 0.1, 1e15, -2147483649]));
  show("eval with a fault", () => tarantool.eval(conn, "return +", []));
  show("eval arrays", () => tarantool.eval(conn, "return {{1}, {a = {b = {1, 2}}}}, {}", []));
  show("eval limits", () => tarantool.eval(conn, "return 'ж', 2^31, 2^40, -2^31, 18446744073709551615ULL, 9007199254740993LL", []));
  show("tuples", () => ({ code: 0, error: "", request_id: 0, data: tarantool.select(conn, "peer", "pk", 0, 10, 0, [4]).tuples(), string: () => "", toString: () => "" }));
};
