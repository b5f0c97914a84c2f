// Package docs_test runs what the documentation shows, against real servers: every command of every page, and the
// workflow that is ready to be copied.
package docs_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/test/testserver"
)

// If this variable is set, the test binary runs as brunt.
const roleVariable = "BRUNT_DOCS_ROLE"

// patience is the longest time that a test waits for an expected event.
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

// judged reports whether an exit code is that of a run that found no fault of the server: pass, or invalid, because a
// generator on a busy machine may have been late.
func judged(code int) bool { return code == 0 || code == 98 }
