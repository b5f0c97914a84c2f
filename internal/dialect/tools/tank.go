//go:build !no_tank

package tools

import "brunt/internal/dialect/tank"

func init() { link(tank.Tool()) }
