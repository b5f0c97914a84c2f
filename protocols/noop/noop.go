// Package noop links the protocol of no server: noop.
package noop

import (
	declared "brunt/internal/protocol/noop"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
