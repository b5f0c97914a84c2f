package sql

import (
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

// SelectAll writes a query for columns of all of table's rows, in any order.
func (f Flavor) SelectAll(table string, columns []string) string {
	return "SELECT " + f.quoteAll(columns) + " FROM " + f.quote(table)
}

// SelectByKey writes a query for columns of the rows whose column key lies between two values, both
// included, in any order.
func (f Flavor) SelectByKey(table string, columns []string, key string, lo, hi *gen.Value) string {
	return f.SelectAll(table, columns) + " WHERE " + f.quote(key) + " BETWEEN " + f.Literal(lo) + " AND " + f.Literal(hi)
}

// SelectIn writes a query for columns of the rows that have one of values in the column key, in any
// order.
func (f Flavor) SelectIn(table string, columns []string, key string, values []gen.Value) string {
	literals := make([]string, len(values))
	for i := range values {
		literals[i] = f.Literal(&values[i])
	}
	return f.SelectAll(table, columns) + " WHERE " + f.quote(key) + " IN (" + strings.Join(literals, ", ") + ")"
}

// MostRows is how many rows of so many columns one query may ask for; 0 means any number. Picodata
// executes at most 45 000 steps of its virtual machine a statement (sql_vdbe_opcode_max): about
// columns + 5 a row, and more to find it by its key. It moves at most 5000 rows (sql_motion_row_max).
func (f Flavor) MostRows(columns int) uint64 {
	const steps, most = 45_000, 5000
	if f.product != Picodata {
		return 0
	}
	return uint64(min(max(steps/(2*(columns+12)), 1), most))
}

// Transactions reports whether what is between BEGIN and COMMIT is done as a whole or not at all.
// Picodata accepts both and undoes nothing.
func (f Flavor) Transactions() bool { return f.product != Picodata }

// Analyze writes the statement that makes the planner's statistics of table anew; "" where the server has
// none or keeps them by itself. Cheap: PostgreSQL and MySQL read a sample of the rows.
func (f Flavor) Analyze(table string) string {
	switch f.product {
	case PostgreSQL, SQLite:
		return "ANALYZE " + f.quote(table)
	case MySQL:
		return "ANALYZE TABLE " + f.quote(table)
	}
	return ""
}

// Greatest writes a query whose one value is the greatest that table has in column, null without rows.
func (f Flavor) Greatest(table, column string) string {
	return "SELECT MAX(" + f.quote(column) + ") FROM " + f.quote(table)
}
