package sqlite

import "brunt/internal/protocol"

// Declaration declares the protocol "sqlite".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:      []string{"sqlite", "sqlite3"},
		Open:       func() protocol.Driver { return New() },
		Embedded:   true,
		SharesFile: true,
		SQL:        []protocol.SQLServer{{Product: "SQLite", Flavor: protocol.FlavorSQLite}},
		Records:    protocol.RecordsInSQLite,
	}
}
