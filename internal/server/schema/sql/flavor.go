// Package sql writes the schema and statements of a workload for each flavor of SQL: PostgreSQL, Picodata, Tarantool,
// SQLite and MySQL. It converts texts and values, and does no I/O.
//
// The input is Picodata's flavor, in which plans are written: types with the names of gen.Type, casts such as
// `$1::integer`, and unquoted names in lower case. If a server lacks a feature that affects only cost or placement, the
// feature is ignored with one Notice. If it would change results, it is an error.
package sql

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/render/message"
)

// Product is a server product with a flavor of its own.
type Product uint8

// The products.
const (
	PostgreSQL Product = iota
	Picodata
	Tarantool
	SQLite
	MySQL // also MariaDB and TiDB
)

// String returns the product's name as in protocol.ServerInfo.
func (p Product) String() string {
	return [...]string{"PostgreSQL", "Picodata", "Tarantool", "SQLite", "MySQL"}[p]
}

// Flavor writes SQL for one product. It is immutable and safe for concurrent use. The zero value is PostgreSQL's.
type Flavor struct {
	product  Product
	keyFirst bool // tables need their primary key from the start
}

// For returns the flavor of a server with this product name and version, as in protocol.ServerInfo. Letter case doesn't
// matter. version may be empty. It returns an error for an unknown product and for Tarantool before version 2, which
// has no SQL.
func For(product, version string) (Flavor, error) {
	switch strings.ToLower(product) {
	case "postgresql", "postgres":
		return Flavor{product: PostgreSQL}, nil
	case "cockroachdb", "yugabytedb":
		// These servers store rows by the primary key, so it can't be added later.
		return Flavor{product: PostgreSQL, keyFirst: true}, nil
	case "picodata":
		return Flavor{product: Picodata}, nil
	case "sqlite":
		return Flavor{product: SQLite}, nil
	case "mysql", "mariadb", "tidb":
		return Flavor{product: MySQL}, nil
	case "tarantool":
		if strings.HasPrefix(version, "1.") {
			return Flavor{}, fmt.Errorf(
				"choose SQL flavor: Tarantool %s has no SQL: use Tarantool 2.6 or later, or requests other than SQL", version)
		}
		return Flavor{product: Tarantool}, nil
	}
	return Flavor{}, fmt.Errorf(
		"choose SQL flavor: no flavor of SQL is known for %q: use PostgreSQL, Picodata, Tarantool, SQLite, MySQL or MariaDB",
		product)
}

// Product returns the flavor's product.
func (f Flavor) Product() Product { return f.product }

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
