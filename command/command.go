// Package command is the command line of brunt, for programs that add something to it: protocols of their own (see
// brunt.Register), or modules for k6 scripts. Such a program is three lines:
//
//	func main() { command.Main("") }
//
// next to the imports of what it adds. It has all commands of brunt, and its workers are the same program.
//
// Importing this package links all of brunt: every protocol, k6, and every exporter. A program that only sends loads
// imports the package brunt, which is small.
package command

import (
	"io"
	"os"

	_ "brunt/cmd/brunt/collector" // spares the start garbage collections
	"brunt/internal/base/version"
	"brunt/internal/cli"
)

// Main runs the command line of this process and exits. version is what the command version and records say; "" means
// the version of brunt in the program's build information.
func Main(version string) {
	os.Exit(Run(version, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// Run runs a command line and returns its exit code: docs/exit-codes.md lists them. args[0] is the name of the program;
// if it is that of a tool that brunt replaces, such as k6, its arguments are the tool's.
func Run(name string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if name == "" {
		name = version.Linked()
	}
	return cli.Main(name, args, stdin, stdout, stderr)
}
