//go:build !no_jmeter

package tools

import "brunt/internal/dialect/jmeter"

func init() { link(jmeter.Tool()) }
