package vegeta

import (
	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/judge/result"
)

// Tool declares vegeta: its commands, and its lists of requests, which brunt http reads.
func Tool() dialect.Tool {
	return dialect.Tool{Name: "vegeta", Formats: []string{"vegeta", "vegeta-targets"}, Programs: []string{"vegeta"},
		Arguments: func(_ *command.Env, args []string) []string { return append([]string{"vegeta"}, args...) },
		Commands:  []dialect.Command{{Name: "vegeta", New: newCommand, Letters: secret.Flags{Words: true}}}, Requests: Read,
		Results: []result.Format{Results()}}
}
