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
			Clock:  "select extract(epoch from clock_timestamp())",
			Limits: protocol.LimitsBy(serverLimit, ownLimits),
		},
		SelfTest: &protocol.SelfTest{
			Request: protocol.Request{Verb: protocol.SQL, Text: "SELECT v FROM t WHERE k = $1"},
			Answers: func() protocol.AnswerFunc { return (&selfTest{}).answer },
		},
	}
}

// serverLimit is a query for the limit of all sessions. Users without rights don't see the kind of others' sessions.
// reserved_connections exists since PostgreSQL 16.
const serverLimit = `select 'max_connections', current_setting('max_connections'),
	(select count(*) from pg_stat_activity where datid is not null
		and coalesce(backend_type, 'client backend') = 'client backend' and pid <> pg_backend_pid())
	+ case when current_setting('is_superuser') = 'on' then 0
		else current_setting('superuser_reserved_connections')::int
			+ coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::int end`

// ownLimits is a query for the limits of the user's role and database. They don't apply to superusers.
const ownLimits = `select 'CONNECTION LIMIT of role ' || rolname, rolconnlimit::text,
	(select count(*) from pg_stat_activity where usename = rolname and pid <> pg_backend_pid()
		and coalesce(backend_type, 'client backend') = 'client backend')
	from pg_roles where rolname = session_user and rolconnlimit >= 0 and not rolsuper
	union all select 'CONNECTION LIMIT of database ' || datname, datconnlimit::text,
	(select count(*) from pg_stat_activity a where a.datname = d.datname and pid <> pg_backend_pid()
		and coalesce(backend_type, 'client backend') = 'client backend')
	from pg_database d where datname = current_database() and datconnlimit >= 0
		and current_setting('is_superuser') <> 'on'`

// notation is libpq's ("Connection Strings" and "Environment Variables" in PostgreSQL's manual).
func notation() *protocol.Notation {
	return &protocol.Notation{
		Schemes: map[string]bool{"postgres": false, "postgresql": false, "pg": false},
		Pairs:   true,
		Variables: map[string]string{
			"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE",
			"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
			"hostaddr": "PGHOSTADDR", "service": "PGSERVICE", "passfile": "PGPASSFILE",
		},
		Settings: map[string]string{"application_name": "PGAPPNAME", "timezone": "PGTZ", "geqo": "PGGEQO"},
		Refused: map[string][]string{
			"PGTARGETSESSIONATTRS":    {"any"},
			"PGLOADBALANCEHOSTS":      {"disable"},
			"PGREQUIRESSL":            {"0"},
			"PGGSSENCMODE":            {"disable", "prefer"},
			"PGSSLMINPROTOCOLVERSION": {"TLSv1.2"},
			"PGCLIENTENCODING":        {"UTF8", "UTF-8"},
			"PGOPTIONS":               nil,
			"PGREQUIREAUTH":           nil, "PGSSLCRL": nil, "PGSSLCRLDIR": nil, "PGSSLNEGOTIATION": nil, "PGSSLCERTMODE": nil,
			"PGKRBSRVNAME": nil, "PGREQUIREPEER": nil, "PGGSSDELEGATION": nil, "PGSSLPASSWORD": nil,
			"PGSSLMAXPROTOCOLVERSION": nil, "PGMINPROTOCOLVERSION": nil, "PGMAXPROTOCOLVERSION": nil,
			"PGDATESTYLE": nil, "PGCHANNELBINDING": nil, "PGSSLSNI": nil,
		},
	}
}
