package tpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/judge/exitcode"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/schema/sql"
	"brunt/internal/server/target"
)

// Database is a database with the tables of a benchmark. It isn't safe for concurrent use, except for its journal.
type Database struct {
	System *target.System
	Flavor sql.Flavor
	Notes  string // name of the table with the constants of the load: brunt_tpcc

	admin protocol.Admin
	mu    sync.Mutex // serializes the journal's use of admin
	has   bool       // the table of notes exists
}

// Open connects to the database of a plan's target. notes is the name of the table with the constants of the load.
func Open(ctx context.Context, p *plan.Plan, notes string) (*Database, error) {
	s, err := target.Find(ctx, p, target.Patience{})
	if err != nil {
		return nil, err
	}
	f, err := s.FlavorOf()
	if err != nil {
		return nil, err
	}
	if _, ok := s.Driver.(protocol.AdminDriver); !ok {
		return nil, exitcode.Usage(fmt.Errorf("protocol %s has no tables; use pg, mysql, sqlite or iproto",
			p.Target.Protocol))
	}
	d := &Database{System: s, Flavor: f, Notes: notes}
	if d.admin, err = s.Admin(ctx); err != nil {
		return nil, err
	}
	d.has, err = d.HasTable(ctx, notes)
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close ends the session.
func (d *Database) Close() error { return d.admin.Close() }

// Product returns the product whose SQL the database understands.
func (d *Database) Product() protocol.Flavor { return d.Flavor.Product() }

// Exec executes a statement.
func (d *Database) Exec(ctx context.Context, statement string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.admin.Exec(ctx, statement)
	return err
}

// Query executes a query and calls row with the texts of each row; nil is null.
func (d *Database) Query(ctx context.Context, query string, row func(values []*string) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.admin.Query(ctx, query, row)
}

// Number returns the only value of a query, an integer; 0 for null.
func (d *Database) Number(ctx context.Context, query string) (n int64, err error) {
	err = d.Query(ctx, query, func(values []*string) error {
		if len(values) == 0 || values[0] == nil {
			return nil
		}
		f, err := strconv.ParseFloat(*values[0], 64)
		n = int64(f)
		return err
	})
	return n, err
}

// HasTable reports whether a table exists.
func (d *Database) HasTable(ctx context.Context, name string) (bool, error) {
	n, err := d.Number(ctx, d.Flavor.HasTable(stored(d.Product(), name)))
	return n > 0, err
}

// Facts are the constants of a load by name, as they are stored in the table of notes.
type Facts map[string]string

// Int returns a fact that is a number; 0 if there is none.
func (f Facts) Int(name string) int64 {
	n, _ := strconv.ParseInt(f[name], 10, 64)
	return n
}

// Known returns the constants of loaded data. It fails if the database has none, or if they are those of another
// version of the data, which is the fact FactVersion.
func (b *Benchmark) Known(ctx context.Context, d *Database, version string) (Facts, error) {
	facts, err := d.ReadFacts(ctx)
	switch {
	case err != nil:
		return nil, err
	case facts == nil:
		return nil, exitcode.Usage(fmt.Errorf("the database has no table %s, so brunt didn't load it; load it with brunt %s "+
			"load", b.Notes, b.Name))
	case facts[FactVersion] != version:
		return nil, exitcode.Usage(fmt.Errorf("the data was loaded by another version of brunt (population %q, this one has "+
			"%s); drop it, and load it again", facts[FactVersion], version))
	}
	return facts, nil
}

// FactVersion is the name of the fact that says which version of a benchmark's data was loaded.
const FactVersion = "population"

// notesTable is the table of notes: names and values. The names of facts begin with "fact/", those of the journal of a
// load with "load/".
func (d *Database) notesTable() *Table {
	return &Table{Name: d.Notes, Keys: []string{"note"}, Columns: []Column{{Name: "note", Type: Text, Size: 80},
		{Name: "content", Type: Text, Size: 1000}}}
}

// The states of a load.
const (
	Loading = "loading"
	Loaded  = "loaded"
)

// ReadFacts returns the constants of the load; nil if there is no table of notes.
func (d *Database) ReadFacts(ctx context.Context) (Facts, error) {
	if !d.has {
		return nil, nil
	}
	notes, err := d.notes(ctx, "fact/")
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", d.Notes, err)
	}
	f := Facts{}
	for _, n := range notes {
		f[n[0]] = n[1]
	}
	return f, nil
}

