// Every function of k6/x/tarantool, on a space that the script makes for itself.
//
//   brunt k6 run -e ADDR=127.0.0.1:3301 examples/k6/tarantool.js
import { check } from "k6";
import tarantool from "k6/x/tarantool";

const options_ = { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD };
const conn = tarantool.connect((__ENV.ADDR || "127.0.0.1:3301").split(","), options_);
const rows = tarantool.connect((__ENV.ADDR || "127.0.0.1:3301").split(","), Object.assign({ rows: "object" }, options_));

export const options = { vus: 2, iterations: 100, thresholds: { checks: ["rate == 1"] } };

export function setup() {
  tarantool.eval(conn, `
    local s = box.schema.space.create('k6_cars', {if_not_exists = true,
      format = {{'id', 'unsigned'}, {'model', 'string'}, {'price', 'number', is_nullable = true}}})
    s:create_index('pk', {if_not_exists = true})
    s:truncate()
    function k6_model(id) return box.space.k6_cars:get(id).model end
  `);
}

export default function () {
  const id = (__VU * 1000 + __ITER) * 10;
  check(tarantool.insert(conn, "k6_cars", [id, "cadillac", 10.5]), { inserted: (r) => r.code === 0 });
  tarantool.replace(conn, "k6_cars", [id, "lincoln", null]);
  tarantool.update(conn, "k6_cars", "pk", [id], [["=", "price", 7]]);
  tarantool.upsert(conn, "k6_cars", [id + 1, "buick", 1], [["+", 2, 1]]);
  check(tarantool.select(rows, "k6_cars", "pk", 0, 2, "GE", [id]), {
    "selected as objects": (r) => r.data.length === 2 && r.data[0].model === "lincoln" && r.data[0].price === 7,
  });
  check(tarantool.call(conn, "k6_model", [id]), { called: (r) => r.data[0][0] === "lincoln" });
  check(tarantool.call17(conn, "k6_model", [id]), { "called as since 1.7": (r) => r.data[0] === "lincoln" });
  check(tarantool.execute(rows, 'SELECT "model" FROM "k6_cars" WHERE "id" = ?', [id]), {
    "asked in SQL": (r) => r.data[0].model === "lincoln",
  });
  tarantool.callAsyncNoReturn(conn, "k6_model", [id]);
  tarantool.resolveCallFutures();
  try {
    tarantool.call(conn, "no_such_function");
  } catch (e) {
    check(e, { "failures have a class and a code": (e) => e.class === "server" && e.code === "33" });
  }
  check(tarantool.delete(conn, "k6_cars", "pk", [id + 1]), { deleted: (r) => r.data.length === 1 });
}

export function teardown() {
  tarantool.eval(conn, "box.space.k6_cars:drop()");
}
