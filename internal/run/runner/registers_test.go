package runner

import (
	"fmt"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"brunt/test/testserver"
)

// Where operations have routes, registers are written and read at the primary: a replica takes no writes, and what it
// answers may be old.
func TestRegistersOfAPrimary(t *testing.T) {
	t.Parallel()
	primary := testserver.Redis(t)
	replica := testserver.Redis(t, testserver.Settings(fmt.Sprintf("replicaof %s %d", primary.Host, primary.Port)))
	p := readTarget(t, fmt.Sprintf(`
target:
  protocol: redis
  addresses: ["%s", "%s"]
  topology: {source: roles, every: 100ms}
sessions: 2
registers:
  write: {command: [SET, "register:$1", $2]}
  read: {command: [GET, "register:$1"], capture: [0]}
  rate: 300
queries: [{name: put, route: primary, command: [SET, a, 1]}]
load: [{constant: {rate: 50, duration: 2s}}]
`, replica.Addr, primary.Addr))
	run, err := Run(t.Context(), nil, p, Options{Recording: Recording{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	if r := run.Registers; r == nil || r.Operations < 20 || r.Linearizable == 0 || r.Violated > 0 {
		t.Errorf("%+v", r)
	}
	c := goredis.NewClient(&goredis.Options{Addr: replica.Addr})
	defer c.Close()
	stats, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil || strings.Contains(stats, "cmdstat_get:") {
		t.Errorf("the replica was asked, too: %s, %v", stats, err)
	}
}
