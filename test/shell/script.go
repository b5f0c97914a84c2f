package shell

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts runs each script in a folder, as a subtest with the name of its file. A script runs commands and checks their
// output, their exit codes and the files that they leave. Besides testscript's own commands, it has
//
//	exits CODE[|CODE…] ARGS…   runs brunt, whose exit code must be one of the codes
//	bundle VARIABLE FOLDER     sets a variable to the path of the only folder below another
//	lines stdout|stderr N      the last command's output must have N lines
//
// The tests must have been started by Main.
func Scripts(t *testing.T, folder string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 folder,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", os.Getenv("GORACE")) // scripts have an environment of their own
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"bundle": bundle,
			"lines":  lines,
		},
	})
}

// exits runs brunt and compares its exit code: exits CODE ARGS… Several codes are joined by |.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE[|CODE…] ARGS…")
	}
	err := ts.Exec("brunt", args[1:]...)
	code := 0
	if err != nil {
		found := regexp.MustCompile(`exit status (\d+)`).FindStringSubmatch(err.Error())
		if found == nil {
			ts.Fatalf("brunt: %v", err)
		}
		code, _ = strconv.Atoi(found[1])
	}
	for _, want := range regexp.MustCompile(`\d+`).FindAllString(args[0], -1) {
		if want == strconv.Itoa(code) {
			return
		}
	}
	ts.Fatalf("exit %d, want %s", code, args[0])
}

// bundle names the only folder below another: bundle VARIABLE FOLDER.
func bundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundle VARIABLE FOLDER")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(entries) != 1 {
		ts.Fatalf("%s holds %d entries, want 1", args[1], len(entries))
	}
	ts.Setenv(args[0], args[1]+"/"+entries[0].Name())
}

// lines counts the lines of stdout or stderr: lines stdout N.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines stdout|stderr N")
	}
	n := len(regexp.MustCompile(`\n`).FindAllString(ts.ReadFile(args[0]), -1))
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s has %d lines, want %s:\n%s", args[0], n, args[1], ts.ReadFile(args[0]))
	}
}
