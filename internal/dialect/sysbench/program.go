package sysbench

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// LanguageName is the name of the language of scripts in plans. A script is the name of a test, such as
// oltp_read_write; the plan's options are sysbench's, without dashes before them.
const LanguageName = "sysbench"

// language compiles the tests in plans.
type language struct{}

// Language returns the language of sysbench's tests.
func Language() script.Language { return language{} }

// Name returns LanguageName.
func (language) Name() string { return LanguageName }

// versionOption is the option of a plan that is --sysbench-version.
const versionOption = "sysbench-version"

// Compile compiles the tests of a plan.
func (language) Compile(s *script.Source) (script.Program, error) {
	version := Version10
	if v, ok := s.Options[versionOption]; ok {
		version = v
	}
	if !slices.Contains(Versions(), version) {
		return nil, &script.Error{Operation: -1, Text: fmt.Sprintf("the option %s is %q; use %s", versionOption, version,
			strings.Join(Versions(), " or "))}
	}
	p := &program{seed: s.Seed, sessions: max(s.Sessions, 1), mysql: s.Protocol == mysqlProtocol}
	p.counters = make([]Counters, p.sessions)
	o := newOptions(io.Discard)
	o.register(slices.Concat(randOptions(version), databaseOptions(), mysqlOptions(version),
		[]option{{name: "events", value: "0", kind: intKind}}))
	for i := range s.Operations {
		t, ok := testNamed(strings.TrimSpace(s.Operations[i].Text))
		if !ok {
			return nil, &script.Error{Operation: i, Line: 1, Column: 1,
				Text: fmt.Sprintf("there is no test %q; use %s", firstLine(s.Operations[i].Text), strings.Join(names(), ", "))}
		}
		o.register(t.declared(version))
		p.tests = append(p.tests, *t)
	}
	if err := p.take(o, s.Options, version); err != nil {
		return nil, &script.Error{Operation: -1, Text: err.Error()}
	}
	for i := range p.tests {
		p.compiled = append(p.compiled, p.compile(&p.tests[i]))
	}
	return p, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// take applies the options of a plan.
func (p *program) take(o *options, given map[string]string, version string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != versionOption && !o.take(name+"="+given[name]) {
			return fmt.Errorf("the option %s=%s is unknown to its tests, or its value is invalid", name, given[name])
		}
	}
	var err error
	if p.law, err = distributionOf(o, version); err != nil {
		return err
	}
	if p.events, err = eventsOf(o, p.tests); err != nil {
		return err
	}
	p.bulk = uint64(max(o.integer("events", &err), 0))
	p.simple = o.text("db-ps-mode") == "disable"
	p.ignored = o.list("mysql-ignore-errors")
	p.unique = newUnique(p.seed)
	return err
}

// distributionOf returns the law of ids.
func distributionOf(o *options, version string) (d distribution, err error) {
	name := o.text("rand-type")
	law, ok := laws(version)[name]
	if !ok {
		//lint:ignore ST1005 sysbench's words
		return d, fmt.Errorf("Invalid random numbers distribution: %s.", name)
	}
	h := o.number("rand-pareto-h", &err)
	d = distribution{law: law, iter: 12, power: math.Log(h) / math.Log(1-h)}
	switch {
	case err != nil:
		return d, err
	case law == paretoLaw && !(h > 0 && h < 1):
		o.invalid("rand-pareto-h", o.text("rand-pareto-h"), &err)
		return d, err
	}
	if version == Version11 {
		exponent := o.number("rand-zipfian-exp", &err)
		if err == nil && exponent < 0 {
			err = fmt.Errorf("--rand-zipfian-exp must be >= 0")
		}
		d.zipf = newZipf(exponent)
		return d, err
	}
	d.iter = o.integer("rand-spec-iter", &err)
	if d.iter < 1 {
		o.invalid("rand-spec-iter", o.text("rand-spec-iter"), &err)
	}
	d.pct, d.res = float64(o.integer("rand-spec-pct", &err)), float64(o.integer("rand-spec-res", &err))
	for name, percent := range map[string]float64{"rand-spec-pct": d.pct, "rand-spec-res": d.res} {
		if percent < 0 || percent > 100 {
			o.invalid(name, o.text(name), &err)
		}
	}
	return d, err
}

// events are the options of events.
type events struct {
	tables, tableSize, rangeSize int
	counts                       map[block]int
	points, ranges, delta        int
	skipTrx, rangeSelects        bool
	autoInc                      bool
	reconnect                    int // a connection has as many events; 0: all
}

// mostPrepared is the most tables of a load, and the most values of a statement.
const mostPrepared = 100_000

