package pgbench

// flagText describes a flag in the help.
type flagText struct{ name, value, about string }

// flagGroup is a part of the help.
type flagGroup struct {
	title string
	flags []flagText
}

// flagTexts returns the help for pgbench's flags.
func flagTexts() []flagGroup {
	return []flagGroup{
		{"Initialization options", []flagText{
			{"initialize", "", "make pgbench's tables instead of sending a load"},
			{"init-steps", "STEPS", "letters of " + allSteps + ", in the order to do them (default " + usualSteps + "): " +
				"d drops tables, t creates them, g generates rows here and G in the server, v vacuums, p and f add keys"},
			{"fillfactor", "PERCENT", "how full pages are, 10 to 100 (default 100)"},
			{"quiet", "", "a message every 5 s instead of every 100,000 rows"},
			{"foreign-keys", "", "add foreign keys"}, {"index-tablespace", "NAME", "tablespace of indexes"},
			{"partition-method", "METHOD", "range or hash (default range)"},
			{"partitions", "N", "partitions of pgbench_accounts (default 0)"},
			{"tablespace", "NAME", "tablespace of tables"}, {"unlogged-tables", "", "make tables unlogged"}}},
		{"Options to select what to run", []flagText{
			{"builtin", "NAME[@W]", "add a script that is built in, with weight W; list lists them"},
			{"file", "FILE[@W]", "add the script in a file (- is standard input)"},
			{"skip-some-updates", "", "as -b simple-update"}, {"select-only", "", "as -b select-only"}}},
		{"Benchmarking options", []flagText{
			{"client", "N", "clients, each with a connection (default 1)"},
			{"connect", "", "a new connection for each transaction"},
			{"define", "NAME=VALUE", "set a variable of the scripts"}, {"jobs", "N", "threads (default 1)"},
			{"log", "", "write the time of each transaction to a file"},
			{"latency-limit", "MS", "count transactions that take longer; with --rate, skip those that are later"},
			{"protocol", "MODE", "simple, extended or prepared (default simple)"},
			{"no-vacuum", "", "don't vacuum before (also with -i)"},
			{"progress", "S", "print a line every S seconds"}, {"report-per-command", "", "report the time of each command"},
			{"rate", "TPS", "transactions a second, at random times"},
			{"scale", "N", "with -i, size of the tables in 100,000 accounts; else what to report"},
			{"transactions", "N", "transactions of each client (default 10)"}, {"time", "S", "length of the load in seconds"},
			{"vacuum-all", "", "vacuum pgbench_accounts too"},
			{"aggregate-interval", "S", "log sums of S seconds instead of each transaction"},
			{"exit-on-abort", "", "end when a client is aborted"},
			{"failures-detailed", "", "count serialization failures and deadlocks apart"},
			{"log-prefix", "PREFIX", "of the log's name (default pgbench_log)"},
			{"max-tries", "N", "tries of a transaction after serialization failures and deadlocks (default 1)"},
			{"progress-timestamp", "", "lines of --progress have Unix times"},
			{"random-seed", "SEED", "a number, time or rand"}, {"sampling-rate", "SHARE", "of transactions to log, 0 to 1"},
			{"show-script", "NAME", "print a script that is built in"},
			{"verbose-errors", "", "print all errors, also those after which a transaction is repeated"}}},
		{"Common options", []flagText{
			{"debug", "", "accepted; brunt has no debug messages here"}, {"dbname", "NAME", "database, or a connection string"},
			{"host", "HOST", "server, or folder of its socket"}, {"port", "PORT", "of the server"},
			{"username", "NAME", "user of the database"}}},
	}
}
