package fill

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Part is a subset of a load's chunks: every Of-th chunk, counted over all tables, starting with chunk Number (from 0).
// The zero value is all chunks.
type Part struct {
	Number int `json:"number"`
	Of     int `json:"of"`
}

func (p Part) has(chunk int) bool { return p.Of == 0 || chunk%p.Of == p.Number }

// File returns the path of the part's checkpoint, which is in the same folder as the checkpoint of the whole load.
func (p Part) File(whole string) string { return fmt.Sprintf("%s.%d-of-%d", whole, p.Number+1, p.Of) }

// Shared describes a load that other processes do.
type Shared struct {
	ID      string   // random; stays the same when the load is resumed
	Resumed bool     // an earlier run began the load, so rows may exist
	Tables  []string // names of the tables to fill
	// Told must be called with the number of rows loaded so far, including rows of an earlier run. Calls must not
	// overlap.
	Told func(rows uint64)
}

// NotBegunError says that Config.Others failed before any process loaded a row.
type NotBegunError struct{ Err error }

// Error implements error.
func (e *NotBegunError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *NotBegunError) Unwrap() error { return e.Err }

// loadByOthers has other processes load the chunks, and adds up their reports.
func (j *job) loadByOthers(ctx context.Context) error {
	began := j.c.Now()
	s := &Shared{ID: j.id, Resumed: j.resumed, Told: j.toldByOthers(began)}
	for i := range j.c.Tables {
		if t := &j.c.Tables[i]; !t.Filled {
			s.Tables = append(s.Tables, t.Name)
		}
	}
	if len(s.Tables) == 0 {
		return nil
	}
	parts, err := j.c.Others(ctx, s)
	if err != nil {
		return err
	}
	loaded := make([]uint64, len(j.tables))
	for _, p := range parts {
		for i := range j.tables {
			if t := &j.tables[i]; t.Name == p.Name {
				sum, err := strconv.ParseUint(p.Checksum, 16, 64)
				if err != nil {
					return fmt.Errorf("fill: table %q: checksum %q of a part is no 64-bit number in hex", p.Name, p.Checksum)
				}
				t.sum += sum
				t.Resumed += p.Resumed
				loaded[i] += p.Rows
				t.started, t.ended = began, later(t.ended, began.Add(p.Elapsed))
			}
		}
	}
	for i := range j.tables {
		if t := &j.tables[i]; !j.c.Tables[i].Filled && loaded[i] != t.Rows {
			return fmt.Errorf("fill: table %q: the parts have %d rows together, not %d", t.Name, loaded[i], t.Rows)
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// toldByOthers returns a function that reports the combined progress of all parts.
func (j *job) toldByOthers(began time.Time) func(rows uint64) {
	first, total, table := uint64(0), uint64(0), ""
	for i := range j.c.Tables {
		if t := &j.c.Tables[i]; !t.Filled {
			total += t.Rows
			table = t.Name
		}
	}
	told := false
	return func(rows uint64) {
		if !told {
			told, first = true, rows
		}
		if j.c.Progress == nil {
			return
		}
		said := Progress{Table: table, Done: rows, Total: total, AllDone: rows, AllTotal: total}
		if s := j.c.Now().Sub(began).Seconds(); s > 0 {
			said.RatePerS = float64(rows-min(rows, first)) / s
		}
		if said.RatePerS > 0 {
			said.Left = time.Duration(float64(total-min(rows, total)) / said.RatePerS * float64(time.Second))
		}
		j.c.Progress(said)
	}
}

// countPart sets the numbers of rows and chunks in the report of a part to those of the part.
func (j *job) countPart() {
	if j.c.Part.Of == 0 || j.c.Others != nil {
		return
	}
	for i := range j.tables {
		j.tables[i].Rows, j.tables[i].Chunks = 0, 0
	}
	for i := range j.chunks {
		t := &j.tables[j.chunks[i].table]
		t.Rows += j.chunks[i].rows
		t.Chunks++
	}
}
