//go:build nok6

// Package k6x is where k6 is in other builds. This one was made with the tag nok6.
package k6x

import (
	"fmt"
	"io"
	"os"
)

// Options are what k6 inside is told from outside.
type Options struct {
	Name    string
	Version string
	Command []string
	Err     io.Writer
	Led     *Led
}

// Version is "": there is no k6 inside.
func Version() string { return "" }

// Main says that there is no k6 inside, and ends the process with exit code 104.
func Main(o Options, _ []string) {
	fmt.Fprintln(o.Err, "brunt: this binary was built without k6 (tag nok6); use one with it")
	os.Exit(104)
}
