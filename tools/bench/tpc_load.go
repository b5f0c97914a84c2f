package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/test/testserver"
)

// tpcKind is a kind of TPC-C's transactions.
type tpcKind struct {
	title  string
	mine   string // in brunt's record
	theirs string // in go-tpc's summary
}

func tpcKinds() []tpcKind {
	return []tpcKind{
		{"New-Order", "new-order", "NEW_ORDER"}, {"Payment", "payment", "PAYMENT"},
		{"Order-Status", "order-status", "ORDER_STATUS"}, {"Delivery", "delivery", "DELIVERY"},
		{"Stock-Level", "stock-level", "STOCK_LEVEL"},
	}
}

// tpcMix is the mix by weight that go-tpc draws from unless it is told otherwise.
const tpcMix = "45,43,4,4,4"

// tpcSide is a client of the comparison under load, with a database of its own on the common server.
type tpcSide struct {
	name     string
	database string
	turn     func(d time.Duration) (sample, error)
	turns    []sample
}

// tpcContest compares TPC-C's load: the same number of warehouses on one server and the same terminals without keying
// and think times, in turns.
type tpcContest struct {
	s         *stand
	pg        *testserver.Server
	program   string // go-tpc
	terminals int
	sides     []tpcSide
}

func newTPCContest(s *stand, pg *testserver.Server, program string, warehouses, terminals int) *tpcContest {
	c := &tpcContest{s: s, pg: pg, program: program, terminals: terminals}
	c.sides = []tpcSide{{name: "brunt tpcc run", database: pg.Database, turn: c.mine}}
	if program != "" {
		theirs := func(d time.Duration) (sample, error) { return c.theirs(warehouses, d) }
		c.sides = append(c.sides, tpcSide{name: "go-tpc tpcc run", database: tpcPeerDatabase, turn: theirs})
	}
	return c
}

// run gives each client so many turns of a length, the first one alternating, and prints the table.
func (c *tpcContest) run(times int, d time.Duration) error {
	for i := range c.sides { // go-tpc leaves statistics and the visibility map to the server
		if _, err := c.psql(c.sides[i].database, "VACUUM ANALYZE"); err != nil {
			return err
		}
	}
	for round := range times {
		for i := range c.sides {
			if err := c.measure(&c.sides[(i+round)%len(c.sides)], round+1, d); err != nil {
				return err
			}
		}
	}
	return c.print()
}

// measure gives a client a turn, and checks the conditions of consistency after it.
func (c *tpcContest) measure(side *tpcSide, round int, d time.Duration) error {
	if _, err := c.psql(side.database, "CHECKPOINT"); err != nil {
		return err
	}
	at, load, before := time.Now(), load1(), serverSeconds(c.pg.PID)
	p, err := side.turn(d)
	if err != nil {
		return err
	}
	p.ServerS = serverSeconds(c.pg.PID) - before
	p.At, p.Group, p.Client, p.Round, p.Load1 = at.UTC(), "tpc-load", side.name, round, load
	p.PerS = float64(p.Requests) / d.Seconds()
	if p.Holding, err = c.conditions(side.database); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%-18s round %d  %v transactions, %d failed, %.0f µs of CPU each, conditions: %s\n", side.name,
		round, p.Kinds, p.Failed, p.CPUUs, p.Holding)
	side.turns = append(side.turns, p)
	return c.s.raw.AppendJSON(&p)
}