// eventsOf returns the options of the events of tests.
func eventsOf(o *options, all []test) (e events, err error) {
	if slices.ContainsFunc(all, func(t test) bool { return t.isBulk() }) {
		return events{tables: 1, tableSize: 1}, nil
	}
	e = events{tables: o.whole("tables", 1, &err), tableSize: o.whole("table_size", 1, &err),
		rangeSize: o.whole("range_size", 0, &err), skipTrx: o.flag("skip_trx"), rangeSelects: o.flag("range_selects"),
		autoInc: o.flag("auto_inc"), counts: map[block]int{}}
	for b, name := range map[block]string{pointSelects: "point_selects", simpleRanges: "simple_ranges",
		sumRanges: "sum_ranges", orderRanges: "order_ranges", distinctRanges: "distinct_ranges",
		indexUpdates: "index_updates", nonIndexUpdates: "non_index_updates", deleteInserts: "delete_inserts"} {
		e.counts[b] = o.whole(name, 0, &err)
	}
	e.points, e.ranges = o.whole("random_points", 1, &err), o.whole("number_of_ranges", 1, &err)
	for name, n := range map[string]int{"tables": e.tables, "random_points": e.points, "number_of_ranges": e.ranges} {
		if n > mostPrepared && err == nil {
			err = fmt.Errorf("%s is %d: give at most %d, because statements for all of them are kept", name, n, mostPrepared)
		}
	}
	e.delta, e.reconnect = o.whole("delta", 0, &err), o.whole("reconnect", 0, &err)
	return e, err
}

// program is the compiled tests of a plan.
type program struct {
	seed     uint64
	sessions int
	mysql    bool
	simple   bool // statements aren't prepared
	law      distribution
	events   events
	bulk     uint64   // bulk_insert: rows to insert; 0: no limit
	ignored  []string // numbers of errors after which an event is begun again
	unique   unique
	tests    []test
	compiled []compiled
	counters []Counters // by session
	fatal    atomic.Pointer[fatalError]
	leaving  atomic.Bool // events under way are given up
	// onFatal, if not nil, is called with the first error that ends the load.
	onFatal func(*fatalError)
}

// fatalError is an error that ends the load.
type fatalError struct {
	failure protocol.Failure
	request *protocol.Request
	simple  bool
}

// compiled is a test as its sessions use it.
type compiled struct {
	parts    []part
	requests []protocol.Request
	rollback int // the request after an error
}

// part is a block of an event.
type part struct {
	block block
	count int // of repetitions
	first int // the request for table 1; those for the others follow
	tail  int // deleteInserts: the same of the INSERT
}

// compile makes the parts and the requests of a test.
func (p *program) compile(t *test) compiled {
	var c compiled
	for _, b := range t.blocks {
		switch {
		case (b == begin || b == commit) && p.events.skipTrx:
			continue
		case b >= simpleRanges && b <= distinctRanges && !p.events.rangeSelects:
			continue
		}
		x := part{block: b, count: 1, first: len(c.requests)}
		if n, ok := p.events.counts[b]; ok && len(t.blocks) > 1 || ok && b != pointSelects && b != deletes {
			x.count = n
		}
		c.requests = append(c.requests, p.requests(b)...)
		if b == deleteInserts {
			x.tail = len(c.requests)
			c.requests = append(c.requests, p.requests(inserts)...)
		}
		c.parts = append(c.parts, x)
	}
	c.rollback = len(c.requests)
	c.requests = append(c.requests, protocol.Request{Verb: protocol.Rollback, Name: "ROLLBACK"})
	return c
}

// requests returns the requests of a block, one for each table.
func (p *program) requests(b block) (all []protocol.Request) {
	switch b {
	case begin:
		return []protocol.Request{{Verb: protocol.Begin, Name: "BEGIN"}}
	case commit:
		return []protocol.Request{{Verb: protocol.Commit, Name: "COMMIT"}}
	case randomPoints, randomRanges:
		return []protocol.Request{p.random(b)}
	case bulkRows:
		return p.bulkRequests()
	}
	for table := 1; table <= p.events.tables; table++ {
		r := protocol.Request{Verb: protocol.SQL, Simple: p.simple}
		switch b {
		case insertRows:
			r = p.insert(table)
		case deleteInserts:
			r.Text, r.Params = deletes.statement(table), parameters(deletes)
		default:
			r.Text, r.Params = b.statement(table), parameters(b)
		}
		all = append(all, r)
	}
	return all
}

// parameters returns the kinds of a statement's parameters.
func parameters(b block) []gen.Kind {
	switch b {
	case simpleRanges, sumRanges, orderRanges, distinctRanges:
		return []gen.Kind{gen.Int, gen.Int}
	case nonIndexUpdates:
		return []gen.Kind{gen.String, gen.Int}
	case inserts:
		return []gen.Kind{gen.Int, gen.Int, gen.String, gen.String}
	}
	return []gen.Kind{gen.Int}
}

