// Any database that brunt knows, by one set of functions. Without TARGET it is a SQLite in memory.
//
//   brunt k6 run examples/k6/brunt.js
//   brunt k6 run -e TARGET=pg://stress@127.0.0.1:5432/stress examples/k6/brunt.js
import { check } from "k6";
import brunt from "k6/x/brunt";

const db = brunt.open(__ENV.TARGET || "sqlite::memory:");

export const options = { vus: 2, iterations: 50, thresholds: { checks: ["rate == 1"] } };

export function setup() {
  db.exec("CREATE TABLE k6_account (id BIGINT PRIMARY KEY, owner VARCHAR(40), balance BIGINT)");
  for (let id = 1; id <= 10; id++) {
    db.exec("INSERT INTO k6_account VALUES ($1, $2, $3)", [id, `owner ${id}`, 9007199254741993n]);
  }
}

export default function () {
  const from = 1 + (__ITER % 10);
  const to = 1 + ((__ITER + 3) % 10);
  db.begin();
  try {
    db.exec("UPDATE k6_account SET balance = balance - 1 WHERE id = $1", [Math.min(from, to)]);
    db.exec("UPDATE k6_account SET balance = balance + 1 WHERE id = $1", [Math.max(from, to)]);
    db.commit();
  } catch (e) {
    db.rollback();
    if (e.class !== "retryable") {
      throw e;
    }
  }
  const rows = db.query("SELECT owner, balance FROM k6_account WHERE id = $1", [from]);
  check(rows, {
    "one row": (r) => r.length === 1 && r[0].owner === `owner ${from}`,
    "whole numbers beyond 2^53 are BigInts": (r) => typeof r[0].balance === "bigint",
  });
  try {
    db.query("SELECT nothing FROM nowhere");
  } catch (e) {
    check(e, { "failures have a class": (e) => e.class === "server" });
  }
}

export function teardown() {
  const sum = db.query("SELECT SUM(balance) AS sum FROM k6_account")[0].sum;
  check(sum, { "no money is lost": (s) => BigInt(String(s)) === 90071992547419930n });
  db.exec("DROP TABLE k6_account");
}
