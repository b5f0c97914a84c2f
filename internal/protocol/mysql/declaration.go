package mysql

import "brunt/internal/protocol"

// Declaration declares the protocol "mysql".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"mysql", "mariadb", "tidb"},
		Open:  func() protocol.Driver { return New() },
		Port:  "3306",
	}
}
