//go:build !no_ycsb

package tools

import "brunt/internal/dialect/ycsb/goycsb"

func init() { link(goycsb.Tool()) }
