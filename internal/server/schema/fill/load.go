// Package fill fills tables with rows and checks them. It divides tables into chunks of rows, which several sessions
// load at the same time over all addresses. With a checkpoint, a load that was killed can be resumed. At the end fill
// queries the server for what it stores, and compares.
package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Table is a table to fill. It must exist. It must be empty unless a checkpoint says otherwise or Config.Replace is
// set.
type Table struct {
	Name    string
	Rows    uint64
	Columns []protocol.Column
	Keys    []string // columns of the primary key; a subset of Columns
	// Unique is a column of Keys whose value is different in every row; "" if there is none.
	Unique string
	// Row sets values, one for each column, to those of row number row. It must be safe for concurrent use.
	Row func(values []gen.Value, row uint64)
	// Filled means that the table has its rows already and is only checked.
	Filled bool
}

// SQL writes the queries for checks in the server's flavor of SQL.
type SQL interface {
	// CountRows returns a query whose single value is the number of rows.
	CountRows(table string) string
	// SelectAll returns a query for all rows, in any order.
	SelectAll(table string, columns []string) string
	// SelectByKey returns a query for the rows whose column key is between lo and hi, both included.
	SelectByKey(table string, columns []string, key string, lo, hi *gen.Value) string
	// SelectIn returns a query for the rows whose column key has one of the values.
	SelectIn(table string, columns []string, key string, values []gen.Value) string
	// MostRows returns how many rows with this number of columns a query may return; 0 means no limit.
	MostRows(columns int) uint64
}

// Check says how thoroughly a load is checked.
type Check string

// The levels of checks. Each includes those before it.
const (
	CheckNone   Check = "none"
	CheckCount  Check = "count"  // the number of rows of each table
	CheckSample Check = "sample" // rows spread over each table are also read back by key and compared
	CheckFull   Check = "full"   // all rows are also read back and compared by checksum
)

// ParseCheck returns the level with this name.
func ParseCheck(name string) (Check, error) {
	switch v := Check(name); v {
	case CheckNone, CheckCount, CheckSample, CheckFull:
		return v, nil
	}
	return "", fmt.Errorf("fill: unknown check %q: use none, count, sample or full", name)
}

// Config describes a load. Zero values mean the defaults given in the comments.
type Config struct {
	Driver  protocol.AdminDriver
	Targets []protocol.Target
	Tables  []Table
	SQL     SQL   // required unless Check is CheckNone
	Check   Check // default CheckCount

	Workers    int    // number of sessions over all addresses; default 4
	ChunkRows  uint64 // the most rows in a chunk; default 50 000
	Attempts   int    // attempts per chunk; default 3 for each address, at least 5
	SampleRows uint64 // rows of a table that CheckSample reads; default 100
	Replace    bool   // rows may exist already, so every chunk is loaded such that it replaces them

	// Part selects the chunks that this process loads. If Others is not nil, it has other processes load all chunks,
	// each process one Part. This process then only keeps the checkpoint, which records the number of parts, and
	// checks the whole load. An error is a *NotBegunError if no process has begun to load.
	Part   Part
	Others func(ctx context.Context, s *Shared) ([]TableReport, error)

	// Checkpoint, if not nil, records which chunks have been loaded. Plan identifies the rows: it must change when the
	// rows change, such as a fingerprint of the plan's tables. Seed must change with the rows too.
	Checkpoint Checkpoint
	Plan       string
	Seed       uint64

	// Loaded, if not nil, is called after all rows have been loaded and before they are checked.
	Loaded   func(ctx context.Context) error
	Progress func(Progress)   // called once a second and at the end of each table, never concurrently
	Now      func() time.Time // default time.Now
	// Pause waits after attempt number attempt (from 1) of a chunk or query, and before a check looks again at
	// rows that differ. The default starts with 50 ms and doubles up to 5 s. It returns an error if ctx is done.
	Pause func(ctx context.Context, attempt int) error
}

// Report is the result of a load.
type Report struct{ Tables []TableReport }

// TableReport is the result for one table.
type TableReport struct {
	Name     string
	Rows     uint64        // rows of the table; with Config.Part, rows of the part
	Resumed  uint64        // rows of these that an earlier run loaded, according to the checkpoint
	Chunks   int           // number of chunks
	Elapsed  time.Duration // from the start of the first chunk to the end of the last; 0 if no chunk was loaded
	RatePerS float64       // rows loaded by this run per second of Elapsed
	// Checksum is the sum of gen.ChecksumRow over all generated rows, in 16 hexadecimal digits; "" for a table with
	// Filled set.
	Checksum string
	Checked  Check  // the level of checks that succeeded
	Compared uint64 // number of rows that were read back and are equal
}

// Run loads all tables and then checks them. With an error it also returns a report of what was done before, except
// if another process failed.
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
	if err == nil && c.Check != CheckNone {
		err = j.checkTables(ctx)
	}
	return Report{j.reports()}, err
}

func (c Config) withDefaults() Config {
	c.Check = cmp.Or(c.Check, CheckCount)
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
		return errors.New("fill: no driver was given")
	case len(c.Targets) == 0:
		return errors.New("fill: there is no address: name at least one")
	case c.SQL == nil && c.Check != CheckNone:
		return errors.New("fill: the check needs an SQL flavor: give one, or ask for no check")
	case c.Part.Of > 0 && (c.Part.Number < 0 || c.Part.Number >= c.Part.Of):
		return fmt.Errorf("fill: there is no part %d of %d", c.Part.Number+1, c.Part.Of)
	}
	if _, err := ParseCheck(string(c.Check)); err != nil {
		return err
	}
	names := make(map[string]bool)
	for i := range c.Tables {
		t := &c.Tables[i]
		if names[t.Name] {
			return fmt.Errorf("fill: table %q is named twice", t.Name)
		}
		names[t.Name] = true
		if len(t.Columns) == 0 || t.Row == nil {
			return fmt.Errorf("fill: table %q has no columns", t.Name)
		}
		for _, key := range t.Keys {
			if t.column(key) < 0 {
				return fmt.Errorf("fill: table %q has no column %q, which its primary key names", t.Name, key)
			}
		}
	}
	return nil
}

// column returns the index of the column with this name, or -1.
func (t *Table) column(name string) int {
	return slices.IndexFunc(t.Columns, func(c protocol.Column) bool { return c.Name == name })
}
