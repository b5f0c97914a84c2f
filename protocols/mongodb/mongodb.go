// Package mongodb links the protocol of MongoDB and FerretDB: mongodb.
package mongodb

import (
	declared "brunt/internal/protocol/mongodb"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
