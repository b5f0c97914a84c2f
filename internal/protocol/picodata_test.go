package protocol

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The file contains errors of a cluster of three (Picodata 25.3), with the class of each.
func TestPicodataErrors(t *testing.T) {
	f, err := os.Open("testdata/picodata-errors.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	groups := map[string]string{}
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); lines++ {
		var c struct{ Want, Text, Cause, Hint string }
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := Picodata(c.Text)
		want := c.Cause
		if want == "" {
			want = "Peer closed"
		}
		if cause, _, _ := strings.Cut(got.Cause, "; "); cause != want {
			t.Errorf("cause %q, want %q", cause, want)
		}
		if !strings.Contains(got.Cause, c.Hint) {
			t.Errorf("%q lacks the hint %q", got.Cause, c.Hint)
		}
		if got.Passing != (c.Want == "retryable") {
			t.Errorf("%s: passing %v", got.Cause, got.Passing)
		}
		if got.Group == "" || groups[got.Group] != "" && groups[got.Group] != want {
			t.Errorf("%q and %q are both of group %q", want, groups[got.Group], got.Group)
		}
		groups[got.Group] = want
	}
	if lines < 10 {
		t.Errorf("only %d lines", lines)
	}
}

func TestPicodataGroups(t *testing.T) {
	for _, c := range []struct {
		text, cause, group string
		passing            bool
	}{
		{`sbroad: table with name "timed out" not found`, `table with name "timed out" not found`,
			"table-with-name-not-found", false},
		{`sbroad: table with name "b" not found`, `table with name "b" not found`, "table-with-name-not-found", false},
		{"sbroad: rule parsing error:  --> 2:3\n  |\n2 | x = y\n  | ^---\n  |\n  = expected EOI", "expected EOI at 2:3",
			"expected-eoi-at", false},
		{`sbroad: Lua error (dispatch IR): LuaError(ExecutionError("cut off \"in the`, `cut off "in the`, "cut-off", false},
		{`sbroad: Lua error: LuaError(ExecutionError("\`, `\`, "", false},
		{"could not open relation", "could not open relation", "could-not-open-relation", false},
		{"Timeout exceeded", "Timeout exceeded", "timeout-exceeded", true},
		{"Compare-and-Swap: ConflictFound", "Compare-and-Swap: ConflictFound", "compare-and-swap-conflictfound", true},
		{"Can't modify data on a read-only instance - box.cfg.read_only is true",
			"Can't modify data on a read-only instance - box.cfg.read_only is true", "modify-data-on-a-read-only", true},
		{"lua error: no router found for tier 'storage'", "no router found for tier 'storage'",
			"no-router-found-for-tier", true},
		{
			`sbroad: Lua error (dispatch IR): LuaError(ExecutionError("Error on replicaset 48922332-0a76-4ea1-a44e-1f999a022756: Unknown error"))`, "unknown error on a replicaset", "unknown-error", true},
		{"sbroad: unexpected number of values: Exceeded maximum number of rows (5000) in virtual table: 6666",
			"Exceeded maximum number of rows (5000) in virtual table: 6666; raise sql_motion_row_max, or ask for fewer rows",
			"exceeded-maximum-number-of-rows-in", false},
		{"Unknown error", "Unknown error", "unknown-error", false},
		{"operation request from different term 3, current term is 4",
			"operation request from different term 3, current term is 4", "operation-request-from-different-term-current", true},
		{`table with name "a read-only instance" not found`, `table with name "a read-only instance" not found`,
			"table-with-name-not-found", false},
		{"Statement storage is full. Current size limit: 1024. Please, increase storage limit",
			"Statement storage is full. Current size limit: 1024. Please, increase storage limit",
			"statement-storage-is-full-current-size", false},
		{"", "", "", false},
	} {
		got := Picodata(c.text)
		if got.Cause != c.cause || got.Group != c.group || got.Passing != c.passing {
			t.Errorf("%q: %+v", c.text, got)
		}
	}
}

func FuzzPicodata(f *testing.F) {
	f.Add(`sbroad: LuaError(ExecutionError("{\"message\":\"a\\\"b\"}"))`)
	f.Add(`FailedTo("FailedTo("`)
	f.Fuzz(func(t *testing.T, text string) {
		got := Picodata(text)
		if len(got.Cause) > len(text)+100 || strings.ContainsAny(got.Group, "\" \n") {
			t.Errorf("%q became %+v", text, got)
		}
	})
}
