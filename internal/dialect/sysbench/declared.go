package sysbench

// The versions whose options and reports there are.
const (
	Version10 = "1.0"
	Version11 = "1.1"
)

// Versions returns the values of --sysbench-version.
func Versions() []string { return []string{Version10, Version11} }

// programs are the full versions.
var programs = map[string]string{Version10: "1.0.20", Version11: "1.1.0"}

// generalOptions are the options of all tests.
func generalOptions(version string) []option {
	all := []option{
		{name: "threads", about: "sessions, each with a connection of its own", value: "1", kind: intKind},
		{name: "events", about: "stop after so many events; 0: no limit", value: "0", kind: intKind},
		{name: "time", about: "stop after so many seconds; 0: no limit", value: "10", kind: intKind},
	}
	if version == Version11 {
		all = append(all, option{name: "warmup-time", about: "seconds of load before what is counted", value: "0",
			kind: intKind})
	}
	all = append(all,
		option{name: "forced-shutdown", about: "seconds (or N%) after --time at which events under way are given up; " +
			"off: never", value: "off", kind: stringKind},
		option{name: "thread-stack-size", about: "accepted without effect: sessions aren't threads", value: "64K",
			kind: sizeKind})
	if version == Version11 {
		all = append(all, option{name: "thread-init-timeout", about: "seconds in which all sessions must be connected",
			value: "30", kind: intKind})
	}
	all = append(all,
		option{name: "rate", about: "events a second on average, which arrive at random; 0: as many as possible",
			value: "0", kind: intKind},
		option{name: "report-interval", about: "print a line every so many seconds; 0: none", value: "0", kind: intKind},
		option{name: "report-checkpoints", about: "seconds at which the report so far is printed, and the next one begins",
			kind: listKind},
		option{name: "debug", about: "print the times of each thread, too", value: "off", kind: flagKind},
		option{name: "validate", about: "accepted without effect: these tests have no checks", value: "off",
			kind: flagKind},
		option{name: "help", about: "print the options", value: "off", kind: flagKind},
		option{name: "version", about: "print the version", value: "off", kind: flagKind},
		option{name: "config-file", about: "read options from a file", none: true, kind: fileKind})
	if version == Version11 {
		return append(all, option{name: "luajit-cmd", about: "accepted without effect: there is no Lua", none: true,
			kind: stringKind})
	}
	return append(all,
		option{name: "tx-rate", about: "--rate, formerly", value: "0", kind: intKind},
		option{name: "max-requests", about: "--events, formerly", value: "0", kind: intKind},
		option{name: "max-time", about: "--time, formerly", value: "0", kind: intKind},
		option{name: "num-threads", about: "--threads, formerly", value: "1", kind: intKind})
}

// randOptions are the options of random numbers.
func randOptions(version string) []option {
	seed := option{name: "rand-seed", about: "seed of random numbers; 0: the clock", value: "0", kind: intKind}
	pareto := option{name: "rand-pareto-h", about: "parameter h of pareto", value: "0.2", kind: doubleKind}
	if version == Version11 {
		return []option{
			{name: "rand-type", about: "distribution of ids {uniform, gaussian, pareto, zipfian}", value: "uniform",
				kind: stringKind},
			seed, pareto,
			{name: "rand-zipfian-exp", about: "exponent of zipfian", value: "0.8", kind: doubleKind},
		}
	}
	return []option{
		{name: "rand-type", about: "distribution of ids {uniform,gaussian,special,pareto}", value: "special",
			kind: stringKind},
		{name: "rand-spec-iter", about: "numbers that are averaged for gaussian and special", value: "12", kind: intKind},
		{name: "rand-spec-pct", about: "special: percentage of the ids that are frequent", value: "1", kind: intKind},
		{name: "rand-spec-res", about: "special: percentage of the draws that are among them", value: "75", kind: intKind},
		seed, pareto,
	}
}

// logOptions are the options of the report; the first is listed apart.
func logOptions() []option {
	return []option{
		{name: "verbosity", about: "how much is printed, from 0 (fatal errors) to 5 (all)", value: "3", kind: intKind},
		{name: "percentile", about: "percentile of latencies to print, 1 to 100; 0: none", value: "95", kind: intKind},
		{name: "histogram", about: "print a histogram of latencies", value: "off", kind: flagKind},
	}
}

// databaseOptions are the options of all drivers.
func databaseOptions() []option {
	return []option{
		{name: "db-driver", about: "mysql or pgsql", value: "mysql", kind: stringKind},
		{name: "db-ps-mode", about: "prepared statements {auto, disable}", value: "auto", kind: stringKind},
		{name: "db-debug", about: "print sections of the driver's times, which are 0 in sysbench, too", value: "off",
			kind: flagKind},
	}
}

