//go:build !no_slow_cooker

package tools

import "brunt/internal/dialect/slowcooker/cook"

func init() { link(cook.Tool()) }
