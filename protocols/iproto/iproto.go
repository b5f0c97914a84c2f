// Package iproto links the protocol of Tarantool and Picodata: iproto.
package iproto

import (
	declared "brunt/internal/protocol/iproto"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
