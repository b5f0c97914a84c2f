package mysql

import "brunt/internal/protocol"

// Declaration declares the protocol "mysql".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"mysql", "mariadb", "tidb"},
		Open:  func() protocol.Driver { return New() },
		Port:  "3306",
		SQL: []protocol.SQLServer{
			{Product: "MySQL", Flavor: protocol.FlavorMySQL},
			{Product: "MariaDB", Flavor: protocol.FlavorMySQL},
			{Product: "TiDB", Flavor: protocol.FlavorMySQL},
		},
		Records: protocol.RecordsByVerb,
		Doctor:  protocol.Doctor{Clock: "select unix_timestamp(now(6))", Limit: "max_connections"},
	}
}
