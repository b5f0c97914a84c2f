//go:build !no_sysbench

package tools

import "brunt/internal/dialect/sysbench"

func init() { link(sysbench.Tool()) }
