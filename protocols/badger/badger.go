// Package badger links the protocol of Badger: badger.
package badger

import (
	declared "brunt/internal/protocol/badger"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
