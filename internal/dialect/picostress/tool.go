// Package picostress has what belongs to Picostress: its command line, where it differs from brunt's, its summary, and
// its results.
package picostress

import (
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/k6"
	"brunt/internal/judge/result"
	"brunt/internal/report"
)

// Tool declares Picostress. Its commands are brunt's own.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: name, Formats: []string{name}, Programs: []string{name}, Arguments: arguments, Form: name,
		Reports: []report.Format{form()}, Summary: file(), Results: []result.Format{Results()},
	}
}

// arguments returns the arguments of Picostress for brunt. If they are for k6, on which Picostress is built, it runs k6
// and ends the process.
func arguments(s *command.Env, args []string) []string {
	if forK6, ok := ToK6(args); ok {
		k6x.Run(s, name, forK6)
	}
	return args
}
