//go:build !no_ab

package tools

import "brunt/internal/dialect/ab"

func init() { link(ab.Tool()) }
