package pgbench

import (
	"cmp"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"

	"brunt/internal/plan"
)

// strongSeed returns a seed that can't be guessed.
func strongSeed() uint64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// reason returns the system's text for an error of a file, as C's %m prints it.
func reason(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// finish checks the options together, in pgbench's order.
func (p *flagParser) finish() error {
	o := p.o
	if len(o.Scripts) == 0 && !o.Initialize {
		p.benchmarking = true
		if err := p.addBuiltin("tpcb-like", 1); err != nil {
			return err
		}
	}
	if o.totalWeight() == 0 && !o.Initialize {
		return fault("total script weight must not be zero")
	}
	if o.Clients > plan.MaxSessions {
		return fault("-c/--clients %d: brunt has at most %d", o.Clients, plan.MaxSessions)
	}
	o.Threads = min(o.Threads, o.Clients)
	rest := p.how.rest
	if o.Database = p.database; o.Database == "" {
		if len(rest) > 0 {
			o.Database, rest = rest[0], rest[1:]
		} else {
			o.Database = cmp.Or(p.in.Getenv("PGDATABASE"), p.in.Getenv("PGUSER"), p.in.User())
		}
	}
	if len(rest) > 0 {
		return fault(`too many command-line arguments (first is "%s")`, rest[0]).detail("hint",
			`Try "pgbench --help" for more information.`)
	}
	if o.Initialize {
		return p.finishInit()
	}
	if p.initializing {
		return fault("some of the specified options cannot be used in benchmarking mode")
	}
	return p.finishRun()
}

func (p *flagParser) finishInit() error {
	o := p.o
	switch {
	case p.benchmarking:
		return fault("some of the specified options cannot be used in initialization (-i) mode")
	case o.Partitions == 0 && o.PartitionMethod != "":
		return fault("--partition-method requires greater than zero --partitions")
	case o.Partitions > 0:
		o.PartitionMethod = cmp.Or(o.PartitionMethod, "range")
	}
	o.Steps = cmp.Or(p.steps, usualSteps)
	if o.NoVacuum {
		o.Steps = strings.ReplaceAll(o.Steps, "v", " ")
	}
	if p.foreignKeys && !strings.Contains(o.Steps, "f") {
		o.Steps += "f"
	}
	return o.possible()
}

// What PostgreSQL can have: tables of 2^32 pages, with at most accountsOfPage rows of pgbench_accounts each, and
// pgbench_tellers.tid of 32 bits. Each partition takes a lock of every statement on the whole table. Even many more
// locks than usual are fewer than mostPartitions.
const (
	accountsOfPage = 62
	mostPages      = 1 << 32
	mostTellers    = math.MaxInt32
	mostPartitions = 1 << 16
)

// possible refuses tables that no server can have, before anything is done.
func (o *Options) possible() error {
	if strings.Contains(o.Steps, "t") && o.Partitions > mostPartitions {
		return fault("--partitions=%d makes more tables than a server can lock in one statement; give at most %d",
			o.Partitions, mostPartitions)
	}
	if !strings.ContainsAny(o.Steps, "gG") {
		return nil
	}
	const mostOfTable = mostPages * accountsOfPage / accounts
	if most := mostTellers / tellers; o.Scale > most {
		return fault("--scale=%d makes numbers of tellers above %d, the greatest of their column; give at most %d", o.Scale,
			mostTellers, most)
	}
	if tables := max(o.Partitions, 1); o.Scale > mostOfTable*tables {
		return fault("--scale=%d makes a table of more than 32 TB, which PostgreSQL can't have; give at most %d, or "+
			"--partitions", o.Scale, mostOfTable*tables)
	}
	return nil
}

func (p *flagParser) finishRun() error {
	o := p.o
	if o.Transactions > 0 && o.DurationS > 0 {
		return fault("specify either a number of transactions (-t) or a duration (-T), not both")
	}
	if o.Transactions == 0 && o.DurationS == 0 {
		o.Transactions = usualCount
	}
	switch {
	case o.SamplingRate > 0 && !o.Log:
		return fault("log sampling (--sampling-rate) is allowed only when logging transactions (-l)")
	case o.SamplingRate > 0 && o.AggregateS > 0:
		return fault("log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time")
	case o.AggregateS > 0 && !o.Log:
		return fault("log aggregation is allowed only when actually logging transactions")
	case !o.Log && p.logPrefix:
		return fault("log file prefix (--log-prefix) is allowed only when logging transactions (-l)")
	case o.DurationS > 0 && o.AggregateS > o.DurationS:
		return fault("number of seconds for aggregation (%d) must not be higher than test duration (%d)", o.AggregateS,
			o.DurationS)
	case o.DurationS > 0 && o.AggregateS > 0 && o.DurationS%o.AggregateS != 0:
		return fault("duration (%d) must be a multiple of aggregation interval (%d)", o.DurationS, o.AggregateS)
	case o.Timestamps && o.ProgressS == 0:
		return fault("--progress-timestamp is allowed only under --progress")
	case o.MaxTries == 0 && o.LatencyLimitMs == 0 && o.DurationS == 0:
		return fault("an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)")
	case o.Log && o.Ours.NoRecord && o.Ours.Bundle != "":
		return fault("--bundle and --no-record exclude each other; give one")
	}
	return nil
}

// ourOption is an option that pgbench doesn't have.
type ourOption struct {
	name, about string
	argument    bool
	set         func(o *Ours, value string)
}

// ourOptions returns the options that pgbench doesn't have.
func ourOptions() []ourOption {
	one := func(to func(*Ours) *string) func(*Ours, string) { return func(o *Ours, v string) { *to(o) = v } }
	more := func(to func(*Ours) *[]string) func(*Ours, string) {
		return func(o *Ours, v string) { *to(o) = append(*to(o), v) }
	}
	return []ourOption{
		{"pgbench-version", "VERSION whose options, messages and reports it has: 15, 16, 17 or 18 (default 18)", true,
			func(*Ours, string) {}},
		{"report", "print brunt's own report too", false, func(o *Ours, _ string) { o.Report = true }},
		{"bundle", "FOLDER for this run's bundle, empty or new", true, one(func(o *Ours) *string { return &o.Bundle })},
		{"results", "FOLDER for run bundles (default \"results\")", true, one(func(o *Ours) *string { return &o.Results })},
		{"no-record", "keep no bundle", false, func(o *Ours, _ string) { o.NoRecord = true }},
		{"threshold", "RULE for the result, such as \"p(99) < 10ms\" (repeatable)", true,
			more(func(o *Ours) *[]string { return &o.Thresholds })},
		{"inspect", "ask the database what it did: auto, or pg=postgres://user@host:5432/database (repeatable)", true,
			more(func(o *Ours) *[]string { return &o.Inspected })},
		{"watch", "sample WHAT into the record: pid:N, tree:N, url:ADDRESS or cgroup:FOLDER (repeatable)", true,
			more(func(o *Ours) *[]string { return &o.Watched })},
		{"export", "send every interval to influx=URL, prometheus=URL or otlp=URL (repeatable)", true,
			more(func(o *Ours) *[]string { return &o.Exports })},
		{"metrics-addr", "serve /metrics for Prometheus at HOST:PORT", true,
			one(func(o *Ours) *string { return &o.MetricsAddr })},
		{"ui", "serve a page of the run under way at HOST:PORT", true, one(func(o *Ours) *string { return &o.Page })},
		{"upload", "s3://bucket/prefix to which the bundle goes too", true,
			one(func(o *Ours) *string { return &o.Upload })},
		{"tier", "what drives the sessions: auto, codec or library", true, one(func(o *Ours) *string { return &o.Tier })},
	}
}

// ours takes an option of our own.
func (p *flagParser) ours(name, value string) error {
	for _, o := range ourOptions() {
		if o.name == name {
			o.set(&p.o.Ours, value)
		}
	}
	return nil
}
