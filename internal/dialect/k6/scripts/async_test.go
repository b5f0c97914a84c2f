package scripts_test

import (
	"strings"
	"testing"

	"brunt/test/testserver"
)

// Asynchronous calls in flight when the load ends are recorded as answered, failed or in flight.
func TestAsyncCallsAtTheEnd(t *testing.T) {
	t.Parallel()
	s := testserver.Tarantool(t, testserver.Lua("function slow() require('fiber').sleep(0.4) return 1 end"))
	for name, options := range map[string]string{ // the last calls are answered after the end of the load
		"iterations": `{ vus: 2, iterations: 40 }`,
		"duration":   `{ vus: 2, duration: "1s" }`,
		"a rate":     `{ scenarios: { r: { executor: "constant-arrival-rate", rate: 50, duration: "1s", preAllocatedVUs: 4 } } }`,
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, append(as(s), script(t, `
				import { sleep } from "k6";
				import tarantool from "k6/x/tarantool";
				const c = tarantool.connect([__ENV.ADDR], { user: __ENV.TNT_USER, pass: __ENV.TNT_PASSWORD });
				export const options = `+options+`;
				export default function () { tarantool.callAsyncNoReturn(c, "slow"); console.log("sent one"); sleep(0.02) }`))...)
			if o.run == nil {
				t.Fatalf("exit %d", o.code)
			}
			sent, recorded := strings.Count(o.text, "sent one"), uint64(0)
			for i := range o.run.Operations {
				if op := &o.run.Operations[i]; op.Name == "call slow" {
					recorded += op.Done + op.Unfinished
				}
			}
			if sent == 0 || uint64(sent) != recorded {
				t.Errorf("%d were sent, %d are recorded", sent, recorded)
			}
		})
	}
}
