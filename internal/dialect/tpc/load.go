package tpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/protocol"
	"brunt/internal/server/schema/fill"
)

// LoadOptions describe a load of tables, or of a part of their rows.
type LoadOptions struct {
	// Name identifies the part of the data that is loaded, such as "1-10". Loads of different parts may run at the same
	// time.
	Name string
	// Whole says that the part is everything. Primary keys and indexes are then created after the rows, which is faster.
	Whole    bool
	Facts    Facts  // constants of the load, the same for all parts
	Print    string // what is loaded, for messages: "warehouses 1 to 10"
	Seed     uint64
	Sessions int // that load at the same time
	Check    fill.Check
	Progress func(fill.Progress)
	// Clear are statements that remove what an earlier load of this part has put into tables without keys.
	Clear []string
}

// Result is what a load did with a table.
type Result struct {
	fill.TableReport
	Resumed bool // an earlier load had begun
}

// Load creates the tables that are missing and loads their rows, by several sessions. What has been loaded is noted in
// the database, so that a load that was killed is completed by the next one with the same facts. Errors that the user
// can mend carry their exit code.
func (d *Database) Load(ctx context.Context, tables []Table, o LoadOptions) ([]Result, error) {
	resumed, err := d.begin(ctx, tables, &o)
	if err != nil {
		return nil, err
	}
	j := &journal{d: d, prefix: "load/" + o.Name + "/"}
	if err := j.read(ctx); err != nil {
		return nil, err
	}
	cfg := d.config(tables, &o)
	var keyed, keyless []fill.Table
	for _, t := range cfg.Tables {
		if len(t.Keys) > 0 {
			keyed = append(keyed, t)
		} else {
			keyless = append(keyless, t)
		}
	}
	cfg.Tables, cfg.Checkpoint, cfg.Replace = keyed, j, resumed
	done, err := fill.Run(ctx, cfg)
	if err == nil && len(keyless) > 0 {
		var more fill.Report
		more, err = d.loadKeyless(ctx, cfg, keyless, &o, resumed)
		done.Tables = append(done.Tables, more.Tables...)
	}
	if err != nil {
		return nil, usersError(err)
	}
	if err := d.finish(ctx, tables, &o); err != nil {
		return nil, err
	}
	out := make([]Result, len(done.Tables))
	for i := range out {
		out[i] = Result{TableReport: done.Tables[i], Resumed: resumed}
	}
	return out, nil
}

// usersError marks errors about another load's journal as the user's.
func usersError(err error) error {
	if c, ok := errors.AsType[*fill.CheckpointError](err); ok {
		return exitcode.Usage(fmt.Errorf("%w; or drop its tables first", c))
	}
	return err
}

// begin compares the facts, and creates what is missing. resumed says that an earlier load of the part was begun.
func (d *Database) begin(ctx context.Context, tables []Table, o *LoadOptions) (resumed bool, err error) {
	facts, err := d.ReadFacts(ctx)
	if err != nil {
		return false, err
	}
	if facts == nil {
		for i := range tables {
			if has, err := d.HasTable(ctx, tables[i].Name); err != nil || has {
				return false, cmpErr(err, d.foreign(ctx, tables[i].Name))
			}
		}
		if err := d.createNotes(ctx); err != nil {
			return false, err
		}
	}
	for name, want := range o.Facts {
		if have, known := facts[name]; known && have != want {
			return false, exitcode.Usage(fmt.Errorf(
				"the database is loaded with %s %s, and this load has %s; load with the same, or drop its tables first", name,
				have, want))
		}
	}
	if facts["range/"+o.Name] == Loaded {
		return false, exitcode.Usage(fmt.Errorf("%s is loaded already; drop its tables to load it again", o.Print))
	}
	_, resumed = facts["range/"+o.Name]
	if !resumed {
		if err := d.WriteFacts(ctx, o.Facts); err != nil {
			return false, err
		}
	}
	for i := range tables {
		if err := d.create(ctx, &tables[i], o, resumed); err != nil {
			return false, err
		}
	}
	return resumed, d.WriteFacts(ctx, Facts{"range/" + o.Name: Loading})
}

// foreign returns the error of a table that was there before the table of notes.
func (d *Database) foreign(ctx context.Context, table string) error {
	has, err := d.HasTable(ctx, d.Notes)
	if d.has = has; err != nil || has {
		return cmpErr(err, errBegun)
	}
	return exitcode.Usage(fmt.Errorf("there is a table %s, and brunt didn't load it: no table %s says so; drop it, or use "+
		"another database", table, d.Notes))
}

func cmpErr(err, or error) error {
	if err != nil {
		return err
	}
	return or
}

