package runner

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"brunt/internal/gen"
	"brunt/internal/load"
	"brunt/internal/plan"
	"brunt/internal/workload"
)

// loadTable is a table of the plan as the loader needs it, values as the server takes them.
func (s *stand) loadTable(t *plan.Table) (load.Table, error) {
	row, columns, err := workload.Rows(s.plan, t)
	if err != nil {
		return load.Table{}, &UsageError{err}
	}
	out := load.Table{Name: t.Name, Rows: t.Rows, Columns: columns, Keys: t.PrimaryKeys, Row: s.flavor.WrapRow(row)}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Unique && out.Unique == "" && slices.Contains(t.PrimaryKeys, c.Name) {
			out.Unique = c.Name
		}
	}
	return out, nil
}

// fingerprint differs when the rows of the tables would: it covers their names and columns, and
// the content of rows from their whole length.
func fingerprint(tables []load.Table) string {
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
