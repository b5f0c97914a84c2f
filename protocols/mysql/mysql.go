// Package mysql links the protocol of MySQL, MariaDB and TiDB: mysql.
package mysql

import (
	declared "brunt/internal/protocol/mysql"
	"brunt/internal/protocol/protocols"
)

func init() { protocols.Link(declared.Declaration()) }
