package tpcc

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/server/schema/fill"
)

// notesTable is the table with the constants of the load.
const notesTable = "brunt_tpcc"

// version is the version of the population. It changes whenever the same seed gives other rows.
const version = "1"

// The facts that are stored with the data.
const (
	factSeed       = "seed"
	factWarehouses = "warehouses"
	factItems      = "items"
	factCustomers  = "customers a district"
	factLastNameC  = "constant C of last names"
	factDate       = "date"
	factSent       = "loads sent"
)

// Loading says what is loaded.
type Loading struct {
	Warehouses int64
	From, To   int64 // of these; 0: all
	Sizes
	Seed     uint64
	Sessions int
	Now      func() time.Time
	Progress func(fill.Progress)
}

func (l *Loading) check() error {
	if l.From == 0 {
		l.From = 1
	}
	if l.To == 0 {
		l.To = l.Warehouses
	}
	switch {
	case l.Warehouses < 1:
		return exitcode.Usage(fmt.Errorf("--warehouses %d: give at least 1", l.Warehouses))
	case l.From < 1 || l.To > l.Warehouses || l.From > l.To:
		return exitcode.Usage(fmt.Errorf("--from %d --to %d: give a range within 1 to %d, the warehouses", l.From, l.To,
			l.Warehouses))
	case l.Sessions < 1:
		return exitcode.Usage(fmt.Errorf("--sessions %d: a load needs at least 1", l.Sessions))
	}
	return nil
}

func (l *Loading) facts() tpc.Facts {
	return tpc.Facts{tpc.FactVersion: version, factSeed: strconv.FormatUint(l.Seed, 10),
		factWarehouses: itoa(l.Warehouses), factItems: itoa(l.Items), factCustomers: itoa(l.Customers),
		factLastNameC: itoa(loadConstant(l.Seed))}
}

// Load loads warehouses. A load that was killed is completed.
func Load(ctx context.Context, d *tpc.Database, l Loading) ([]tpc.Result, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	facts, err := d.ReadFacts(ctx)
	if err != nil {
		return nil, err
	}
	now := l.Now().Truncate(time.Second).UnixMicro()
	if known := facts.Int(factDate); known > 0 {
		now = known // all parts of a load, and what completes them, have one date
	}
	all := l.facts()
	all[factDate] = itoa(now)
	p := NewPopulation(l.Seed, l.Sizes, l.From, l.To, now)
	name := fmt.Sprintf("%d-%d", l.From, l.To)
	if overlaps(facts, l.From, l.To, name) {
		return nil, exitcode.Usage(fmt.Errorf("--from %d --to %d: a load of other ranges has begun with some of these "+
			"warehouses; give the same ranges, or drop its tables first", l.From, l.To))
	}
	return d.Load(ctx, p.Tables(), tpc.LoadOptions{
		Name: name, Whole: l.From == 1 && l.To == l.Warehouses, Facts: all, Seed: l.Seed, Sessions: l.Sessions,
		Print: fmt.Sprintf("the range of warehouses %d to %d", l.From, l.To), Progress: l.Progress,
		Clear: []string{fmt.Sprintf("DELETE FROM history WHERE h_w_id BETWEEN %d AND %d", l.From, l.To)},
	})
}

// overlaps reports whether a range shares warehouses with another one that was begun.
func overlaps(facts tpc.Facts, from, to int64, name string) bool {
	loaded, begun := facts.Ranges()
	for _, r := range append(loaded, begun...) {
		a, b := bounds(r)
		if r != name && a <= to && from <= b {
			return true
		}
	}
	return false
}

func bounds(r string) (from, to int64) {
	a, b, _ := strings.Cut(r, "-")
	from, _ = strconv.ParseInt(a, 10, 64)
	to, _ = strconv.ParseInt(b, 10, 64)
	return from, to
}

// Data is what the database says of its data.
type Data struct {
	Sizes
	Warehouses int64
	Seed       uint64
	LastNameC  int64
	DateUs     int64
	Sent       int64 // loads that have been sent since the data was loaded
}

// Fresh reports whether no load has been sent to the data.
func (d *Data) Fresh() bool { return d.Sent == 0 }

