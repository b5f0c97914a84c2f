package command

import (
	"reflect"
	"testing"
)

func TestShellCommands(t *testing.T) {
	type all = []ShellCommand
	for name, row := range map[string]struct {
		script string
		want   all
	}{
		"quotes": {`ab -H 'a: "b"' "c \"d\" \$e" f\ g ''`,
			all{{1, []string{"ab", "-H", `a: "b"`, `c "d" $e`, "f g", ""}, ""}}},
		"lines": {"#!/bin/sh\n# a comment\nset -e\nwrk \\\n  -d 5 # seconds\n\nwrk -c a#b\n",
			all{{3, []string{"set", "-e"}, ""}, {4, []string{"wrk", "-d", "5"}, ""}, {7, []string{"wrk", "-c", "a#b"}, ""}}},
		"operators": {"a 1;b 2&& c 3 || d|e 4 &\nf", all{{1, []string{"a", "1"}, ""}, {1, []string{"b", "2"}, ""},
			{1, []string{"c", "3"}, ""}, {1, []string{"d"}, ""}, {1, []string{"e", "4"}, "what comes through the pipe"},
			{2, []string{"f"}, ""}}},
		"output":     {"a 1 2>&1 >>out.txt 3 > /dev/null", all{{1, []string{"a", "1", "3"}, ""}}},
		"input":      {"a < list.txt 1", all{{1, []string{"a", "1"}, "its input (<)"}}},
		"parameters": {`a "$1" ${B:-c} $(date) 5$`, all{{1, []string{"a", "$1", "${B:-c}", "$(date)", "5$"}, "$1"}}},
		"unfinished": {`a 'b`, all{{1, []string{"a", "b"}, ""}}},
		"nothing":    {" \n# only\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ShellCommands(row.script); !reflect.DeepEqual(got, row.want) {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

func FuzzShellCommands(f *testing.F) {
	for _, s := range []string{"a 'b", "$(", "${", "`", "\\", "a|", "\"\\", "2>", "a <"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		last := 1
		for _, c := range ShellCommands(script) {
			if len(c.Words) == 0 || c.Line < last {
				t.Errorf("%+v after line %d", c, last)
			}
			last = c.Line
		}
	})
}
