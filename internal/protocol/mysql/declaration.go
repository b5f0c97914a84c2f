package mysql

import "brunt/internal/protocol"

// Declaration declares the protocol "mysql".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names: []string{"mysql", "mariadb", "tidb"},
		Open:  func() protocol.Driver { return New() },
		Port:  "3306",
		Notation: &protocol.Notation{
			Schemes: map[string]bool{"mysql": false, "mariadb": false},
			Parameters: map[string]string{"ssl-mode": "sslmode", "ssl-ca": "sslrootcert", "ssl-cert": "sslcert",
				"ssl-key": "sslkey", "connect-timeout": "connect_timeout"},
			Modes: map[string]string{"DISABLED": "disable", "PREFERRED": "prefer", "REQUIRED": "require",
				"VERIFY_CA": "verify-ca", "VERIFY_IDENTITY": "verify-full"},
		},
		SQL: []protocol.SQLServer{
			{Product: "MySQL", Flavor: protocol.FlavorMySQL},
			{Product: "MariaDB", Flavor: protocol.FlavorMySQL},
			{Product: "TiDB", Flavor: protocol.FlavorMySQL},
		},
		Records: protocol.RecordsByVerb,
		Doctor: protocol.Doctor{
			Clock:  "select unix_timestamp(now(6))",
			Limits: protocol.LimitsBy(taken("performance_schema"), taken("information_schema"), ownLimit),
		},
	}
}

// taken returns a query for the limit of all sessions. MySQL and MariaDB have the number of sessions in different
// schemas.
func taken(schema string) string {
	return "select 'max_connections', @@max_connections, cast(variable_value as signed) - 1 from " + schema +
		".global_status where variable_name = 'Threads_connected'"
}

// ownLimit is a query for the limit of the user's account.
const ownLimit = `select 'max_user_connections', @@max_user_connections, (select count(*) - 1
	from information_schema.processlist where user = substring_index(user(), '@', 1)) from dual
	where @@max_user_connections > 0`
