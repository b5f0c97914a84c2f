package fill

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Part is a share of a load's chunks: each Of-th, counted over all tables, beginning with number Number, from 0.
// The zero value is all of them.
type Part struct {
	Number int `json:"number"`
	Of     int `json:"of"`
}

func (p Part) has(chunk int) bool { return p.Of == 0 || chunk%p.Of == p.Number }

// File is the checkpoint of the part beside that of the whole load, whole.
func (p Part) File(whole string) string { return fmt.Sprintf("%s.%d-of-%d", whole, p.Number+1, p.Of) }

// Shared is a load that other processes do.
type Shared struct {
	ID      string   // of the load, random: the same when it is resumed
	Resumed bool     // an earlier run has begun it: rows may be there
	Tables  []string // to be filled
	// Told is called with the rows that are in place, those of an earlier run included. One call at a time.
	Told func(rows uint64)
}

// loadByOthers has other processes load the chunks, and takes their reports together.
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
					return fmt.Errorf("load: table %q: checksum %q of a part is no 64-bit number in hex", p.Name, p.Checksum)
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
			return fmt.Errorf("load: table %q: the parts have %d rows together, not %d", t.Name, loaded[i], t.Rows)
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

// toldByOthers passes on the progress of all parts together.
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

// countPart has the report of a part say how many rows and chunks are its own.
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
