//go:build !no_tpcb

package tools

import "brunt/internal/dialect/tpcb"

func init() { link(tpcb.Tool()) }
