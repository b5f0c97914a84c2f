package postgres

import "brunt/internal/protocol"

// Declaration declares the protocol "pg".
func Declaration() protocol.Declaration {
	return protocol.Declaration{
		Names:    []string{"pg", "pgwire", "postgres", "postgresql"},
		Open:     func() protocol.Driver { return New() },
		Port:     "5432",
		Notation: notation(),
		SQL: []protocol.SQLServer{
			{Product: "PostgreSQL", Flavor: protocol.FlavorPostgreSQL},
			{Product: "CockroachDB", Flavor: protocol.FlavorPostgreSQL, KeyFirst: true},
			{Product: "YugabyteDB", Flavor: protocol.FlavorPostgreSQL, KeyFirst: true},
			{Product: "Picodata", Flavor: protocol.FlavorPicodata},
		},
		Picodata: "pgproto",
		Records:  protocol.RecordsInTables,
		Doctor: protocol.Doctor{
			Clock: "select extract(epoch from clock_timestamp())",
			Limit: "max_connections",
			Taken: `select (select count(*) from pg_stat_activity where backend_type = 'client backend'
				and pid <> pg_backend_pid()), case when current_setting('is_superuser') = 'on' then 0
				else current_setting('superuser_reserved_connections')::int end`,
		},
		SelfTest: &protocol.SelfTest{
			Request: protocol.Request{Verb: protocol.SQL, Text: "SELECT v FROM t WHERE k = $1"},
			Answers: func() protocol.AnswerFunc { return (&selfTest{}).answer },
		},
	}
}

// notation is libpq's ("Connection Strings" and "Environment Variables" in PostgreSQL's manual).
func notation() *protocol.Notation {
	return &protocol.Notation{
		Schemes: map[string]bool{"postgres": false, "postgresql": false, "pg": false},
		Pairs:   true,
		Variables: map[string]string{
			"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE",
			"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
		},
		Refused: []string{
			"PGSERVICE", "PGSERVICEFILE", "PGPASSFILE", "PGHOSTADDR", "PGOPTIONS", "PGTARGETSESSIONATTRS",
			"PGLOADBALANCEHOSTS", "PGREQUIREAUTH", "PGCHANNELBINDING", "PGREQUIRESSL", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLSNI",
			"PGSSLNEGOTIATION", "PGSSLCERTMODE", "PGGSSENCMODE", "PGKRBSRVNAME", "PGREQUIREPEER",
		},
	}
}
