package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/server/target"
	"brunt/test/testserver"
)

// Users don't know the proxies that brunt puts in front of servers: errors before the load name the servers, and why
// they can't be reached.
func TestErrorsNameNoProxies(t *testing.T) {
	for protocol, query := range map[string]string{
		"redis": "command: [get, a]", "pg": "sql: select 1", "http": "http: /", "mysql": "sql: select 1",
		"iproto": `eval: "return 1"`,
	} {
		t.Run(protocol, func(t *testing.T) {
			down := testserver.Address(t)
			p := readTarget(t, fmt.Sprintf(`
target: {protocol: %s, addresses: ["%s"], user: brunt}
queries: [{name: q, %s, weight: 1}]
load: [{constant: {rate: 10, duration: 2s}}]
faults: [{name: late, at: 1s, for: 500ms, network: {do: latency, delay: 10ms}}]
`, protocol, down, query))
			r, err := Open(t.Context(), p, Options{Recording: Recording{None: true}, Faults: Faults{Allowed: true}})
			if err == nil {
				err = errors.Join(r.SetUp(t.Context()), r.Close())
			}
			var unreachable *target.UnreachableError
			if !errors.As(err, &unreachable) {
				t.Fatalf("%v", err)
			}
			want := down + ": dial tcp " + down + ": connect: connection refused"
			text := err.Error()
			if !strings.Contains(text, want) || strings.Count(text, "127.0.0.1:") != strings.Count(text, down) {
				t.Errorf("%q: want %q and no other address", text, want)
			}
		})
	}
}
