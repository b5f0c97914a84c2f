package scripts_test

import (
	"testing"

	"brunt/test/testserver"
)

// Behind a pooler in transaction mode, virtual users share the server's sessions and the names of prepared statements
// there. Every query is answered by its own statement, in and outside of transactions.
func TestQueriesBehindAPooler(t *testing.T) {
	t.Parallel()
	pooler := testserver.PgBouncer(t, testserver.Postgres(t), 2)
	o := run(t, "-e", "TARGET="+of(t, "pg", pooler), script(t, `
		import brunt from "k6/x/brunt";
		const db = brunt.open(JSON.parse(__ENV.TARGET));
		export const options = { vus: 4, iterations: 200, thresholds: { wrong: ["count == 0"] } };
		import { Counter } from "k6/metrics";
		const wrong = new Counter("wrong");
		const ask = (k, x) => {
			const got = db.query("select $1::int * 10 + " + k + " as n", [x])[0].n;
			if (got !== x * 10 + k) { wrong.add(1); console.log("wrong: " + k + " of " + x + " is " + got) }
		};
		let refused = 0;
		export default function () {
			for (let i = 0; i < 4; i++) ask(__VU * 4 + i, __ITER);
			try {
				db.begin(); ask(__VU % 3, 1); ask(3 + __VU % 3, 2); db.commit();
			} catch (e) { // the request that notices the pooler within a transaction
				db.rollback();
				if (e.class !== "retryable" || ++refused > 1) throw e;
			}
		}`))
	if o.code != 0 || o.says("wrong: ") || o.says("level=error") {
		t.Errorf("exit %d", o.code)
	}
}
