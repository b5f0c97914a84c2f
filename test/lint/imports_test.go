package lint_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the imports that are there to imports.txt")

// wings are the folders below internal/, from the bottom up. A wing imports only wings below it.
var wings = strings.Fields(`
	base load render protocol plan measure record server engine inspect judge report run dialect cli`)

// mostWings is how many folders there may be below internal/: few enough to remember.
const mostWings = 15

// imports.txt lists exactly which rooms each room imports, tests excluded, one line a room. The table is the structure
// of the project: to add an import, change the table (`go test ./test/lint -run TestRoomsKeepApart -update` writes it).
const tableFile = "imports.txt"

// never lists what a room must not depend on, directly or indirectly. A name stands for the room and all rooms below
// it.
var never = table(`
engine: record
engine/loop: engine/pool
report/export: engine report
judge/failover: engine judge/verdict plan
judge/history: engine
judge/compare: engine
inspect/postgres: engine
dialect/k6: run/program
measure: plan
inspect/observe: engine/loop engine/pool
run/program: engine/loop engine/pool protocol/postgres protocol/protocols run/runner
record: base/stats plan
report: engine protocol/protocols server/schema
judge/result: engine
run/runner: report run/program
server/target: record
judge/verdict: engine
judge/verify: engine judge/verdict plan record
`)

// pure lists the rooms that use neither files nor the network.
var pure = strings.Fields(`
	base/cgroup base/secret base/sqltext base/stats judge/compare judge/confidence judge/failover judge/verdict
	judge/verify load/gen load/keyspace load/schedule load/template measure measure/hints measure/timeline plan
	plan/planfile plan/workload protocol/balance protocol/balance/bucket protocol/msgpack render render/message
	render/units server/schema/sql`)

// table reads lines of "room: others". An indented line continues the line before it.
func table(text string) map[string]string {
	rows, room := map[string]string{}, ""
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, " ") {
			room, line, _ = strings.Cut(line, ":")
		}
		rows[room] = strings.TrimSpace(rows[room] + " " + strings.TrimSpace(line))
	}
	return rows
}

// under reports whether a room is another or lies below it.
func under(room, above string) bool { return room == above || strings.HasPrefix(room, above+"/") }

// arrows returns the rooms that each room's files import, on any system. A room is named by its folder below internal,
// a tool by its folder from the module's root.
func arrows(all []*source) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	for _, s := range all {
		room, ours := strings.CutPrefix(s.room, "internal/")
		if s.test || !ours && !under(room, "tools") && !under(room, "test") {
			continue
		}
		if found[room] == nil {
			found[room] = map[string]bool{}
		}
		for _, path := range s.imports() {
			if other, ours := strings.CutPrefix(path, "brunt/"); ours {
				found[room][strings.TrimPrefix(other, "internal/")] = true
			}
		}
	}
	return found
}

// unlike compares the imports found with the table.
func unlike(found map[string]map[string]bool, table map[string]string) (faults []string) {
	for room, imports := range found {
		want, listed := table[room]
		if !listed {
			faults = append(faults, fmt.Sprintf("the table lacks the room %s", room))
		}
		for other := range imports {
			if !slices.Contains(strings.Fields(want), other) {
				faults = append(faults, fmt.Sprintf("%s must not import %s: the table doesn't allow it", room, other))
			}
		}
		for _, other := range strings.Fields(want) {
			if !imports[other] {
				faults = append(faults, fmt.Sprintf("%s doesn't import %s any more: take it out of the table", room, other))
			}
		}
	}
	for room := range table {
		if found[room] == nil {
			faults = append(faults, fmt.Sprintf("the table has %s, which isn't there", room))
		}
	}
	slices.Sort(faults)
	return faults
}

// reached returns all rooms that a room depends on, each with the room through which it was found.
func reached(room string, found map[string]map[string]bool) map[string]string {
	through := map[string]string{}
	for next := []string{room}; len(next) > 0; next = next[1:] {
		for _, other := range slices.Sorted(maps.Keys(found[next[0]])) {
			if _, seen := through[other]; !seen {
				through[other] = next[0]
				next = append(next, other)
			}
		}
	}
	return through
}

