//go:build !no_cassandrastress

package tools

import "brunt/internal/dialect/cassandrastress"

func init() { link(cassandrastress.Tool()) }
