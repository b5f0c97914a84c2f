// Package processes_test tests brunt where it is more than one process: workers and their coordinator, processes that
// are killed, interrupted or stopped, and those that brunt starts to heal faults and to keep cores awake.
package processes_test

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"brunt/internal/cli"
)

// TestMain makes the test binary brunt, under each of its names, in processes that tests start.
func TestMain(m *testing.M) {
	// Parallel tests mostly wait, so more of them can run than there are cores.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	run := func() { os.Exit(cli.Main("1.2.3", os.Args, os.Stdin, os.Stdout, os.Stderr)) }
	testscript.Main(m, map[string]func(){"brunt": run, "slow_cooker": run, "k6": run, "picostress": run})
}

var reportLine = regexp.MustCompile(
	`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d) +(?:(\d+) +)?(\d+)/(\d+)/(\d+) (\d+) +(\d+)% +\S+ +\d+ \[ *\d+ +\d+ +\d+ +\d+ \] +\d+(?: +(\d+))? [-+]*$`)
