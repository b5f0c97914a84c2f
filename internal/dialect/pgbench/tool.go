package pgbench

import (
	"brunt/internal/dialect"
	"brunt/internal/judge/result"
)

// Tool declares pgbench, of which brunt reads results.
func Tool() dialect.Tool { return dialect.Tool{Name: "pgbench", Results: []result.Format{Results()}} }
