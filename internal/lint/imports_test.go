package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rule says what the rooms under a folder must not import, outside of tests. A name is a room
// under internal/, with everything below it; "driver/*" means the protocols; "std:x" means the
// standard library's package x; "all" means every room but those that except names.
type rule struct {
	room      string
	forbidden []string
	except    []string
}

// rules is the table of rooms: what each must not know.
var rules = []rule{
	{room: "gen", forbidden: []string{"all", "std:os", "std:net", "std:net/http", "std:math/rand"}},
	{room: "schedule", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"gen"}},
	{room: "stats", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"measure"}},
	{room: "secret", forbidden: []string{"all", "std:os", "std:net"}},
	{room: "keyspace", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"gen"}},
	{room: "plan", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"driver", "gen", "keyspace", "secret", "sqltext"}},
	{room: "planfile", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"driver", "gen", "keyspace", "plan", "secret"}},
	{room: "workload", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"driver", "gen", "keyspace", "plan", "schedule"}},
	{room: "balance", forbidden: []string{"driver/*", "engine", "wire", "report", "dialect", "cli"}},
	{room: "measure", forbidden: []string{"plan", "engine", "wire", "report", "record", "dialect", "cli", "std:os", "std:net"}},
	{room: "driver", forbidden: []string{"all"}, except: []string{"driver", "driver/kv", "driver/sqlconn", "gen", "wire", "template", "socket", "sqltext"}},
	{room: "sqltext", forbidden: []string{"all", "std:os", "std:net"}},
	{room: "template", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"gen"}},
	{room: "socket", forbidden: []string{"all"}},
	{room: "wire", forbidden: []string{"driver/*", "engine", "report", "record", "stats", "dialect", "export", "cli"}},
	{room: "engine", forbidden: []string{"dialect", "report", "cli"}},
	{room: "record", forbidden: []string{"stats", "engine", "report", "dialect", "driver/*", "cli"}},
	{room: "units", forbidden: []string{"all", "std:os", "std:net"}},
	{room: "verdict", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"measure", "plan", "record", "units"}},
	{room: "series", forbidden: []string{"driver", "wire", "runner", "dialect", "export", "cli"}},
	{room: "campaign", forbidden: []string{"driver", "wire", "engine", "runner", "dialect", "export", "cli"}},
	{room: "report", forbidden: []string{"engine", "wire", "driver", "dialect", "cli"}},
	{room: "report/cell", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"report/words", "units"}},
	{room: "report/words", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"units"}},
	{room: "report/svg", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"report/cell", "units"}},
	{room: "within", forbidden: []string{"all", "std:os", "std:net"}, except: []string{"measure", "record", "stats", "units"}},
	{room: "export", forbidden: []string{"report", "dialect", "cli"}},
	{room: "cgroup", forbidden: []string{"all", "std:os", "std:net"}},
	{room: "awake", forbidden: []string{"all"}, except: []string{"cgroup", "record"}},
	{room: "observe", forbidden: []string{"engine", "wire", "report", "dialect", "cli"}},
	{room: "inspect", forbidden: []string{"engine", "wire", "driver/*", "runner", "report", "export", "dialect", "cli"}},
	{room: "dialect", forbidden: []string{"engine", "wire", "driver/*", "report", "cli"}},
	{room: "result", forbidden: []string{"engine", "wire", "driver", "report", "cli", "std:net"}},
	{room: "compare", forbidden: []string{"engine", "wire", "driver", "dialect", "cli", "std:os", "std:net"}},
	{room: "history", forbidden: []string{"engine", "wire", "driver", "dialect", "cli", "std:net"}},
	{room: "k6x", forbidden: []string{"dialect", "cli"}},
}

func (r rule) covers(room string) bool { return under(strings.TrimPrefix(room, "internal/"), r.room) }

// under reports whether a room is another or lies below it.
func under(room, above string) bool { return room == above || strings.HasPrefix(room, above+"/") }

// forbids reports whether a file of room breaks the rule by importing path.
func (r rule) forbids(room, path string) bool {
	wanted, ours := strings.CutPrefix(path, "brunt/internal/")
	if !ours {
		return slices.Contains(r.forbidden, "std:"+path)
	}
	if under(wanted, strings.TrimPrefix(room, "internal/")) || under(wanted, r.room) && r.room != "driver" {
		return false
	}
	for _, f := range r.forbidden {
		switch {
		case f == "all":
			if !slices.ContainsFunc(r.except, func(e string) bool { return wanted == e }) {
				return true
			}
		case f == "driver/*":
			if strings.HasPrefix(wanted, "driver/") {
				return true
			}
		case under(wanted, f):
			return true
		}
	}
	return false
}

// badImports lists the imports of a file that its room must not have.
func badImports(s *source) (faults []string) {
	if s.test {
		return nil
	}
	for _, path := range s.imports() {
		for _, r := range rules {
			if r.covers(s.room) && r.forbids(s.room, path) {
				faults = append(faults, fmt.Sprintf("%s: %s must not import %s", s.path, s.room, path))
			}
		}
		if strings.HasPrefix(path, "go.k6.io/") && !under(s.room, "internal/k6x") {
			faults = append(faults, fmt.Sprintf("%s: only internal/k6x may import %s", s.path, path))
		}
		if path == "C" {
			faults = append(faults, s.path+": cgo is not used here")
		}
	}
	return faults
}

func TestRoomsKeepApart(t *testing.T) {
	for _, s := range sources(t) {
		report(t, badImports(s))
	}
}

func TestBadImportsAreFound(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		bad            bool
	}{
		{"internal/gen/x.go", "brunt/internal/driver", true},
		{"internal/gen/x.go", "os", true},
		{"internal/gen/x.go", "math", false},
		{"internal/gen/x_test.go", "os", false},
		{"internal/gen/text/x.go", "brunt/internal/plan", true},
		{"internal/plan/x.go", "brunt/internal/engine", true},
		{"internal/plan/x.go", "brunt/internal/driver", false},
		{"internal/plan/x.go", "brunt/internal/driver/pg", true},
		{"internal/driver/redis/x.go", "brunt/internal/plan", true},
		{"internal/driver/redis/x.go", "brunt/internal/driver/web", true},
		{"internal/driver/redis/x.go", "brunt/internal/driver/redis/resp", false},
		{"internal/driver/redis/x.go", "brunt/internal/driver", false},
		{"internal/driver/redis/x.go", "brunt/internal/wire", false},
		{"internal/wire/x.go", "brunt/internal/driver", false},
		{"internal/wire/x.go", "brunt/internal/driver/pg", true},
		{"internal/report/html/x.go", "brunt/internal/engine", true},
		{"internal/report/html/x.go", "brunt/internal/report/style", false},
		{"internal/cli/x.go", "brunt/internal/driver/pg", false},
		{"internal/cli/x.go", "go.k6.io/k6/js", true},
		{"internal/k6x/x.go", "go.k6.io/k6/js", false},
		{"internal/stats/x.go", "brunt/internal/record", true},
		{"cmd/brunt/x.go", "C", true},
	} {
		got := badImports(parse(t, c.path, []byte("package p\n\nimport _ \""+c.imported+"\"\n")))
		if (len(got) > 0) != c.bad {
			t.Errorf("%s importing %s: got %q, want bad %v", c.path, c.imported, got, c.bad)
		}
	}
}
