// Command brunt finds out what a database or network service can take, and proves it.
package main

import (
	"os"
	"runtime/debug"

	"brunt/internal/cli"
)

// version is set by the build.
var version = "dev"

// startGCPercent lets the heap of a few megabytes that a start needs be filled without collections, a
// quarter of a start's CPU otherwise. Loads set what suits them.
const startGCPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startGCPercent)
	}
	os.Exit(cli.Main(version, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
