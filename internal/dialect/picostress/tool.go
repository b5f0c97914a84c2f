// Package picostress has what belongs to Picostress: its command line, where it differs from brunt's, and its results.
package picostress

import (
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/k6"
	"brunt/internal/judge/result"
)

// Tool declares Picostress. Its commands are brunt's own.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "picostress", Formats: []string{"picostress"}, Programs: []string{"picostress"}, Arguments: arguments,
		Form: "picostress", Results: []result.Format{Results()},
	}
}

// arguments returns the arguments of Picostress for brunt. If they are for k6, on which Picostress is built, it runs k6
// and ends the process.
func arguments(s *command.Env, args []string) []string {
	if forK6, ok := ToK6(args); ok {
		k6x.Run(s, "picostress", forK6)
	}
	return args
}
