package cli

import (
	"reflect"
	"strings"
	"testing"
)

func TestShellCommands(t *testing.T) {
	type all = []shellCommand
	t.Setenv("HOME", "/h")
	for name, row := range map[string]struct {
		script string
		want   all
	}{
		"quotes": {`ab -H 'a: "b"' "c \"d\" \$e" f\ g '' ~/x ~`,
			all{{1, []string{"ab", "-H", `a: "b"`, `c "d" $e`, "f g", "", "/h/x", "/h"}, ""}}},
		"lines": {"#!/bin/sh\n# a comment\nset -e\nwrk \\\n  -d 5 # seconds\n\nwrk -c a#b\n",
			all{{3, []string{"set", "-e"}, ""}, {4, []string{"wrk", "-d", "5"}, ""}, {7, []string{"wrk", "-c", "a#b"}, ""}}},
		"operators": {"a 1;b 2&& c 3 || d|e 4 &\nf", all{{1, []string{"a", "1"}, ""}, {1, []string{"b", "2"}, ""},
			{1, []string{"c", "3"}, ""}, {1, []string{"d"}, ""}, {1, []string{"e", "4"}, "what comes through the pipe"},
			{2, []string{"f"}, ""}}},
		"compound": {"if a 1; then time b 2; fi\nf() { c 3; }\nfor i in 1 2; do d $i; done", all{{1, []string{"a", "1"}, ""},
			{1, []string{"b", "2"}, ""}, {2, []string{"c", "3"}, ""}, {3, []string{"d", "$i"}, "$i"}}},
		"output":      {"a 1 2>&1 >>out.txt 3 > /dev/null", all{{1, []string{"a", "1", "3"}, ""}}},
		"input":       {"a < list.txt 1", all{{1, []string{"a", "1"}, "its input (<)"}}},
		"a document":  {"a 1 <<END\nwrk 2\nEND\nb", all{{1, []string{"a", "1"}, "its input (<)"}, {4, []string{"b"}, ""}}},
		"variables":   {"PGHOST=x a 1", all{{1, []string{"a", "1"}, "its variable PGHOST"}}},
		"parameters":  {`a "$1" ${B:-c} 5$`, all{{1, []string{"a", `"$1"`, "${B:-c}", "5$"}, "$1"}}},
		"substituted": {"a $(date)", all{{1, []string{"a", "$(date)"}, "$(date)"}, {1, []string{"date"}, ""}}},
		"nothing":     {" \n# only\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := shellCommands(row.script); err != nil || !reflect.DeepEqual(got, row.want) {
				t.Errorf("%+v, %v, want %+v", got, err, row.want)
			}
		})
	}
	if _, err := shellCommands("a\nb 'c"); err == nil || !strings.Contains(err.Error(), "2:3: ") {
		t.Errorf("a quotation without end: %v", err)
	}
}

func FuzzShellCommands(f *testing.F) {
	for _, s := range []string{"a 'b", "$(", "${x}", "`a`", "\\", "a|b", "\"\\", "2>c", "a <b", "a{b,c}", "a <<E\nE",
		"~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		all, err := shellCommands(script)
		for _, c := range all {
			if err != nil || c.line < 1 || c.line > 1+strings.Count(script, "\n") || !strings.Contains(script, c.needs) &&
				!strings.HasPrefix(c.needs, "its ") && !strings.HasPrefix(c.needs, "what ") {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}