// random returns the request of the test select_random_points or select_random_ranges.
func (p *program) random(b block) protocol.Request {
	r := protocol.Request{Verb: protocol.SQL, Simple: p.simple}
	var list []string
	if b == randomPoints {
		for i := range p.events.points {
			list = append(list, fmt.Sprintf("$%d", i+1))
			r.Params = append(r.Params, gen.Int)
		}
		r.Text = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" + strings.Join(list, ", ") + ")"
		return r
	}
	for i := range p.events.ranges {
		list = append(list, fmt.Sprintf("k BETWEEN $%d AND $%d", 2*i+1, 2*i+2))
		r.Params = append(r.Params, gen.Int, gen.Int)
	}
	r.Text = "SELECT count(k) FROM sbtest1 WHERE " + strings.Join(list, " OR ")
	return r
}

// insert returns the request of oltp_insert, which sysbench doesn't prepare.
func (p *program) insert(table int) protocol.Request {
	r := protocol.Request{Verb: protocol.SQL, Simple: true, Text: inserts.statement(table), Params: parameters(inserts)}
	if !p.mysql && p.events.autoInc {
		r.Text = fmt.Sprintf("INSERT INTO sbtest%d (k, c, pad) VALUES ($1, $2, $3)", table)
		r.Params = r.Params[1:]
	}
	return r
}

// bulkBits: an INSERT of bulk_insert has 2^bulkBits rows; those of sysbench fill 512 KiB.
const (
	bulkBits   = 14
	rowsOfBulk = 1 << bulkBits
)

// bulkRequests returns the requests of bulk_insert: for the table of each session an INSERT of rowsOfBulk rows, of half
// as many, and so on. The smaller ones make up for the rest if --events is given.
func (p *program) bulkRequests() (all []protocol.Request) {
	smallest := bulkBits
	if p.bulk%rowsOfBulk > 0 {
		smallest = 0
	}
	var rows []string
	kinds := make([]gen.Kind, 2*rowsOfBulk)
	values := make([]string, rowsOfBulk)
	for i := range values {
		values[i] = fmt.Sprintf("($%d,$%d)", 2*i+1, 2*i+2)
		kinds[2*i], kinds[2*i+1] = gen.Int, gen.Int
	}
	for b := bulkBits; b >= smallest; b-- {
		rows = append(rows, strings.Join(values[:1<<b], ","))
	}
	for table := 1; table <= p.sessions; table++ {
		for i := range rows {
			all = append(all, protocol.Request{Verb: protocol.SQL, Simple: true, Params: kinds[:2<<(bulkBits-i)],
				Text: fmt.Sprintf("INSERT INTO sbtest%d VALUES%s", table, rows[i])})
		}
	}
	return all
}

// bulkSizes is the number of requests of bulk_insert for a table.
func (p *program) bulkSizes() int {
	if p.bulk%rowsOfBulk > 0 {
		return bulkBits + 1
	}
	return 1
}

// bulkSize returns which of the sizes operation number i has.
func (p *program) bulkSize(i uint64) int {
	full := p.bulk / rowsOfBulk
	if p.bulk == 0 || i < full {
		return 0
	}
	rest := p.bulk % rowsOfBulk
	for range i - full { // drop the highest rows
		rest &^= 1 << (bits.Len64(rest) - 1)
	}
	return bulkBits + 1 - bits.Len64(rest)
}

// bulkOperations returns how many INSERTs have a number of rows.
func bulkOperations(rows uint64) uint64 {
	return rows/rowsOfBulk + uint64(bits.OnesCount64(rows%rowsOfBulk))
}

// Requests implements script.Program.
func (p *program) Requests(operation int) []protocol.Request { return p.compiled[operation].requests }

// Session implements script.Program.
func (p *program) Session(number int) script.Session {
	s := &session{program: p, number: number}
	if number < len(p.counters) {
		s.counters = &p.counters[number]
	} else {
		s.counters = new(Counters)
	}
	return s
}

// fail notes the error that ends the load. Only the first counts.
func (p *program) fail(e *fatalError) {
	if p.fatal.CompareAndSwap(nil, e) && p.onFatal != nil {
		p.onFatal(e)
	}
}

// repeats reports whether an event is begun again after a failure, as sysbench's drivers decide: mysql by
// --mysql-ignore-errors, pgsql after deadlocks, serialization failures and duplicate keys.
func (p *program) repeats(f *protocol.Failure) bool {
	if !p.mysql {
		return f.Code == "40P01" || f.Code == "40001" || f.Code == "23505"
	}
	return slices.Contains(p.ignored, "all") || f.Code != "" && slices.Contains(p.ignored, f.Code)
}

// lostConnections are the numbers of the client library's errors that say that the connection is lost.
var lostConnections = []string{"2013", "2055", "2006", "2011"}

// Renews implements script.Renewing.
func (p *program) Renews() bool { return p.events.reconnect > 0 }

// reconnects reports whether the load goes on after a connection was lost.
func (p *program) reconnects() bool {
	return p.mysql && slices.ContainsFunc(p.ignored, func(number string) bool {
		return number == "all" || slices.Contains(lostConnections, number)
	})
}
