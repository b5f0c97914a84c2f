// Package docs_test does what the documentation shows: every command of every page, and the workflow that is
// ready to be copied, against real servers.
package docs_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/testserver"
)

// The test binary is brunt itself when this variable is set.
const roleVariable = "BRUNT_DOCS_ROLE"

// patience is how long a test waits for what must happen before it gives up.
const patience = 5 * time.Minute

var servers testserver.Pool

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "brunt" {
		os.Exit(cli.Main("test", os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	// Tests that run in parallel with others mostly wait.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(servers.Run(m))
}

// judged reports whether an exit code is that of a run to whose end nothing was wrong with the
// server: on a busy machine the generator may have been late, which makes it invalid.
func judged(code int) bool { return code == 0 || code == 98 }
