// Package sqlite links the protocol of SQLite: sqlite.
package sqlite

import (
	"brunt/internal/protocol/protocols"
	declared "brunt/internal/protocol/sqlite"
)

func init() { protocols.Link(declared.Declaration()) }
