//go:build !no_wrk

package tools

import "brunt/internal/dialect/wrk"

func init() { link(wrk.Tool()) }
