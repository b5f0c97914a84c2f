//go:build !no_pgbench

package tools

import "brunt/internal/dialect/pgbench"

func init() { link(pgbench.Tool()) }
