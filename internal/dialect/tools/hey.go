//go:build !no_hey

package tools

import "brunt/internal/dialect/hey"

func init() { link(hey.Tool()) }
