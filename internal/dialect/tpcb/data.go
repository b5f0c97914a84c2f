// Package tpcb is TPC-B (TPC Benchmark B, revision 2.0): its four tables, its transaction, the conditions that its data
// must satisfy, and its report. Numbers of clauses are those of the specification. pgbench's built-in script is like
// it, without the rule that an account is usually one of the teller's branch.
package tpcb

import (
	"context"
	"fmt"
	"strconv"

	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/load/gen"
	"brunt/internal/server/schema/fill"
)

// The rows of a branch (clause 4.2.2). A branch stands for one transaction a second.
const (
	tellersOfBranch  = 10
	accountsOfBranch = 100_000
	historyOfBranch  = 864_000 // room for the rows of 30 days of eight hours at one transaction a second
)

const maxShrink = 1000

// The tables, in the order in which they are loaded.
const (
	accounts = iota
	tellers
	branches
	history
	tables
)

// fillers make the rows as long as clause 3.2 wants: 100 bytes, and 50 in history.
const (
	fillerOfRow     = 84
	fillerOfTeller  = 80
	fillerOfBranch  = 88
	fillerOfHistory = 22
)

func text(name string, size int) tpc.Column {
	return tpc.Column{Name: name, Type: tpc.Text, Size: size}
}

func balance(name string) tpc.Column { return tpc.Column{Name: name, Type: tpc.Long} }

// schema returns the four tables (clause 3.2). The amounts are whole numbers. Their names don't collide with those of
// TPC-C.
func schema() []tpc.Table {
	return []tpc.Table{
		accounts: {Name: "tpcb_accounts", Keys: []string{"aid"}, Columns: []tpc.Column{{Name: "aid"}, {Name: "bid"},
			balance("abalance"), text("filler", fillerOfRow)}},
		tellers: {Name: "tpcb_tellers", Keys: []string{"tid"}, Columns: []tpc.Column{{Name: "tid"}, {Name: "bid"},
			balance("tbalance"), text("filler", fillerOfTeller)}},
		branches: {Name: "tpcb_branches", Keys: []string{"bid"}, Columns: []tpc.Column{{Name: "bid"}, balance("bbalance"),
			text("filler", fillerOfBranch)}},
		history: {Name: "tpcb_history", Needed: "hid", Columns: []tpc.Column{{Name: "tid"}, {Name: "bid"}, {Name: "aid"},
			balance("delta"), {Name: "mtime", Type: tpc.Date}, text("filler", fillerOfHistory)}},
	}
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// population returns the tables with the rows of branches. All balances are 0, and history is empty.
func population(seed uint64, count, accountsEach int64) []tpc.Table {
	all := schema()
	stream := func(name string) gen.Stream { return gen.NewStream(seed, "tpcb", name) }
	filler := func(v *gen.Value, s gen.Stream, row uint64, n int) {
		r := s.At(row)
		v.Kind, v.B = gen.String, r.AppendFrom(v.B[:0], letters, n)
	}
	of := func(name string, each uint64, n int) func([]gen.Value, uint64) {
		s := stream(name)
		return func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row) + 1)
			v[1].SetInt(int64(row/each) + 1)
			v[2].SetInt(0)
			filler(&v[3], s, row, n)
		}
	}
	all[accounts].Rows, all[accounts].Row = uint64(count*accountsEach), of("accounts", uint64(accountsEach), fillerOfRow)
	all[tellers].Rows, all[tellers].Row = uint64(count*tellersOfBranch), of("tellers", tellersOfBranch, fillerOfTeller)
	b := stream("branches")
	all[branches].Rows, all[branches].Row = uint64(count), func(v []gen.Value, row uint64) {
		v[0].SetInt(int64(row) + 1)
		v[1].SetInt(0)
		filler(&v[2], b, row, fillerOfBranch)
	}
	all[history].Row = func([]gen.Value, uint64) {}
	return all
}

// notesTable is the table with the constants of the load.
const notesTable = "brunt_tpcb"

const version = "1"