// mine is a turn of brunt.
func (c *tpcContest) mine(d time.Duration) (sample, error) {
	bundle := filepath.Join(c.s.dir, "bundle")
	defer os.RemoveAll(bundle)
	seed := strconv.Itoa(len(c.sides[0].turns) + 1) // each turn has other transactions, as go-tpc's have
	args := []string{"tpcc", "run", "--no-think", "--terminals", strconv.Itoa(c.terminals), "--mix", tpcMix, "--duration",
		d.String(), "--seed", seed, "--no-check", "--quiet", "--awake", "off", "--bundle", bundle, "--proto", "pg", "-a",
		c.pg.Addr, "-u", c.pg.User, "--database", c.pg.Database}
	o, failure := c.s.do(nil, c.s.brunt.program, args...) // it fails if the verdict isn't pass, such as on a busy machine
	p := sample{Command: c.s.plain(c.s.brunt.program, args)}
	recorded, err := record.Open(record.OS{}, bundle)
	if err != nil {
		return p, fmt.Errorf("%w (%v)", err, failure)
	}
	run, _, err := recorded.Result()
	if err != nil {
		return p, err
	}
	for _, kind := range tpcKinds() {
		i := slices.IndexFunc(run.Operations, func(o record.Operation) bool { return o.Name == kind.mine })
		if i < 0 {
			return p, fmt.Errorf("the record has no %s: %v", kind.mine, failure)
		}
		p.done(run.Operations[i].Counts.OK, run.Operations[i].Counts.Failed+run.Operations[i].Counts.Unfinished)
	}
	return p, p.charge(&o)
}

// theirs is a turn of go-tpc. Its threads go on after an error, as brunt's terminals do.
func (c *tpcContest) theirs(warehouses int, d time.Duration) (sample, error) {
	args := append(goTPCWhere(c.pg, warehouses, c.terminals), "run", "--time", d.String(), "--weight", tpcMix,
		"--ignore-error", "--silence")
	return c.s.turn(nil, c.program, args, func(out string, p *sample) error {
		for _, kind := range tpcKinds() {
			p.done(find(`\[Summary\] `+kind.theirs+` - .*?Count: (\d+)`, out),
				find(`\[Summary\] `+kind.theirs+`_ERR - .*?Count: (\d+)`, out))
		}
		return nil
	})
}

// done adds the transactions of the next kind.
func (p *sample) done(ok, failed uint64) {
	p.Kinds = append(p.Kinds, ok)
	p.Requests += ok
	p.Failed += failed
}

// psql runs a statement in a database of the server and returns what it prints.
func (c *tpcContest) psql(database, text string) (string, error) {
	o, err := c.s.do(nil, "psql", "-h", c.pg.Host, "-p", strconv.Itoa(c.pg.Port), "-U", c.pg.User, "-d", database, "-v",
		"ON_ERROR_STOP=1", "-XAtqc", text)
	return strings.TrimSpace(o.out), err
}

