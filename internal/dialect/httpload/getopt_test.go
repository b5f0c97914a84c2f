package httpload

import (
	"fmt"
	"strings"
	"testing"
)

var longs = []Long{{"latency", false, 'L'}, {"connections", true, 'c'}, {"connect", false, 'x'}, {"timeout", true, 'T'}}

func TestGetopt(t *testing.T) {
	for line, want := range map[string]string{
		"-Lc10 url -t 3":          "L: c:10 t:3 | url",
		"--lat --timeout=2 a b":   "L: T:2 | a b",
		"--connect --connec 1":    "option '--connec' is ambiguous",
		"--connections 7 -- -t 4": "c:7 | -t 4",
		"-q":                      "invalid option -- 'q'",
		"-t":                      "option requires an argument -- 't'",
		"--timeout":               "option '--timeout' requires an argument",
		"--latency=1":             "option '--latency' doesn't allow an argument",
		"--nothing":               "unrecognized option '--nothing'",
		"- -L":                    "L: | -",
	} {
		options, rest, err := Getopt(strings.Fields(line), "t:c:LT:", longs)
		var got string
		for _, o := range options {
			got += fmt.Sprintf("%c:%s ", o.Letter, o.Value)
		}
		got += "| " + strings.Join(rest, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	if options, rest, _ := Getopt([]string{"-L", "url", "-L"}, "+L", nil); len(options) != 1 || len(rest) != 2 {
		t.Error(options, rest)
	}
}

func FuzzGetopt(f *testing.F) {
	f.Add("-Lc10 url --timeout=2 -- x")
	f.Fuzz(func(_ *testing.T, line string) { Getopt(strings.Fields(line), "t:c:LT:", longs) })
}