// mysqlOptions are the options of the driver mysql.
func mysqlOptions(version string) []option {
	all := []option{
		{name: "mysql-host", about: "hosts, in turn", value: "localhost", kind: listKind},
		{name: "mysql-port", about: "ports, in turn", value: "3306", kind: listKind},
		{name: "mysql-socket", about: "Unix sockets, in turn, instead of hosts", none: true, kind: listKind},
		{name: "mysql-user", about: "user", value: "sbtest", kind: stringKind},
		{name: "mysql-password", about: "password", kind: stringKind},
		{name: "mysql-db", about: "database", value: "sbtest", kind: stringKind},
		{name: "mysql-ssl", about: "connect with TLS", value: "off", kind: flagKind},
	}
	if version == Version11 {
		all = append(all,
			option{name: "mysql-ssl-key", about: "file of the client's key", none: true, kind: stringKind},
			option{name: "mysql-ssl-ca", about: "file of the authority's certificate", none: true, kind: stringKind},
			option{name: "mysql-ssl-cert", about: "file of the client's certificate", none: true, kind: stringKind})
	}
	all = append(all,
		option{name: "mysql-ssl-cipher", about: "refused unless empty: Go chooses ciphers", kind: stringKind},
		option{name: "mysql-compression", about: "refused", value: "off", kind: flagKind})
	if version == Version11 {
		all = append(all, option{name: "mysql-compression-algorithms", about: "without effect, as there is no compression",
			value: "zlib", kind: stringKind})
	}
	return append(all,
		option{name: "mysql-debug", about: "refused: there is no client library to trace", value: "off", kind: flagKind},
		option{name: "mysql-ignore-errors", about: "numbers of errors after which an event is begun again, or \"all\"",
			value: "1213,1020,1205", kind: listKind},
		option{name: "mysql-dry-run", about: "refused: what is reported is sent", value: "off", kind: flagKind})
}

// pgsqlOptions are the options of the driver pgsql.
func pgsqlOptions(version string) []option {
	all := []option{
		{name: "pgsql-host", about: "host", value: "localhost", kind: stringKind},
		{name: "pgsql-port", about: "port", value: "5432", kind: intKind},
		{name: "pgsql-user", about: "user", value: "sbtest", kind: stringKind},
		{name: "pgsql-password", about: "password", kind: stringKind},
		{name: "pgsql-db", about: "database", value: "sbtest", kind: stringKind},
	}
	if version == Version11 {
		all = append(all, option{name: "pgsql-sslmode",
			about: "disable, allow and prefer connect without TLS; require, verify-ca, verify-full with", value: "prefer",
			kind: stringKind})
	}
	return all
}

// oltpOptions are the options of the tests on tables sbtest1, …, by name.
func oltpOptions(version string) []option {
	all := []option{
		{name: "auto_inc", about: "the server numbers rows", value: "on", kind: flagKind},
		{name: "create_secondary", about: "prepare: make an index on k", value: "on", kind: flagKind},
	}
	if version == Version11 {
		all = append(all, option{name: "create_table_options", about: "prepare: text at the end of CREATE TABLE",
			kind: stringKind})
	}
	all = append(all,
		option{name: "delete_inserts", about: "pairs of DELETE and INSERT of an event", value: "1", kind: doubleKind},
		option{name: "distinct_ranges", about: "SELECT DISTINCT … ORDER BY of an event", value: "1", kind: doubleKind},
		option{name: "index_updates", about: "updates of k of an event", value: "1", kind: doubleKind},
		option{name: "mysql_storage_engine", about: "prepare: engine of the tables (mysql)", value: "innodb",
			kind: stringKind},
		option{name: "non_index_updates", about: "updates of c of an event", value: "1", kind: doubleKind},
		option{name: "order_ranges", about: "SELECT … ORDER BY of an event", value: "1", kind: doubleKind},
		option{name: "pgsql_variant", about: "accepted without effect, as in sysbench", none: true, kind: stringKind},
		option{name: "point_selects", about: "SELECTs by id of an event", value: "10", kind: doubleKind},
		option{name: "range_selects", about: "whether events have SELECTs of ranges", value: "on", kind: flagKind},
		option{name: "range_size", about: "ids in a range", value: "100", kind: doubleKind})
	if version == Version11 {
		all = append(all, option{name: "reconnect", about: "events of a connection; 0: all", value: "0",
			kind: doubleKind})
	}
	return append(all,
		option{name: "secondary", about: "prepare: a key on id that isn't the primary key", value: "off", kind: flagKind},
		option{name: "simple_ranges", about: "SELECTs of ranges of an event", value: "1", kind: doubleKind},
		option{name: "skip_trx", about: "no BEGIN and COMMIT", value: "off", kind: flagKind},
		option{name: "sum_ranges", about: "SELECT SUM(k) of an event", value: "1", kind: doubleKind},
		option{name: "table_size", about: "rows of a table", value: "10000", kind: doubleKind},
		option{name: "tables", about: "tables", value: "1", kind: doubleKind})
}
