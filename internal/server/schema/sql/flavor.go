// Package sql writes the schema and statements of a workload for each flavor of SQL: PostgreSQL, Picodata, Tarantool,
// SQLite and MySQL. It converts texts and values, and does no I/O.
//
// The input is Picodata's flavor, in which plans are written: types with the names of gen.Type, casts such as
// `$1::integer`, and unquoted names in lower case. If a server lacks a feature that affects only cost or placement,
// the feature is ignored with one Notice. If it would change results, it is an error.
package sql

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// The products with a flavor of their own.
const (
	PostgreSQL = protocol.FlavorPostgreSQL
	Picodata   = protocol.FlavorPicodata
	Tarantool  = protocol.FlavorTarantool
	SQLite     = protocol.FlavorSQLite
	MySQL      = protocol.FlavorMySQL
)

// Flavor writes SQL for one product. It is immutable and safe for concurrent use. The zero value is PostgreSQL's.
type Flavor struct {
	product  protocol.Flavor
	keyFirst bool // tables need their primary key from the start
}

// For returns the flavor of a server with this product name and version, as in protocol.ServerInfo, among those that
// the server's protocol declares. version may be empty. It returns an error for a server without SQL.
func For(servers []protocol.SQLServer, product, version string) (Flavor, error) {
	var known []string
	for _, of := range servers {
		if of.Product != "" && !strings.EqualFold(of.Product, product) {
			known = append(known, of.Product)
			continue
		}
		if of.Without != "" && strings.HasPrefix(version, of.Without) {
			return Flavor{}, fmt.Errorf("choose SQL flavor: %s %s has no SQL: use a later version, or requests other than SQL",
				product, version)
		}
		return Flavor{product: of.Flavor, keyFirst: of.KeyFirst}, nil
	}
	if known == nil {
		return Flavor{}, fmt.Errorf("choose SQL flavor: %s isn't asked in SQL: use requests other than SQL", product)
	}
	return Flavor{}, fmt.Errorf("choose SQL flavor: no flavor of SQL is known for %q, only for %s", product,
		strings.Join(known, ", "))
}

// Product returns the flavor's product.
func (f Flavor) Product() protocol.Flavor { return f.product }

// Notice says once per run that something was ignored or mapped. Notices with the same ID have the same text.
type Notice struct {
	ID   string          // doesn't change between versions: "sql-engine-ignored"
	Text message.Message // what was ignored or mapped, and the consequence
}

// Merge appends those notices of more whose ID isn't in list yet.
func Merge(list []Notice, more ...Notice) []Notice {
	for _, n := range more {
		if !slices.ContainsFunc(list, func(o Notice) bool { return o.ID == n.ID }) {
			list = append(list, n)
		}
	}
	return list
}

// quote returns name as a quoted identifier.
func (f Flavor) quote(name string) string {
	mark := `"`
	if f.product == MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// hasSchemas reports whether a table of the product may be in a schema, which its name begins with: a database in
// MySQL.
func (f Flavor) hasSchemas() bool { return f.product == PostgreSQL || f.product == MySQL }

// path returns the schema of a table, "" if its name has none, and the table's own name. Products without schemas have
// names with dots.
func (f Flavor) path(table string) (schema, name string) {
	parts := sqltext.Path(table)
	switch {
	case len(parts) == 1:
		return "", parts[0]
	case !f.hasSchemas():
		return "", table
	}
	return strings.Join(parts[:len(parts)-1], "."), parts[len(parts)-1]
}

// quoteTable returns the name of a table, which may be in a schema, as quoted identifiers.
func (f Flavor) quoteTable(table string) string {
	schema, name := f.path(table)
	if schema == "" {
		return f.quote(name)
	}
	return f.quote(schema) + "." + f.quote(name)
}

func (f Flavor) quoteAll(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = f.quote(n)
	}
	return strings.Join(q, ", ")
}

// text returns a text literal. In MySQL, backslashes are escape characters.
func (f Flavor) text(s string) string {
	if f.product == MySQL {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
