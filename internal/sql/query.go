package sql

import (
	"strconv"
	"strings"

	"brunt/internal/gen"
)

// CountRows writes a query whose one value is the number of table's rows.
func (f Flavor) CountRows(table string) string { return "SELECT COUNT(*) FROM " + f.quote(table) }

// HasTable writes a query whose one value is 1 if table exists and 0 otherwise.
func (f Flavor) HasTable(table string) string {
	switch f.product {
	case Picodata:
		return `SELECT COUNT(*) FROM "_pico_table" WHERE "name" = ` + f.text(table)
	case Tarantool:
		return `SELECT COUNT(*) FROM "_space" WHERE "name" = ` + f.text(table)
	case SQLite:
		return "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = " + f.text(table)
	case MySQL:
		return "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = " + f.text(table)
	}
	return "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass(" + f.text(f.quote(table)) + ") AND relkind IN ('r', 'p')"
}

// SelectRows writes a query for columns of table's rows in the order of keys. With after, which
// holds one value for each key, only rows behind it in that order come; limit 0 means all.
// The comparison is spelt out by column because not every flavor compares rows.
func (f Flavor) SelectRows(table string, columns, keys []string, after []gen.Value, limit uint64) string {
	var b strings.Builder
	b.WriteString("SELECT " + f.quoteAll(columns) + " FROM " + f.quote(table))
	if len(after) > 0 {
		b.WriteString(" WHERE ")
		for i := range after {
			if i > 0 {
				b.WriteString(" OR ")
			}
			b.WriteString("(")
			for k := 0; k < i; k++ {
				b.WriteString(f.quote(keys[k]) + " = " + f.Literal(&after[k]) + " AND ")
			}
			b.WriteString(f.quote(keys[i]) + " > " + f.Literal(&after[i]) + ")")
		}
	}
	if len(keys) > 0 {
		b.WriteString(" ORDER BY " + f.quoteAll(keys))
	}
	if limit > 0 {
		b.WriteString(" LIMIT " + strconv.FormatUint(limit, 10))
	}
	return b.String()
}

// SelectByKey writes a query for columns of the rows whose first key column lies between two
// values, both included, in the order of keys.
func (f Flavor) SelectByKey(table string, columns, keys []string, lo, hi *gen.Value) string {
	return "SELECT " + f.quoteAll(columns) + " FROM " + f.quote(table) +
		" WHERE " + f.quote(keys[0]) + " BETWEEN " + f.Literal(lo) + " AND " + f.Literal(hi) +
		" ORDER BY " + f.quoteAll(keys)
}