// notes returns the notes whose names begin with a prefix, which is cut off, in the order of their names.
func (d *Database) notes(ctx context.Context, prefix string) (all [][2]string, err error) {
	query := fmt.Sprintf("SELECT note, content FROM %s WHERE note LIKE '%s%%' ORDER BY note", d.Notes, prefix)
	err = d.Query(ctx, query, func(values []*string) error {
		if len(values) == 2 && values[0] != nil && values[1] != nil {
			all = append(all, [2]string{strings.TrimPrefix(*values[0], prefix), *values[1]})
		}
		return nil
	})
	return all, err
}

// createNotes creates the table of notes.
func (d *Database) createNotes(ctx context.Context) error {
	if d.has {
		return nil
	}
	if err := d.Exec(ctx, d.notesTable().Create(d.Product(), true)); err != nil {
		if has, _ := d.HasTable(ctx, d.Notes); !has {
			return fmt.Errorf("create table %s: %w", d.Notes, err)
		} // the load of another part has created it in between
	}
	d.has = true
	return nil
}

// note writes a note, over one of the same name.
func (d *Database) note(ctx context.Context, name, content string) error {
	if err := d.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE note = %s", d.Notes, d.literal(name))); err != nil {
		return err
	}
	return d.addNote(ctx, name, content)
}

func (d *Database) addNote(ctx context.Context, name, content string) error {
	return d.Exec(ctx, fmt.Sprintf("INSERT INTO %s (note, content) VALUES (%s, %s)", d.Notes, d.literal(name),
		d.literal(content)))
}

func (d *Database) literal(text string) string {
	var v gen.Value
	v.SetString(text)
	return d.Flavor.Literal(&v)
}

// WriteFacts stores constants of the load that aren't stored yet. Loads of several parts that store the same ones at
// the same time don't disturb each other; a fact that another one stores with another value in between is an error,
// and stays.
func (d *Database) WriteFacts(ctx context.Context, f Facts) error {
	known, err := d.ReadFacts(ctx)
	if err != nil {
		return err
	}
	for name, value := range f {
		have, is := known[name]
		if is && have == value {
			continue
		}
		if is {
			err = d.note(ctx, "fact/"+name, value)
		} else {
			err = d.addFact(ctx, name, value)
		}
		if err != nil {
			return fmt.Errorf("write table %s: %w", d.Notes, err)
		}
	}
	return nil
}

// addFact adds a fact that wasn't known.
func (d *Database) addFact(ctx context.Context, name, value string) error {
	failed := d.addNote(ctx, "fact/"+name, value)
	if failed == nil {
		return nil
	}
	now, err := d.ReadFacts(ctx)
	have, is := now[name]
	switch {
	case err != nil || !is:
		return failed
	case have != value:
		return errBegun
	}
	return nil
}

// errBegun is the error of a load that found nothing when it began, and then that another one had begun.
var errBegun = exitcode.Usage(errors.New("the load of another part began at the same moment; give the command again"))

// Drop drops tables and the table of notes.
func (d *Database) Drop(ctx context.Context, tables []Table) error {
	var all []error
	for _, name := range append(names(tables), d.Notes) {
		has, err := d.HasTable(ctx, name)
		if err == nil && has {
			err = d.Exec(ctx, "DROP TABLE "+name)
		}
		if err != nil {
			all = append(all, fmt.Errorf("drop table %s: %w", name, err))
		}
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	d.has = false
	return nil
}

func names(tables []Table) (out []string) {
	for i := range tables {
		out = append(out, tables[i].Name)
	}
	return out
}

// Name returns the name of a system in the options of scripts.
func Name(f protocol.Flavor) string { return strings.ToLower(f.String()) }

// Systems returns the names of the systems.
func Systems() (names []string) {
	for f := protocol.FlavorPostgreSQL; f <= protocol.FlavorMySQL; f++ {
		names = append(names, Name(f))
	}
	return names
}

// Flavor returns the system with a name.
func Flavor(name string) (f protocol.Flavor, ok bool) {
	i := slices.Index(Systems(), name)
	return protocol.Flavor(max(i, 0)), i >= 0
}

// ProtocolSystem returns the system that is usually reached by a protocol.
func ProtocolSystem(protocolName string) string {
	if servers := protocols.Of(protocolName).SQL; len(servers) > 0 {
		return Name(servers[0].Flavor)
	}
	return Name(protocol.FlavorPostgreSQL)
}

// SQL returns the flavor of SQL of a system.
func SQL(f protocol.Flavor) sql.Flavor {
	flavor, err := sql.For([]protocol.SQLServer{{Flavor: f}}, "", "")
	if err != nil {
		panic(err) // a server of any product has the flavor
	}
	return flavor
}
