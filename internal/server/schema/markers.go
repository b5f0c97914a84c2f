package schema

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
	"brunt/internal/server/schema/fill"
	"brunt/internal/server/schema/sql"
	"brunt/internal/server/target"
)

// The values of sql.Marker's Origin and State.
const (
	originCreated   = "created"
	originFilled    = "filled"
	stateUnfinished = "unfinished"
	stateComplete   = "complete"
)

// markers are the rows of a server's sql.MarkerTable. If the table can't be read or written, brunt works without
// markers and adds one notice to the system's.
type markers struct {
	exists bool
	known  bool // the markers could be read, or the table doesn't exist yet
	of     map[string]sql.Marker
}

func (s *database) readMarkers(ctx context.Context, a protocol.Admin) markers {
	m := markers{of: map[string]sql.Marker{}}
	n, err := number(ctx, a, s.Flavor.HasTable(sql.MarkerTable))
	if m.exists = n > 0; err == nil && m.exists {
		err = a.Query(ctx, s.Flavor.ReadMarkers(), func(row []*string) error {
			var one sql.Marker
			one.Read(row)
			if one.State != stateUnfinished && one.State != stateComplete { // SQLite reads missing columns as texts
				return fmt.Errorf("its row %q isn't brunt's", one.Name)
			}
			m.of[one.Name] = one
			return nil
		})
	}
	if m.known = err == nil; err != nil {
		s.unmarked(err)
	}
	return m
}

func (s *database) unmarked(err error) {
	s.Notices = sql.Merge(s.Notices, sql.Notice{ID: "tables-unmarked",
		Text: message.New("tables-unmarked", message.Text("table", sql.MarkerTable), message.Text("error", err.Error()))})
}

// markUnfinished writes a marker for t, whose rows are about to be loaded. A marker that exists keeps its origin. It
// writes none if the markers couldn't be read: a table of that name may be the user's.
func (s *database) markUnfinished(ctx context.Context, a protocol.Admin, m *markers, t *plan.Table,
	origin string) error {
	if !m.known {
		return nil
	}
	hash, err := s.fingerprintOf(t)
	if err != nil {
		return err
	}
	if old, ok := m.of[t.Name]; ok {
		origin = old.Origin
	}
	mark := sql.Marker{
		Name: t.Name, Origin: origin, State: stateUnfinished, Seed: strconv.FormatUint(s.Plan.Seed, 10),
		Rows: strconv.FormatUint(t.Rows, 10), Plan: hash, Brunt: s.version, Since: time.Now().UTC().Format(time.RFC3339),
	}
	if err := s.addMarker(ctx, a, m, &mark); err != nil {
		s.unmarked(err)
		return nil
	}
	m.of[t.Name] = mark
	return nil
}

// addMarker replaces the table's marker. It tries up to three times, because another brunt process may create or drop
// the table of markers at the same time.
func (s *database) addMarker(ctx context.Context, a protocol.Admin, m *markers, mark *sql.Marker) (err error) {
	const tries = 3
	for range tries {
		if !m.exists {
			_, err = a.Exec(ctx, s.Flavor.CreateMarkers())
		} else {
			_, err = a.Exec(ctx, s.Flavor.RemoveMarkers([]string{mark.Name}))
		}
		if err == nil {
			_, err = a.Exec(ctx, s.Flavor.AddMarker(mark))
		}
		n, again := number(ctx, a, s.Flavor.HasTable(sql.MarkerTable))
		m.exists = n > 0
		if err == nil || again != nil {
			return err
		}
	}
	return err
}

// markComplete marks tables as complete: they have all rows and indexes, and have been checked.
func (s *database) markComplete(ctx context.Context, a protocol.Admin, m *markers, tables []*plan.Table) {
	var names []string
	for _, t := range tables {
		if _, ok := m.of[t.Name]; ok {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	if _, err := a.Exec(ctx, s.Flavor.FinishMarkers(names)); err != nil {
		s.unmarked(err)
	}
}

// unmark removes the markers of tables that have been dropped. If no marker is left, it also drops the table of
// markers. It does nothing if the markers couldn't be read.
func (s *database) unmark(ctx context.Context, a protocol.Admin, m *markers, names []string) error {
	if !m.exists || !m.known || len(names) == 0 {
		return nil
	}
	if _, err := a.Exec(ctx, s.Flavor.RemoveMarkers(names)); err != nil {
		return fmt.Errorf("table %s still names what was dropped: %w", sql.MarkerTable, err)
	}
	left, err := number(ctx, a, s.Flavor.CountRows(sql.MarkerTable))
	if drop := s.Flavor.DropMarkers(); err == nil && left == 0 && drop != "" {
		// This fails if another brunt process has already dropped the table, or has begun to use it.
		_, _ = a.Exec(ctx, drop)
	}
	return nil
}

// fingerprintVersion is the prefix of a marker's fingerprint. It changes whenever the algorithm gives the same rows
// another fingerprint.
const fingerprintVersion = "1:"

func (s *database) fingerprintOf(t *plan.Table) (string, error) {
	lt, err := s.loadTable(t)
	if err != nil {
		return "", err
	}
	return fingerprintVersion + fingerprint([]fill.Table{lt}), nil
}

// loadTable returns a table of the plan as fill needs it. Its rows have values converted for the server.
func (s *database) loadTable(t *plan.Table) (fill.Table, error) {
	row, columns, err := workload.Rows(s.Plan, t)
	if err != nil {
		return fill.Table{}, &target.UsageError{Err: err}
	}
	out := fill.Table{Name: t.Name, Rows: t.Rows, Columns: columns, Keys: t.PrimaryKeys, Row: s.Flavor.WrapRow(row)}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Unique && out.Unique == "" && slices.Contains(t.PrimaryKeys, c.Name) {
			out.Unique = c.Name
		}
	}
	return out, nil
}

// fingerprint returns a hash that changes when the tables or their rows change. It covers the names, columns and keys
// of the tables, and 64 rows spread evenly over each table.
func fingerprint(tables []fill.Table) string {
	const rows = 64
	h := fnv.New64a()
	for i := range tables {
		t := &tables[i]
		fmt.Fprintf(h, "%q %d %q %q", t.Name, t.Rows, t.Columns, t.Keys)
		values := make([]gen.Value, len(t.Columns))
		for k := range min(rows, t.Rows) {
			t.Row(values, k*(t.Rows/min(rows, t.Rows)))
			fmt.Fprintf(h, " %x", gen.ChecksumRow(values))
		}
	}
	return strconv.FormatUint(h.Sum64(), 16)
}