// number returns the number that a query yields.
func (c *tpcContest) number(database, query string) (uint64, error) {
	text, err := c.psql(database, query)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

// conditions checks the conditions that hold at any time, by brunt's queries on both databases. It returns how many
// hold, and the names of those that don't.
func (c *tpcContest) conditions(database string) (string, error) {
	o, err := c.s.do(nil, c.s.brunt.program, "tpcc", "check", "--foreign", "--quiet", "--proto", "pg", "-a", c.pg.Addr,
		"-u", c.pg.User, "--database", database) // it fails if one is violated
	hold := regexp.MustCompile(`(\d+ of \d+) conditions hold`).FindStringSubmatch(o.out)
	if hold == nil {
		return "", fmt.Errorf("brunt tpcc check: %w", err)
	}
	for _, violated := range regexp.MustCompile(`(?m)^ *(3\.3\.2\.\d+) .*violated`).FindAllStringSubmatch(o.out, -1) {
		hold[1] += ", not " + violated[1]
	}
	return hold[1], nil
}

// tpcShare is a share of what all turns have left in a database: of how many rows what part.
type tpcShare struct{ title, part, whole string }

// tpcShares are those of clause 9.2.2.5 that a database shows. Loaded orders have numbers up to 3000, and each customer
// has one loaded row of history.
func tpcShares() []tpcShare {
	const lines = "SELECT COUNT(*) FROM order_line WHERE ol_o_id > 3000"
	return []tpcShare{
		{"remote order lines, %", lines + " AND ol_supply_w_id <> ol_w_id", lines},
		{"remote Payments, %", "SELECT COUNT(*) FROM history WHERE h_w_id <> h_c_w_id",
			"SELECT (SELECT COUNT(*) FROM history) - (SELECT COUNT(*) FROM customer)"},
	}
}

// wrongStock counts the warehouses whose stock has another number of remote lines than they have supplied.
const wrongStock = "SELECT COUNT(*) FROM (SELECT (SELECT SUM(s_remote_cnt) FROM stock WHERE s_w_id = w_id) AS counted, " +
	"(SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id = w_id AND ol_w_id <> w_id AND ol_o_id > 3000) AS supplied " +
	"FROM warehouse) AS each WHERE counted <> supplied"

// print prints the table.
func (c *tpcContest) print() error {
	head, under := "| TPC-C, one PostgreSQL", "|---"
	for i := range c.sides {
		head, under = head+" | "+c.sides[i].name, under+"|---"
	}
	fmt.Printf("%s |\n%s|\n", head, under)
	for _, row := range c.rows() {
		line := "| " + row.title
		for i := range c.sides {
			text, err := row.of(&c.sides[i])
			if err != nil {
				return err
			}
			line += " | " + text
		}
		fmt.Println(line + " |")
	}
	return nil
}

// tpcRow is a row of the table.
type tpcRow struct {
	title string
	of    func(side *tpcSide) (string, error)
}

func (c *tpcContest) rows() (rows []tpcRow) {
	add := func(title string, of func(side *tpcSide) (string, error)) { rows = append(rows, tpcRow{title, of}) }
	for k, kind := range tpcKinds() {
		add(kind.title+": done, and share of all", func(side *tpcSide) (string, error) {
			n, all := side.sum(func(p *sample) uint64 { return p.Kinds[k] }), side.sum(allDone)
			return fmt.Sprintf("%d, %s", n, percent(n, all)), nil
		})
	}
	add("failed", func(side *tpcSide) (string, error) {
		return fmt.Sprint(side.sum(func(p *sample) uint64 { return p.Failed })), nil
	})
	add("New-Orders rolled back, %", func(side *tpcSide) (string, error) {
		there, err := c.number(side.database, "SELECT COUNT(*) FROM orders WHERE o_id > 3000")
		done := side.sum(func(p *sample) uint64 { return p.Kinds[0] })
		return percent(done-min(there, done), done), err
	})
	add("order lines of an order", func(side *tpcSide) (string, error) {
		return c.psql(side.database, "SELECT round(avg(n), 2) FROM (SELECT COUNT(*) AS n FROM order_line WHERE ol_o_id > 3000 "+
			"GROUP BY ol_w_id, ol_d_id, ol_o_id) AS each")
	})
	for _, share := range tpcShares() {
		add(share.title, func(side *tpcSide) (string, error) {
			part, err := c.number(side.database, share.part)
			if err != nil {
				return "", err
			}
			whole, err := c.number(side.database, share.whole)
			return percent(part, whole), err
		})
	}
	add("warehouses whose stock doesn't have the remote lines that they supplied", func(side *tpcSide) (string, error) {
		return c.psql(side.database, wrongStock)
	})
	add("conditions that hold after each turn", func(side *tpcSide) (string, error) {
		var each []string
		for i := range side.turns {
			each = append(each, side.turns[i].Holding)
		}
		return strings.Join(each, "; "), nil
	})
	add("transactions/s, median", medianOf(func(p *sample) float64 { return p.PerS }))
	add("client CPU, µs/transaction, median", medianOf(func(p *sample) float64 { return p.CPUUs }))
	add("server CPU, µs/transaction, median", medianOf(func(p *sample) float64 {
		return p.ServerS * 1e6 / float64(p.Requests)
	}))
	return rows
}

// medianOf returns the function of a row that has a figure's median.
func medianOf(figure func(*sample) float64) func(*tpcSide) (string, error) {
	return func(side *tpcSide) (string, error) {
		var all []float64
		for i := range side.turns {
			all = append(all, figure(&side.turns[i]))
		}
		return strconv.FormatFloat(median(all), 'f', 0, 64), nil
	}
}

func allDone(p *sample) uint64 { return p.Requests }

// sum adds a figure over all turns.
func (side *tpcSide) sum(of func(*sample) uint64) (n uint64) {
	for i := range side.turns {
		n += of(&side.turns[i])
	}
	return n
}

// percent returns a share in per cent.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 2, 64)
}
