//go:build !no_ghz

package tools

import "brunt/internal/dialect/ghz"

func init() { link(ghz.Tool()) }
