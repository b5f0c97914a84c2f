package fill

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// MismatchError is returned if the rows on a server aren't those that were loaded.
type MismatchError struct {
	Table string
	What  string
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("fill: table %q: %s: drop it (brunt schema down) and load again", e.Table, e.What)
}

// checkTables checks one table after the other.
func (j *job) checkTables(ctx context.Context) error {
	s := j.newSession(0)
	defer s.close()
	for i := range j.c.Tables {
		if err := j.c.settle(ctx, func() error { return j.checkCount(ctx, s, i) }); err != nil {
			return err
		}
		t := &j.tables[i]
		t.Checked = CheckCount
		if j.c.Check == CheckCount || t.Rows == 0 {
			t.Checked = j.c.Check
			continue
		}
		var err error
		if keys := j.c.sampleKeys(i); j.c.Check == CheckSample && keys != nil {
			err = j.checkSample(ctx, i, keys)
		} else {
			err = j.checkFull(ctx, i)
		}
		if err != nil {
			return err
		}
		t.Checked = j.c.Check
	}
	return nil
}

func (j *job) checkCount(ctx context.Context, s *session, table int) error {
	t := &j.c.Tables[table]
	var count uint64
	var answered bool
	err := s.query(ctx, t, j.c.SQL.CountRows(t.Name), func() { answered = false }, func(values []*string) error {
		if len(values) == 0 || values[0] == nil {
			return &protocol.Error{Class: protocol.Protocol, Text: "the count of rows has no value"}
		}
		n, err := strconv.ParseUint(strings.TrimSpace(*values[0]), 10, 64)
		if err != nil {
			return &protocol.Error{Class: protocol.Protocol, Text: fmt.Sprintf("the count of rows is %q", *values[0])}
		}
		count, answered = n, true
		return nil
	})
	if err != nil {
		return err
	}
	if !answered {
		return fmt.Errorf("fill: table %q: count rows: the server gave no answer", t.Name)
	}
	if count != t.Rows {
		return &MismatchError{t.Name, fmt.Sprintf("the server holds %d rows, %d were loaded", count, t.Rows)}
	}
	return nil
}

// query runs a statement, possibly several times. It calls start before the rows of each attempt.
func (s *session) query(ctx context.Context, t *Table, statement string, start func(),
	row func(values []*string) error) error {
	err := s.try(ctx, func(a protocol.Admin, _ int) error {
		start()
		return a.Query(ctx, statement, row)
	})
	if err != nil {
		return fmt.Errorf("fill: table %q: read back: %w", t.Name, err)
	}
	return nil
}

func (t *Table) columnNames() []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return names
}

// sampleKeys returns the numbers of the rows to sample, spread evenly from the first to the last. It returns nil if
// rows of the table can't be found by their first key column.
func (c *Config) sampleKeys(table int) []uint64 {
	t := &c.Tables[table]
	if len(t.Keys) == 0 {
		return nil
	}
	switch gen.Type(t.Columns[t.column(t.Keys[0])].Type) {
	case gen.TypeInteger, gen.TypeUnsigned, gen.TypeString, gen.TypeUUID:
	default:
		return nil
	}
	n := min(c.SampleRows, t.Rows)
	rows := make([]uint64, n)
	for i := range rows {
		if i > 0 {
			rows[i] = uint64(float64(t.Rows-1) * float64(i) / float64(n-1))
		}
	}
	return rows
}

// checkSample finds each sampled row by its first key column. If that isn't the whole key, the query may return
// several rows, and the generated one must be among them.
func (j *job) checkSample(ctx context.Context, table int, rows []uint64) error {
	t := &j.c.Tables[table]
	err := parallel(ctx, min(j.c.Workers, len(rows)), func(ctx context.Context, worker int) error {
		s := j.newSession(worker)
		defer s.close()
		hash := newRowHash(t.Columns)
		values := make([]gen.Value, len(t.Columns))
		for i := worker; i < len(rows); i += min(j.c.Workers, len(rows)) {
			t.Row(values, rows[i])
			err := j.c.settle(ctx, func() error { return s.compareRow(ctx, t, rows[i], values, hash) })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		j.tables[table].Compared += uint64(len(rows))
	}
	return err
}

// compareRow queries row number row by its first key column and compares it with values.
func (s *session) compareRow(ctx context.Context, t *Table, row uint64, values []gen.Value, hash *rowHash) error {
	want := hash.generated(values)
	read, found := 0, false
	key := &values[t.column(t.Keys[0])]
	statement := s.j.c.SQL.SelectByKey(t.Name, t.columnNames(), t.Keys[0], key, key)
	err := s.query(ctx, t, statement, func() { read, found = 0, false }, func(got []*string) error {
		read++
		found = found || hash.read(got) == want
		return nil
	})
	if err != nil || found {
		return err
	}
	return &MismatchError{t.Name, fmt.Sprintf("row %d, %s = %s, is not as generated (%d rows have this key)",
		row, t.Keys[0], key.AppendText(nil), read)}
}
