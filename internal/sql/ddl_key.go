package sql

import "brunt/internal/plan"

// KeyLast reports whether a table fills faster if its primary key is made afterwards, as
// pgbench's initialization does: building an index once costs less than keeping it up to date.
func (f Flavor) KeyLast() bool { return f.product == PostgreSQL && !f.keyFirst }

// CreateTableWithoutKey is CreateTable without the primary key, for AddKey to make once the table
// is full.
func (f Flavor) CreateTableWithoutKey(t *plan.Table, tables []plan.Table) (stmt string, notices []Notice, err error) {
	return f.createTable(t, tables, false)
}

// AddKey writes the statement that makes t's primary key, in place of one that is there already.
// It is "" for a table without a primary key.
func (f Flavor) AddKey(t *plan.Table) string {
	if len(t.PrimaryKeys) == 0 {
		return ""
	}
	name := f.quote(t.Name + "_pkey")
	return "ALTER TABLE " + f.quote(t.Name) + " DROP CONSTRAINT IF EXISTS " + name +
		", ADD CONSTRAINT " + name + " PRIMARY KEY (" + f.quoteAll(t.PrimaryKeys) + ")"
}