// forbidden lists the dependencies that the table never prohibits.
func forbidden(found map[string]map[string]bool, table map[string]string) (faults []string) {
	for room := range found {
		for above, list := range table {
			if !under(room, above) {
				continue
			}
			for other, via := range reached(room, found) {
				for _, no := range strings.Fields(list) {
					if under(other, no) {
						faults = append(faults, fmt.Sprintf("%s must never reach %s, and does through %s", room, other, via))
					}
				}
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// impure lists the imports that a file's room must not have, and imports of k6 and C.
func impure(s *source) (faults []string) {
	if s.test {
		return nil
	}
	room := strings.TrimPrefix(s.room, "internal/")
	for _, path := range s.imports() {
		outside := path == "os" || path == "net"
		if outside && slices.ContainsFunc(pure, func(p string) bool { return under(room, p) }) {
			faults = append(faults, fmt.Sprintf("%s: %s must not import %s", s.path, s.room, path))
		}
		if path == "math/rand" && under(room, "load/gen") {
			faults = append(faults, fmt.Sprintf("%s: load/gen draws from streams of its own, not from %s", s.path, path))
		}
		ofK6 := under(s.room, "internal/dialect/k6") || under(s.room, "examples/go-k6-module")
		if strings.HasPrefix(path, "go.k6.io/") && !ofK6 {
			faults = append(faults, fmt.Sprintf("%s: only internal/dialect/k6 may import %s", s.path, path))
		}
		if path == "C" {
			faults = append(faults, s.path+": cgo is not used here")
		}
	}
	return faults
}

// upwards lists the imports that go from a wing to one above it, or to one that the list of wings lacks.
func upwards(found map[string]map[string]bool) (faults []string) {
	for room, imports := range found {
		wing, _, _ := strings.Cut(room, "/")
		at := slices.Index(wings, wing)
		for other := range imports {
			to, _, _ := strings.Cut(other, "/")
			if i := slices.Index(wings, to); at >= 0 && (i < 0 || i > at) {
				faults = append(faults, fmt.Sprintf("%s must not import %s: %s isn't below %s", room, other, to, wing))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// written is a table as the text of imports.txt.
func written(found map[string]map[string]bool) string {
	var b strings.Builder
	for _, room := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintln(&b, strings.TrimSpace(room+": "+strings.Join(slices.Sorted(maps.Keys(found[room])), " ")))
	}
	return b.String()
}

func TestRoomsKeepApart(t *testing.T) {
	all := sources(t)
	found := arrows(all)
	if *update {
		if err := os.WriteFile(tableFile, []byte(written(found)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	report(t, unlike(found, table(string(text))))
	report(t, upwards(found))
	report(t, forbidden(found, never))
	for _, s := range all {
		report(t, impure(s))
	}
}

// The folders below internal/ are the wings, and each says what it decides, in its doc.go or its package's comment.
func TestWingsAreFewAndDescribed(t *testing.T) {
	if len(wings) > mostWings {
		t.Errorf("%d wings, more than %d", len(wings), mostWings)
	}
	folders, err := os.ReadDir(filepath.Join(root(t), "internal"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range folders {
		names = append(names, f.Name())
	}
	if want := slices.Sorted(slices.Values(wings)); !slices.Equal(names, want) {
		t.Errorf("internal/ has %v, the wings are %v", names, want)
	}
	for _, wing := range wings {
		if _, err := os.Stat(filepath.Join(root(t), "internal", wing, "doc.go")); err != nil {
			t.Errorf("%s has no doc.go that says what it decides and why", wing)
		}
	}
}

// A row for a room that doesn't exist would have no effect.
func TestTablesNameRooms(t *testing.T) {
	found := arrows(sources(t))
	there := func(name string) bool {
		for room := range found {
			if under(room, name) {
				return true
			}
		}
		return false
	}
	for _, table := range []map[string]string{never, {"pure": strings.Join(pure, " ")}} {
		for room, list := range table {
			for _, name := range append(strings.Fields(list), room) {
				if name != "pure" && !there(name) {
					t.Errorf("there is no room %s", name)
				}
			}
		}
	}
}

func TestFaultsOfImportsAreFound(t *testing.T) {
	file := func(path, imported string) *source {
		return parse(t, path, []byte("package p\n\nimport _ \""+imported+"\"\n"))
	}
	found := arrows([]*source{
		file("internal/a/x.go", "brunt/internal/b"),
		file("internal/b/x.go", "brunt/internal/c"),
		file("internal/c/x.go", "fmt"),
		file("internal/a/x_test.go", "brunt/internal/d"),
	})
	wrong := arrows([]*source{
		file("internal/plan/x.go", "brunt/internal/base/secret"), // as it should be
		file("internal/plan/y.go", "brunt/internal/plan/metric"), // within a wing
		file("internal/plan/z.go", "brunt/internal/run/doctor"),  // up
		file("internal/base/z.go", "brunt/internal/attic"),       // no wing
		file("test/testserver/z.go", "brunt/internal/cli"),       // no wing itself
	})
	for name, row := range map[string]struct {
		faults []string
		want   int
	}{
		"as allowed":          {unlike(found, map[string]string{"a": "b", "b": "c", "c": ""}), 0},
		"an arrow too many":   {unlike(found, map[string]string{"a": "", "b": "c", "c": ""}), 1},
		"an arrow that's not": {unlike(found, map[string]string{"a": "b c", "b": "c", "c": ""}), 1},
		"a room without row":  {unlike(found, map[string]string{"a": "b", "b": "c"}), 1},
		"a row without room":  {unlike(found, map[string]string{"a": "b", "b": "c", "c": "", "d": ""}), 1},
		"reached directly":    {forbidden(found, map[string]string{"a": "b"}), 1},
		"reached through b":   {forbidden(found, map[string]string{"a": "c"}), 1},
		"not reached":         {forbidden(found, map[string]string{"c": "a b"}), 0},
		"up, or nowhere":      {upwards(wrong), 2},
		"gen and files":       {impure(file("internal/load/gen/x.go", "os")), 1},
		"gen and arithmetic":  {impure(file("internal/load/gen/x.go", "math")), 0},
		"a test of gen":       {impure(file("internal/load/gen/x_test.go", "os")), 0},
		"below gen":           {impure(file("internal/load/gen/text/x.go", "net")), 1},
		"k6 in cli":           {impure(file("internal/cli/x.go", "go.k6.io/k6/js")), 1},
		"k6 in its folder":    {impure(file("internal/dialect/k6/x.go", "go.k6.io/k6/js")), 0},
		"C":                   {impure(file("cmd/brunt/x.go", "C")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if len(row.faults) != row.want {
				t.Errorf("got %q, want %d", row.faults, row.want)
			}
		})
	}
}
