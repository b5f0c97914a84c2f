//go:build nok6

// Package k6x is empty in this build: the tag nok6 leaves k6 out.
package k6x

import (
	"fmt"
	"io"
	"os"

	"brunt/internal/judge/exitcode"
)

// Options are the settings for the embedded k6.
type Options struct {
	Name    string
	Version string
	Command []string
	Err     io.Writer
	Led     *Led

	Inspected []string
}

// Version returns "": there is no k6 in this binary.
func Version() string { return "" }

// Main prints that k6 isn't in this binary, and ends the process: the binary was asked for what it cannot do.
func Main(o Options, _ []string) {
	fmt.Fprintln(o.Err, "brunt: this binary was built without k6 (tag nok6); use one with it")
	os.Exit(exitcode.BadPlan)
}
