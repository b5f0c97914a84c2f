//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/tools/peers"
)

// summaryOf returns a summary with a metric, a number of iterations and a check in a group.
func summaryOf(metric, iterations, passes, fails string) string {
	check := `{"path": "::a::b", "passes": ` + passes + `, "fails": ` + fails + `}`
	return `{"root_group": {"groups": {"a": {"checks": {"b": ` + check + `}}}, "checks": {}}, ` +
		`"metrics": {"` + metric + `": {}, "iterations": {"count": ` + iterations + `}}}`
}

func ended(code int, interrupted bool) func(*ending) {
	return func(e *ending) { e.code, e.interrupted = code, interrupted }
}

func TestDifferences(t *testing.T) {
	base := ending{}
	if err := base.read([]byte(summaryOf("http_reqs", "3", "2", "0"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		summary string // "" means none
		change  func(e *ending)
		want    string // "" means no difference
	}{
		"the same":         {summary: summaryOf("http_reqs", "3", "2", "0")},
		"more passes":      {summary: summaryOf("http_reqs", "3", "7", "0")},
		"an exit code":     {summaryOf("http_reqs", "3", "2", "0"), ended(99, false), "exit codes 0 and 99"},
		"a metric":         {summaryOf("http_req", "3", "2", "0"), nil, "metrics http_reqs of k6, http_req of brunt"},
		"iterations":       {summaryOf("http_reqs", "4", "2", "0"), nil, "3 and 4 iterations"},
		"no summary":       {"", nil, "one has no summary"},
		"one was cut off":  {"", ended(0, true), "one was interrupted"},
		"one is no script": {"", ended(107, false), "exit codes 0 and 107; one has no summary"},
		"a signal":         {"", ended(105, true), "exit codes 0 and 105; one was interrupted"},
		"a check that failed": {
			summaryOf("http_reqs", "3", "0", "2"), nil, "checks map[::a::b:passed] and map[::a::b:failed]"},
		"a check that was mixed": {
			summaryOf("http_reqs", "3", "1", "1"), nil, "checks map[::a::b:passed] and map[::a::b:mixed]"},
	} {
		t.Run(name, func(t *testing.T) {
			other := ending{}
			if c.summary != "" {
				if err := other.read([]byte(c.summary)); err != nil {
					t.Fatal(err)
				}
			}
			if c.change != nil {
				c.change(&other)
			}
			if got := strings.Join(base.differences(&other), "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// If both scripts were interrupted, only their exit codes are compared.
func TestInterruptedScripts(t *testing.T) {
	a, b := ending{code: 105, interrupted: true, iterations: 7}, ending{code: 105, interrupted: true, iterations: 9}
	if got := a.differences(&b); got != nil {
		t.Errorf("they differ: %v", got)
	}
}

// The page contains a table for the version of k6 that brunt requires, with each of its example scripts.
func TestPageHasTheTable(t *testing.T) {
	root, err := peers.Root()
	if err != nil {
		t.Fatal(err)
	}
	version, dir, err := locate(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := scriptsIn(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "docs", "k6.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), tableBegins)
	text, _, _ := strings.Cut(rest, tableEnds)
	if !strings.HasPrefix(text, "k6 "+version+", ") || !strings.Contains(text, ", 0 differently.") {
		t.Errorf("docs/k6.md has no table of k6 %s whose scripts end alike: make k6-examples", version)
	}
	for _, name := range scripts {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/k6.md says nothing of %s: make k6-examples", name)
		}
	}
}

func TestTable(t *testing.T) {
	done, cut := ending{summed: true, iterations: 1}, ending{code: 105, interrupted: true}
	var tab table
	tab.add("a.js", [2]ending{done, done})
	tab.add("b.js", [2]ending{cut, cut})
	tab.add("c.js", [2]ending{done, done})
	tab.add("d.js", [2]ending{done, cut})
	want := "| exit 0, 1 iteration | the same | `a.js`, `c.js` |\n" +
		"| exit 105, interrupted | the same | `b.js` |\n" +
		"| exit 0, 1 iteration | exit 105, interrupted: exit codes 0 and 105; one was interrupted | `d.js` |\n"
	text := tab.String()
	if !strings.HasSuffix(text, want) || !strings.Contains(text, "of 4 scripts 3 end alike, 1 differently.") {
		t.Errorf("%s", text)
	}
}
