// Package pebble links the protocol of Pebble: pebble.
package pebble

import (
	declared "brunt/internal/protocol/pebble"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