// The facts that are stored with the data.
const (
	factSeed     = "seed"
	factBranches = "branches"
	factAccounts = "accounts a branch"
	factSent     = "loads sent"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Loading says what is loaded.
type Loading struct {
	Branches int64
	Shrink   int64 // divides the accounts
	Seed     uint64
	Sessions int
	Progress func(fill.Progress)
}

func (l *Loading) check() error {
	switch {
	case l.Branches < 1 || l.Branches > 20_000:
		return exitcode.Usage(fmt.Errorf("--branches %d: give a number from 1 to 20000", l.Branches))
	case l.Shrink < 1 || l.Shrink > maxShrink:
		return exitcode.Usage(fmt.Errorf("--shrink %d: give a number from 1 to %d", l.Shrink, maxShrink))
	case l.Sessions < 1:
		return exitcode.Usage(fmt.Errorf("--sessions %d: a load needs at least 1", l.Sessions))
	}
	return nil
}

// Load loads the tables. A load that was killed is completed.
func Load(ctx context.Context, d *tpc.Database, l Loading) ([]tpc.Result, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	each := accountsOfBranch / l.Shrink
	return d.Load(ctx, population(l.Seed, l.Branches, each), tpc.LoadOptions{
		Name: "all", Whole: true, Seed: l.Seed, Sessions: l.Sessions, Progress: l.Progress, Print: "the data",
		Facts: tpc.Facts{tpc.FactVersion: version, factSeed: strconv.FormatUint(l.Seed, 10), factBranches: itoa(l.Branches),
			factAccounts: itoa(each)},
	})
}

// Data is what the database says of its data.
type Data struct {
	Branches, Accounts int64 // Accounts of a branch
	Seed               uint64
	Sent               int64
}

// Read reads the constants of the data, and checks that it is complete and as these constants say.
func Read(ctx context.Context, db *tpc.Database) (*Data, error) {
	facts, err := benchmark.Known(ctx, db, version)
	if err != nil {
		return nil, err
	}
	if _, begun := facts.Ranges(); len(begun) > 0 {
		return nil, exitcode.Usage(fmt.Errorf("the load didn't end; complete it with the same brunt tpcb load"))
	}
	seed, _ := strconv.ParseUint(facts[factSeed], 10, 64)
	d := &Data{Branches: facts.Int(factBranches), Accounts: facts.Int(factAccounts), Seed: seed, Sent: facts.Int(factSent)}
	for _, c := range []struct {
		table string
		want  int64
	}{{"tpcb_branches", d.Branches}, {"tpcb_tellers", d.Branches * tellersOfBranch}} {
		n, err := db.Number(ctx, "SELECT COUNT(*) FROM "+c.table)
		if err != nil {
			return nil, err
		}
		if n != c.want || n == 0 {
			return nil, changed(c.table, fmt.Sprintf("it has %d rows, not %d", n, c.want))
		}
	}
	last, err := db.Number(ctx, "SELECT bid FROM tpcb_accounts WHERE aid = "+itoa(d.Branches*d.Accounts))
	if err == nil && last != d.Branches {
		err = changed("tpcb_accounts", fmt.Sprintf("account %d isn't of branch %d", d.Branches*d.Accounts, d.Branches))
	}
	return d, err
}

func changed(table, what string) error {
	return exitcode.Usage(fmt.Errorf("table %s isn't as it was loaded: %s; somebody changed it; drop the data, and load it "+
		"again", table, what))
}

// sent notes that a load is sent.
func (d *Data) sent(ctx context.Context, db *tpc.Database) error {
	return db.WriteFacts(ctx, tpc.Facts{factSent: itoa(d.Sent + 1)})
}

// Conditions returns the conditions of consistency (clause 2.3.2), and that all balances together are equal.
func Conditions() []tpc.Condition {
	return []tpc.Condition{
		{
			Name: "tellers", Says: "bbalance = sum(tbalance) of the branch's tellers",
			Columns: []string{"branch", "bbalance", "sum(tbalance)"},
			Query: "SELECT b.bid, b.bbalance, t.total FROM tpcb_branches AS b LEFT JOIN (SELECT bid, SUM(tbalance) AS total " +
				"FROM tpcb_tellers GROUP BY bid) AS t ON t.bid = b.bid WHERE t.total IS NULL OR b.bbalance <> t.total",
		},
		{
			Name: "history", Says: "bbalance = sum(delta) of the branch's history",
			Columns: []string{"branch", "bbalance", "sum(delta)"},
			Query: "SELECT b.bid, b.bbalance, h.total FROM tpcb_branches AS b LEFT JOIN (SELECT bid, SUM(delta) AS total " +
				"FROM tpcb_history GROUP BY bid) AS h ON h.bid = b.bid WHERE b.bbalance <> COALESCE(h.total, 0)",
		},
		{
			Name: "teller history", Says: "tbalance = sum(delta) of the teller's history",
			Columns: []string{"teller", "tbalance", "sum(delta)"},
			Query: "SELECT t.tid, t.tbalance, h.total FROM tpcb_tellers AS t LEFT JOIN (SELECT tid, SUM(delta) AS total " +
				"FROM tpcb_history GROUP BY tid) AS h ON h.tid = t.tid WHERE t.tbalance <> COALESCE(h.total, 0)",
		},
		{
			Name: "account history", Says: "abalance = sum(delta) of the account's history",
			Columns: []string{"account", "abalance", "sum(delta)"},
			Query: "SELECT a.aid, a.abalance, h.total FROM tpcb_accounts AS a LEFT JOIN (SELECT aid, SUM(delta) AS total " +
				"FROM tpcb_history GROUP BY aid) AS h ON h.aid = a.aid WHERE a.abalance <> COALESCE(h.total, 0)",
		},
		{
			Name: "totals", Says: "sum(bbalance) = sum(abalance)", Columns: []string{"sum(bbalance)", "sum(abalance)"},
			Query: "SELECT b.total, a.total FROM (SELECT SUM(bbalance) AS total FROM tpcb_branches) AS b INNER JOIN (SELECT " +
				"SUM(abalance) AS total FROM tpcb_accounts) AS a ON b.total <> a.total",
		},
	}
}
