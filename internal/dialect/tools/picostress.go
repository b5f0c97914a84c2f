//go:build !no_picostress

package tools

import "brunt/internal/dialect/picostress"

func init() { link(picostress.Tool()) }
