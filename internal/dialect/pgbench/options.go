package pgbench

import (
	"cmp"
	"math"

	"brunt/internal/dialect/pgbench/script"
)

// Script is a script that a command line names, with its weight.
type Script struct {
	Name   string // what pgbench calls it in reports
	Text   string
	Weight int64
}

// Options are the options of a command line of pgbench.
type Options struct {
	Version int // 15 to 18

	// Of the connection.

	Host, Port, User string
	Database         string // a name, a list of pairs or a URL
	Debug            int    // how often -d or --debug was given

	passfile string   // the file that has the password; "" if none has
	warnings []string // libpq's, about such a file

	// Of the initialization (-i).

	Initialize      bool
	Steps           string
	Fillfactor      int
	Partitions      int
	PartitionMethod string // "range", "hash" or ""
	Quiet           bool
	Tablespace      string
	IndexTablespace string
	Unlogged        bool

	// Of both.

	Scale      int
	ScaleGiven bool
	NoVacuum   bool

	// Of the load.

	Scripts          []Script
	Internal         bool // one of them is built in
	Clients          int
	Connect          bool
	Variables        map[string]string
	Threads          int
	Log              bool
	LatencyLimitMs   float64
	Mode             string
	ProgressS        int
	PerCommand       bool
	RatePerS         float64
	Transactions     int // 0: DurationS
	DurationS        int // 0: Transactions
	VacuumAll        bool
	AggregateS       int
	FailuresDetailed bool
	LogPrefix        string
	MaxTries         uint32 // 0: no limit
	Timestamps       bool
	Seed             uint64
	SamplingRate     float64
	VerboseErrors    bool
	ExitOnAbort      bool

	Ours Ours
}

// Ours are the options that pgbench doesn't have.
type Ours struct {
	Bundle, Results string
	NoRecord        bool
	Report          bool
	Thresholds      []string
	Inspected       []string
	Watched         []string
	Exports         []string
	MetricsAddr     string
	Page            string
	Upload          string
	Tier            string
}

// perScript reports whether the report has a part for each script.
func (o *Options) perScript() bool { return len(o.Scripts) > 1 }

// timed reports whether pgbench measures the latency of each transaction.
func (o *Options) timed() bool { return o.RatePerS > 0 || o.ProgressS > 0 || o.LatencyLimitMs > 0 }

// totalWeight returns the sum of the scripts' weights.
func (o *Options) totalWeight() (sum int64) {
	for i := range o.Scripts {
		sum += o.Scripts[i].Weight
	}
	return sum
}

// thread returns the number of pgbench's thread that a client belongs to. pgbench gives each thread an equal share of
// the clients that are left.
func (o *Options) thread(client int) int {
	next := 0
	for t := range o.Threads {
		next += (o.Clients - next + o.Threads - t - 1) / (o.Threads - t)
		if client < next {
			return t
		}
	}
	return o.Threads - 1
}

// Language returns the options of the scripts.
func (o *Options) Language() script.Options {
	l := script.Options{Version: o.Version, Mode: o.Mode, Variables: o.Variables, Scale: int64(o.Scale),
		RandomSeed: o.Seed, Clients: o.Clients, Threads: o.Threads, MaxTries: o.MaxTries, Verbose: o.VerboseErrors}
	l.Transactions = uint64(o.Transactions)
	return l
}

// tries returns how often a transaction is tried at most.
func (o *Options) tries() uint32 { return cmp.Or(o.MaxTries, math.MaxUint32) }

const (
	oldest, newest = 15, 18
	mostScripts    = 128
	usualSteps     = "dtgvp"
	allSteps       = "dtgGvpf"
	usualCount     = 10 // transactions of each client
)

// release returns the version that a program of a major version says that it is: the last one that brunt was compared
// with.
func release(version int) string {
	return map[int]string{15: "15.18", 16: "16.14", 17: "17.10", 18: "18.4"}[version]
}
