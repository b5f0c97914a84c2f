// Package fill fills tables and proves that they are filled. Tables are cut into chunks of rows,
// several sessions load chunks at the same time over all addresses, a checkpoint lets a killed
// load go on where it was, and at the end the server is asked what it holds.
package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// Table is a table to fill. It must exist and, unless a checkpoint says otherwise or
// Config.Replace is set, be empty.
type Table struct {
	Name    string
	Rows    uint64
	Columns []protocol.Column
	Keys    []string // primary key columns; among Columns
	// Unique names one of Keys that no two rows have the same value in; "" if there is none.
	Unique string
	// Row fills values, one a column, with row number row. It is called concurrently.
	Row func(values []gen.Value, row uint64)
	// Filled says that the rows are in already: only the proof is left to do.
	Filled bool
}

// SQL writes the queries of the proof in the server's flavor.
type SQL interface {
	// CountRows asks for one value: how many rows the table has.
	CountRows(table string) string
	// SelectAll asks for all rows, in any order.
	SelectAll(table string, columns []string) string
	// SelectByKey asks for the rows whose column key lies between two values, both included.
	SelectByKey(table string, columns []string, key string, lo, hi *gen.Value) string
	// SelectIn asks for the rows that have one of values in the column key.
	SelectIn(table string, columns []string, key string, values []gen.Value) string
	// MostRows is how many rows of so many columns one query may ask for; 0 means any number.
	MostRows(columns int) uint64
}

// Verify says how much of the proof is asked for.
type Verify string

// The proofs; each includes the ones before it.
const (
	VerifyNone   Verify = "none"
	VerifyCount  Verify = "count"  // the number of rows of each table
	VerifySample Verify = "sample" // rows spread over each table are read back by key and compared
	VerifyFull   Verify = "full"   // all rows are read back and compared by checksum
)

// ParseVerify returns the proof of that name.
func ParseVerify(name string) (Verify, error) {
	switch v := Verify(name); v {
	case VerifyNone, VerifyCount, VerifySample, VerifyFull:
		return v, nil
	}
	return "", fmt.Errorf("load: unknown proof %q: use none, count, sample or full", name)
}

// Config is a load. The zero values of fields mean the defaults named next to them.
type Config struct {
	Driver  protocol.AdminDriver
	Targets []protocol.Target
	Tables  []Table
	SQL     SQL    // needed unless Verify is VerifyNone
	Verify  Verify // VerifyCount

	Workers    int    // sessions over all addresses; 4
	ChunkRows  uint64 // the most rows of a chunk; 50 000
	Attempts   int    // tries of one chunk; 3 for each address, at least 5
	SampleRows uint64 // rows of a table that VerifySample reads; 100
	Replace    bool   // rows may exist already: load every chunk so that they are replaced

	// Part is which chunks this process loads. Others, if not nil, has other processes load the chunks, each a Part:
	// this one only keeps the checkpoint, which says of how many parts the load is, and proves the whole.
	Part   Part
	Others func(ctx context.Context, s *Shared) ([]TableReport, error)

	// Checkpoint, if not nil, remembers what has been loaded; Plan says what: it must differ
	// when rows would (a fingerprint of the plan's tables), as must Seed.
	Checkpoint Checkpoint
	Plan       string
	Seed       uint64

	// Loaded, if not nil, is called when all rows are in, before the proof reads them.
	Loaded   func(ctx context.Context) error
	Progress func(Progress)   // told about once a second and at the end of each table, one call at a time
	Now      func() time.Time // time.Now
	// Pause waits after try number attempt (from 1) of a chunk or query, and before the proof looks again at rows
	// that aren't as loaded; the default doubles 50 ms up to 5 s. It returns an error if ctx is done.
	Pause func(ctx context.Context, attempt int) error
}

// Report is what was loaded.
type Report struct{ Tables []TableReport }

// TableReport is one table's part.
type TableReport struct {
	Name     string
	Rows     uint64        // all that belong into it
	Resumed  uint64        // of these, loaded by an earlier run according to the checkpoint
	Chunks   int           //
	Elapsed  time.Duration // from its first chunk's start to its last one's end; 0 if nothing was left to do
	RatePerS float64       // rows loaded now per second of Elapsed
	// Checksum is the sum of gen.ChecksumRow over all rows as they were generated, in 16 hex
	// digits; "" for a table that was filled already.
	Checksum string
	Verified Verify // what the server has confirmed
	Compared uint64 // rows read back and found equal
}

// Run loads all tables and then proves it. A report comes with an error too, as far as it goes.
func Run(ctx context.Context, config Config) (Report, error) {
	c := config.withDefaults()
	if err := c.check(); err != nil {
		return Report{}, err
	}
	j := newJob(&c)
	err := j.resume()
	if err == nil && c.Others != nil {
		if err = j.loadByOthers(ctx); err != nil {
			return Report{}, err
		}
	} else if err == nil {
		err = j.load(ctx)
	}
	if err == nil && c.Loaded != nil {
		err = c.Loaded(ctx)
	}
	if err == nil && c.Verify != VerifyNone {
		err = j.verify(ctx)
	}
	return Report{j.reports()}, err
}

func (c Config) withDefaults() Config {
	c.Verify = cmp.Or(c.Verify, VerifyCount)
	c.Workers = cmp.Or(max(c.Workers, 0), 4)
	c.ChunkRows = cmp.Or(c.ChunkRows, 50_000)
	c.Attempts = cmp.Or(max(c.Attempts, 0), max(5, 3*len(c.Targets)))
	c.SampleRows = cmp.Or(c.SampleRows, 100)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Pause == nil {
		c.Pause = pauseDoubling
	}
	return c
}

func pauseDoubling(ctx context.Context, attempt int) error {
	protocol.Sleep(ctx, min(50*time.Millisecond<<min(attempt-1, 10), 5*time.Second))
	return ctx.Err()
}

func (c *Config) check() error {
	switch {
	case c.Driver == nil:
		return errors.New("load: no driver was given")
	case len(c.Targets) == 0:
		return errors.New("load: there is no address: name at least one")
	case c.SQL == nil && c.Verify != VerifyNone:
		return errors.New("load: the proof needs an SQL flavor: give one, or ask for no proof")
	case c.Part.Of > 0 && (c.Part.Number < 0 || c.Part.Number >= c.Part.Of):
		return fmt.Errorf("load: there is no part %d of %d", c.Part.Number+1, c.Part.Of)
	}
	if _, err := ParseVerify(string(c.Verify)); err != nil {
		return err
	}
	names := make(map[string]bool)
	for i := range c.Tables {
		t := &c.Tables[i]
		if names[t.Name] {
			return fmt.Errorf("load: table %q is named twice", t.Name)
		}
		names[t.Name] = true
		if len(t.Columns) == 0 || t.Row == nil {
			return fmt.Errorf("load: table %q has no columns", t.Name)
		}
		for _, key := range t.Keys {
			if t.column(key) < 0 {
				return fmt.Errorf("load: table %q has no column %q, which its primary key names", t.Name, key)
			}
		}
	}
	return nil
}

// column is the index of the column called name, -1 if there is none.
func (t *Table) column(name string) int {
	return slices.IndexFunc(t.Columns, func(c protocol.Column) bool { return c.Name == name })
}
