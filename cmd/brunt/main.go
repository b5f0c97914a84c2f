// Command brunt finds out what a database or network service can take, and proves it.
package main

import (
	"os"

	"brunt/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
