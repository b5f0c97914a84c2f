package pgbench

import (
	"path/filepath"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/judge/result"
	planscript "brunt/internal/plan/script"
)

// Tool declares pgbench.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "pgbench", Formats: []string{"pgbench"}, Programs: []string{"pgbench"},
		Commands:  []dialect.Command{{Name: "pgbench", New: newCommand, Letters: secret.Flags{Plain: "p"}}},
		Languages: []planscript.Language{script.Language()},
		Results:   []result.Format{Results()},
		File: func(name string, _ []byte) []string {
			if filepath.Ext(name) != ".sql" {
				return nil
			}
			return []string{"pgbench", "-f", name}
		},
	}
}
