//go:build !no_vegeta

package tools

import "brunt/internal/dialect/vegeta"

func init() { link(vegeta.Tool()) }
