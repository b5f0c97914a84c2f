package lint_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxFileLines     = 400
	maxFunctionLines = 70
	maxColumns       = 120
)

// wide are the rooms that still have lines of more than maxColumns. No other may get one; a room that has none any
// more is taken out.
var wide = strings.Fields(`
	cmd/brunt/collector examples/book internal/acceptance internal/acceptance/docs internal/acceptance/picodata
	internal/acceptance/ycsb internal/balance internal/cgroup internal/cli internal/compare internal/dialect/endpoints
	internal/dialect/pgbench internal/dialect/picostress internal/dialect/service internal/dialect/slowcooker
	internal/dialect/ycsb internal/dialect/ycsb/output internal/dialect/ycsb/properties internal/dialect/ycsb/shell
	internal/engine internal/engine/loop internal/engine/pool internal/export internal/gen internal/hints
	internal/history internal/inspect internal/inspect/advise internal/inspect/postgres internal/inspect/servers
	internal/k6x internal/k6x/bind internal/k6x/brunt internal/k6x/conns internal/k6x/executor internal/k6x/output
	internal/k6x/picostress internal/k6x/scripts internal/k6x/session internal/k6x/tarantool internal/k6x/trend
	internal/keyspace internal/linefile internal/lint internal/machine internal/measure internal/message
	internal/metric internal/observe internal/observe/self internal/plan internal/planfile internal/program
	internal/program/campaign internal/protocol internal/protocol/badger internal/protocol/bbolt
	internal/protocol/blocking internal/protocol/cassandra internal/protocol/dynamodb internal/protocol/echo
	internal/protocol/etcd internal/protocol/http internal/protocol/iproto internal/protocol/kv
	internal/protocol/mongodb internal/protocol/mysql internal/protocol/pebble internal/protocol/postgres
	internal/protocol/protocoltest internal/protocol/redis internal/protocol/sqlconn internal/protocol/sqlite
	internal/record internal/record/recordtest internal/render/cell internal/render/junit internal/render/page
	internal/render/svg internal/render/texts internal/report internal/report/live internal/result
	internal/result/reader internal/runner internal/schedule internal/schema internal/schema/fill internal/schema/sql
	internal/secret internal/selftest internal/socket internal/spool internal/sqltext internal/stats internal/suggest
	internal/summary internal/target internal/template internal/testserver internal/timeline internal/units
	internal/verdict internal/within internal/workload tools/bench tools/bench/peer/bare tools/pictures tools/release
	tools/situations
`)

// tooLong lists the file, if it is too long, and its functions that are.
func tooLong(s *source) (faults []string) {
	if s.test || ast.IsGenerated(s.file) {
		return nil
	}
	if s.lines > maxFileLines {
		faults = append(faults, fmt.Sprintf("%s: %d lines, more than %d: is there a second noun inside?", s.path, s.lines, maxFileLines))
	}
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
		if n > maxFunctionLines {
			faults = append(faults, fmt.Sprintf("%s: %s has %d lines, more than %d", s.at(f.Pos()), f.Name.Name, n, maxFunctionLines))
		}
	}
	return faults
}

// tooWide lists the lines of a file that are too long, in characters.
func tooWide(path string, text []byte) (faults []string) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if c := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); c > maxColumns {
			faults = append(faults, fmt.Sprintf("%s:%d: %d columns, more than %d: wrap the line", path, n, c, maxColumns))
		}
	}
	return faults
}

func TestLinesEndInTime(t *testing.T) {
	texts(t, func(file string, text []byte) {
		if strings.HasSuffix(file, ".go") && !strings.Contains(file, "/testdata/") && !slices.Contains(wide, path.Dir(file)) {
			report(t, tooWide(file, text))
		}
	})
}

func TestWideLinesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("a", 120) + "\n":                               0,
		strings.Repeat("a", 121) + "\n":                               1,
		strings.Repeat("ü", 120):                                      0,
		strings.Repeat("a", 200) + "\nb\n" + strings.Repeat("c", 121): 2,
	} {
		if got := tooWide("x.go", []byte(text)); len(got) != want {
			t.Errorf("%q: %d faults, want %d", text, len(got), want)
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, s := range sources(t) {
		report(t, tooLong(s))
	}
}

func TestLongOnesAreFound(t *testing.T) {
	body := func(lines int) string { return "func f() {\n" + strings.Repeat("\tg()\n", lines-2) + "}\n" }
	for _, c := range []struct {
		name, path, text string
		faults           int
	}{
		{"function of 70", "internal/a/x.go", "package p\n\n" + body(70), 0},
		{"function of 71", "internal/a/x.go", "package p\n\n" + body(71), 1},
		{"file of 401", "internal/a/x.go", "package p\n" + strings.Repeat("\n", 400), 1},
		{"test of 401", "internal/a/x_test.go", "package p\n" + strings.Repeat("\n", 400), 0},
		{"generated", "internal/a/x.go", "// Code generated by x. DO NOT EDIT.\n\npackage p\n\n" + body(500), 0},
	} {
		if got := tooLong(parse(t, c.path, []byte(c.text))); len(got) != c.faults {
			t.Errorf("%s: got %q, want %d faults", c.name, got, c.faults)
		}
	}
}
