// Package shell runs brunt's command lines in tests as users do: in the test's process (Run), in processes of their own
// (Start), and from scripts (Scripts). Tests of brunt's own commands and those in the folders of tools share it. Its
// functions fail the test that calls them.
package shell

import (
	"flag"
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"brunt/internal/cli"
)

// Main makes the test binary brunt in the processes that tests start, under the name brunt and those of the given
// programs, and runs the tests. At most parallel tests run at a time. Parallel tests mostly wait, so that more of them
// can run than there are cores. It doesn't return.
func Main(m testscript.TestingM, parallel int, programs ...string) {
	MainWith(m, parallel, func() {}, programs...)
}

// MainWith is Main with a function that runs in each such process before its command line does.
func MainWith(m testscript.TestingM, parallel int, before func(), programs ...string) {
	if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
		panic(err)
	}
	run := func() {
		before()
		os.Exit(cli.Main("1.2.3", os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	commands := map[string]func(){"brunt": run}
	for _, program := range programs {
		commands[program] = run
	}
	testscript.Main(m, commands)
}
