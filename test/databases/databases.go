// Package databases starts the databases of several kinds that benchmarks are tested with.
package databases

import (
	"path/filepath"
	"testing"

	"brunt/internal/plan"
	_ "brunt/internal/protocol/all"
	"brunt/test/testserver"
)

// Protocols are the protocols of the databases that Plan starts.
var Protocols = []string{"sqlite", "pg", "mysql", "iproto"}

// Plan starts a server of a protocol, or takes one of the pool, and returns a plan for it. The plan and the file of an
// embedded database have the given name.
func Plan(t *testing.T, servers *testserver.Pool, protocol, name string) *plan.Plan {
	t.Helper()
	p := &plan.Plan{Name: name, Target: plan.Target{Protocol: protocol}}
	var s *testserver.Server
	switch protocol {
	case "sqlite":
		p.Target.Addresses = []string{filepath.Join(t.TempDir(), name+".db")}
		p.Target.Options = map[string]string{"synchronous": "off"}
		return p
	case "pg":
		s = servers.Postgres(t)
	case "mysql":
		s = servers.MariaDB(t)
	case "iproto":
		s = testserver.Tarantool(t)
	default:
		t.Fatalf("there is no server for %s", protocol)
	}
	p.Target.Addresses, p.Target.User, p.Target.Password, p.Target.Database = []string{s.Addr}, s.User, s.Password,
		s.Database
	return p
}
