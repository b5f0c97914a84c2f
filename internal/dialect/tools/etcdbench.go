//go:build !no_etcdbench

package tools

import "brunt/internal/dialect/etcdbench"

func init() { link(etcdbench.Tool()) }
