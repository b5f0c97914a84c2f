// Package bbolt links the protocol of bbolt: bbolt.
package bbolt

import (
	declared "brunt/internal/protocol/bbolt"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
