// Command brunt finds out what a database or network service can take, and proves it.
package main

import (
	"os"

	_ "brunt/cmd/brunt/collector"
	"brunt/internal/cli"
)

// version is set by the build.
var version = "dev"

func main() {
	os.Exit(cli.Main(version, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
