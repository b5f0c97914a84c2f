// Package postgres links the protocol of PostgreSQL and what speaks its protocol: pg.
package postgres

import (
	declared "brunt/internal/protocol/postgres"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
