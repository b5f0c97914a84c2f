package cli

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/report"
)

// junitOutput is the standard output of a command whose result is a file of tests in JUnit's form. A CI server shows
// what the file says, and takes one without tests for a success or a broken job. So a command that has no result,
// because of an error, writes a suite with this error.
type junitOutput struct {
	to      io.Writer
	wanted  bool
	written bool
}

// asked reports whether a command line asks for this form.
func (o *junitOutput) asked(args []string) bool {
	at := slices.Index(args, "--output")
	o.wanted = at >= 0 && at+1 < len(args) && args[at+1] == "junit" || slices.Contains(args, "--output=junit")
	return o.wanted
}

// Write implements io.Writer.
func (o *junitOutput) Write(b []byte) (int, error) {
	o.written = true
	return o.to.Write(b)
}

// finish writes the suite of a command that ended with an error and has written nothing.
func (o *junitOutput) finish(cmd *cobra.Command, why string) error {
	flag := cmd.Flags().Lookup("output")
	if !o.wanted || o.written || why == "" || flag == nil || !command.IsForm(flag) {
		return nil
	}
	what := cmd.CommandPath()
	if command.Plans(cmd) {
		what = "the load was sent"
	}
	return report.JUnitError(o.to, what, why)
}