// create creates a table. If an earlier load created it, it gets its primary key now, which rows that are loaded twice
// are replaced by.
func (d *Database) create(ctx context.Context, t *Table, o *LoadOptions, resumed bool) error {
	at := t.For(d.Product())
	has, err := d.HasTable(ctx, t.Name)
	if err != nil {
		return err
	}
	if !has {
		if err := d.Exec(ctx, at.Create(d.Product(), !o.Whole || resumed)); err != nil {
			if has, _ := d.HasTable(ctx, t.Name); has {
				return nil // the load of another part has created it in between
			}
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
		if o.Whole {
			return nil
		}
		return d.index(ctx, t)
	}
	if resumed && o.Whole {
		return d.addKey(ctx, at)
	}
	return nil
}

// addKey adds the primary key, unless the table has it.
func (d *Database) addKey(ctx context.Context, t *Table) error {
	text := t.AddKey(d.Product())
	if text == "" {
		return nil
	}
	n, err := d.Number(ctx, "SELECT COUNT(*) FROM pg_constraint WHERE contype = 'p' AND conrelid = '"+t.Name+"'::regclass")
	if err == nil && n == 0 {
		err = d.Exec(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("primary key of table %s: %w", t.Name, err)
	}
	return nil
}

func (d *Database) index(ctx context.Context, t *Table) error {
	for i := range t.Indexes {
		if err := d.Exec(ctx, t.Indexes[i].Create(t.Name)); err != nil {
			return fmt.Errorf("index %s: %w", t.Indexes[i].Name, err)
		}
	}
	return nil
}

// config returns what all tables have in common.
func (d *Database) config(tables []Table, o *LoadOptions) fill.Config {
	f := d.Product()
	cfg := fill.Config{
		Driver: d.System.Waiting.Driver(d.System.Driver.(protocol.AdminDriver)), Targets: d.System.Targets, SQL: d.Flavor,
		Check: fill.CheckNone, Workers: o.Sessions, Seed: o.Seed, Plan: o.Name, Progress: o.Progress, Now: time.Now,
	}
	for i := range tables {
		t := tables[i].For(f)
		cfg.Tables = append(cfg.Tables, fill.Table{Name: stored(f, t.Name), Rows: t.Rows, Columns: t.columns(f),
			Keys: t.keys(f), Row: d.Flavor.WrapRow(t.Row)})
	}
	return cfg
}

// loadKeyless loads tables whose rows can't be replaced, since they have no key: from the start, after what an earlier
// load has put into them has been removed.
func (d *Database) loadKeyless(ctx context.Context, cfg fill.Config, tables []fill.Table, o *LoadOptions,
	resumed bool) (fill.Report, error) {
	if resumed {
		for _, statement := range o.Clear {
			if err := d.Exec(ctx, statement); err != nil {
				return fill.Report{}, fmt.Errorf("remove what an earlier load has left: %w", err)
			}
		}
	}
	cfg.Tables, cfg.Checkpoint, cfg.Replace = tables, nil, false
	// An attempt whose outcome is unknown can't be repeated without a key; the next load begins again.
	return fill.Run(ctx, cfg)
}

// finish creates keys and indexes, updates the planner's statistics, and notes that the part is loaded.
func (d *Database) finish(ctx context.Context, tables []Table, o *LoadOptions) error {
	if o.Whole {
		for i := range tables {
			t := tables[i].For(d.Product())
			if err := d.addKey(ctx, t); err != nil {
				return err
			}
			if err := d.createIndexes(ctx, &tables[i]); err != nil {
				return err
			}
		}
	}
	for i := range tables {
		if text := d.Flavor.Analyze(stored(d.Product(), tables[i].Name)); text != "" {
			if err := d.Exec(ctx, text); err != nil {
				return fmt.Errorf("update the statistics of table %s: %w", tables[i].Name, err)
			}
		}
	}
	return d.WriteFacts(ctx, Facts{"range/" + o.Name: Loaded})
}

// createIndexes creates the indexes of a table whose load may have been killed while they were created.
func (d *Database) createIndexes(ctx context.Context, t *Table) error {
	for i := range t.Indexes {
		x := &t.Indexes[i]
		err := d.Exec(ctx, x.Create(t.Name))
		if err == nil {
			continue
		}
		drop := "DROP INDEX " + x.Name
		if p := d.Product(); p == protocol.FlavorMySQL || p == protocol.FlavorTarantool {
			drop += " ON " + t.Name
		}
		if d.Exec(ctx, drop) == nil {
			err = d.Exec(ctx, x.Create(t.Name))
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", x.Name, err)
		}
	}
	return nil
}

// Ranges returns the parts that are loaded, in the order of their names, and those that were begun only.
func (f Facts) Ranges() (loaded, begun []string) {
	for name, state := range f {
		part, ok := cutRange(name)
		switch {
		case !ok:
		case state == Loaded:
			loaded = append(loaded, part)
		default:
			begun = append(begun, part)
		}
	}
	slices.Sort(loaded)
	slices.Sort(begun)
	return loaded, begun
}

func cutRange(name string) (string, bool) {
	const prefix = "range/"
	if len(name) > len(prefix) && name[:len(prefix)] == prefix {
		return name[len(prefix):], true
	}
	return "", false
}

// journal is a checkpoint in the table of notes.
type journal struct {
	d      *Database
	prefix string
	lines  [][]byte
	mu     sync.Mutex
	next   int
}

func (j *journal) read(ctx context.Context) error {
	all, err := j.d.notes(ctx, j.prefix)
	for _, n := range all {
		j.lines = append(j.lines, []byte(n[1]))
	}
	j.next = len(j.lines)
	return err
}

// Name returns the name of the table.
func (j *journal) Name() string { return "table " + j.d.Notes }

// Lines returns the lines written so far.
func (j *journal) Lines() [][]byte { return j.lines }

// Append writes a line.
func (j *journal) Append(line []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.d.addNote(context.Background(), fmt.Sprintf("%s%09d", j.prefix, j.next), string(line))
	if err == nil {
		j.next++
	}
	return err
}
