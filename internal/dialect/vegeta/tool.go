package vegeta

import "brunt/internal/dialect"

// Tool declares vegeta, whose lists of requests brunt http reads.
func Tool() dialect.Tool {
	return dialect.Tool{Name: "vegeta", Formats: []string{"vegeta-targets"}, Requests: Read}
}