// Read reads the constants of the data, and checks that it is complete and as these constants say, as far as a few
// queries can tell. Errors say what to do.
func Read(ctx context.Context, db *tpc.Database) (*Data, error) {
	facts, err := benchmark.Known(ctx, db, version)
	if err != nil {
		return nil, err
	}
	seed, err := strconv.ParseUint(facts[factSeed], 10, 64)
	if err != nil {
		return nil, changedNotes("its seed is " + strconv.Quote(facts[factSeed]))
	}
	d := &Data{Warehouses: facts.Int(factWarehouses), Seed: seed, LastNameC: facts.Int(factLastNameC),
		DateUs: facts.Int(factDate), Sent: facts.Int(factSent),
		Sizes: Sizes{Items: facts.Int(factItems), Customers: facts.Int(factCustomers)}}
	if d.LastNameC != loadConstant(seed) {
		return nil, changedNotes(fmt.Sprintf("its constant C of last names is %d, and seed %d gives %d", d.LastNameC, seed,
			loadConstant(seed)))
	}
	if d.Warehouses < 1 || d.Items < 1 || d.Customers < 10 {
		return nil, changedNotes(fmt.Sprintf("it says %d warehouses, %d items and %d customers a district", d.Warehouses,
			d.Items, d.Customers))
	}
	if err := d.complete(facts); err != nil {
		return nil, err
	}
	return d, d.compare(ctx, db)
}

func changedNotes(what string) error {
	return exitcode.Usage(fmt.Errorf("table %s was changed: %s; drop the data, and load it again", notesTable, what))
}

// complete returns an error unless all warehouses are loaded.
func (d *Data) complete(facts tpc.Facts) error {
	loaded, begun := facts.Ranges()
	if len(begun) > 0 {
		return exitcode.Usage(fmt.Errorf("the load of warehouses %s didn't end; complete it with the same brunt tpcc load",
			begun[0]))
	}
	n := int64(0)
	for _, r := range loaded {
		a, b := bounds(r)
		n += b - a + 1
	}
	if n != d.Warehouses {
		return exitcode.Usage(fmt.Errorf("%d of %d warehouses are loaded; load the rest with brunt tpcc load --from --to", n,
			d.Warehouses))
	}
	return nil
}

// sampled is how many rows of a table are compared.
const sampled = 20

// compare counts rows of the small tables, and compares some rows that no transaction changes with what the constants
// say.
func (d *Data) compare(ctx context.Context, db *tpc.Database) error {
	for _, c := range []struct {
		table string
		want  int64
	}{{"warehouse", d.Warehouses}, {"district", d.Warehouses * Districts}, {"item", d.Items}} {
		n, err := db.Number(ctx, "SELECT COUNT(*) FROM "+c.table)
		if err != nil {
			return err
		}
		if n != c.want {
			return changed(c.table, fmt.Sprintf("it has %d rows, not %d", n, c.want))
		}
	}
	p := NewPopulation(d.Seed, d.Sizes, 1, 1, d.DateUs)
	t := p.Tables()
	err := compareRows(ctx, db, &t[item], "i_name", func(i uint64) string { return fmt.Sprintf("i_id = %d", i+1) })
	if err != nil {
		return err
	}
	return compareRows(ctx, db, &t[customer], "c_last", func(i uint64) string {
		n := uint64(d.Customers)
		return fmt.Sprintf("c_w_id = 1 AND c_d_id = %d AND c_id = %d", i/n+1, i%n+1)
	})
}

func changed(table, what string) error {
	return exitcode.Usage(fmt.Errorf("table %s isn't as it was loaded: %s; somebody changed it, or it is of another "+
		"tool; drop the data, and load it again", table, what))
}

// compareRows compares a text of some rows with what the population has.
func compareRows(ctx context.Context, db *tpc.Database, t *tpc.Table, column string,
	where func(row uint64) string) error {
	values := newRow(t)
	at := 0
	for i := range t.Columns {
		if t.Columns[i].Name == column {
			at = i
		}
	}
	for k := range min(sampled, t.Rows) {
		i := k * (t.Rows / min(sampled, t.Rows))
		t.Row(values, i)
		want, have := string(values[at].B), ""
		err := db.Query(ctx, "SELECT "+column+" FROM "+t.Name+" WHERE "+where(i), func(row []*string) error {
			if row[0] != nil {
				have = *row[0]
			}
			return nil
		})
		if err != nil {
			return err
		}
		if have != want {
			return changed(t.Name, fmt.Sprintf("%s is %q where %s, not %q", column, have, where(i), want))
		}
	}
	return nil
}

// Open connects to the database of a plan's target.
func Open(ctx context.Context, p *plan.Plan) (*tpc.Database, error) {
	return tpc.Open(ctx, p, notesTable)
}

// sent notes that a load is sent: condition 11 doesn't apply any more.
func (d *Data) sent(ctx context.Context, db *tpc.Database) error {
	return db.WriteFacts(ctx, tpc.Facts{factSent: itoa(d.Sent + 1)})
}

func newRow(t *tpc.Table) []gen.Value { return make([]gen.Value, len(t.Columns)) }
