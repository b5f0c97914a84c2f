package postgres

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
)

// gin is the access method of inverted indexes: PostgreSQL's documentation, "GIN Indexes".
const gin = "gin"

// trigramClass is the operator class of pg_trgm that serves patterns without a fixed beginning.
const trigramClass = " gin_trgm_ops"

// invertedOperators are the operators that the usual operator classes of GIN serve.
var invertedOperators = []string{"@>", "?", "?|", "?&", "@?", "@@", "&&", "<@"}

// trigrams is the extension with trigramClass, as far as this database has it.
const (
	trigramsAbsent    = ""          // it isn't installed on the server
	trigramsAvailable = "available" // CREATE EXTENSION is possible
	trigramsThere     = "there"
)

const askTrigrams = `select case when installed_version is null then 'available' else 'there' end as trigrams
	from pg_available_extensions where name = 'pg_trgm'`

// inverted returns the key of a GIN index that serves a condition on a table, or "" if there is none.
func (c *catalog) inverted(k *condition, table string) string {
	if k.otherColumn != "" || k.varies {
		return ""
	}
	kind := c.columns[table+"."+k.column].kind
	key := quoteWhereNeeded(k.column)
	if k.expression != "" {
		key = "(" + k.expression + ")"
	}
	switch {
	case slices.Contains(invertedOperators, k.operator):
		if k.expression == "" && (kind == "jsonb" || kind == "tsvector" || strings.HasSuffix(kind, "[]")) {
			return key
		}
	case k.operator == "~~" || k.operator == "~~*":
		words := kind == "text" || strings.HasPrefix(kind, "character varying")
		if words && beginning(k.literal) == "" && c.trigrams != trigramsAbsent {
			return key + trigramClass
		}
	}
	return ""
}

// needs returns the statement that an index with these keys needs to be executed before, or "".
func needs(keys string) string {
	if strings.Contains(keys, trigramClass) {
		return "CREATE EXTENSION IF NOT EXISTS pg_trgm"
	}
	return ""
}

// triedTable is the name of the empty copies of tables on which indexes are tried.
const triedTable = "brunt_tried_table"

// possible reports whether the server accepts an index on a table. on is what follows the table's name in CREATE INDEX.
// The index is created on an empty temporary copy of the table, in a transaction that is rolled back: nothing is locked,
// and nothing remains. If that can't be tried (on a replica, without rights), it returns true.
func (s *session) possible(ctx context.Context, table, on string) bool {
	if _, err := s.plain(ctx, "begin read write"); err != nil {
		_, _ = s.plain(ctx, "rollback")
		return true
	}
	defer func() { _, _ = s.plain(ctx, "rollback") }()
	if _, err := s.plain(ctx, "create temp table "+triedTable+" (like "+sqltext.QuoteTable(table)+") on commit drop"); err != nil {
		return true
	}
	if first := needs(on); first != "" {
		if _, err := s.plain(ctx, first); err != nil {
			return true
		}
	}
	_, err := s.plain(ctx, "create index on "+triedTable+" "+on)
	return err == nil
}
