//go:build !no_tpcc

package tools

import "brunt/internal/dialect/tpcc"

func init() { link(tpcc.Tool()) }
