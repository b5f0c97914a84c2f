// Package sql writes one workload's schema and statements for each flavor of SQL: PostgreSQL,
// Picodata, Tarantool, SQLite and MySQL. It is pure text and value mapping and does no I/O.
//
// The input is Picodata's own flavor, which is what the plan format is written in: types by the
// names of gen.Type, `$1::integer` casts, unquoted names in lower case. What a server lacks is
// ignored with one Notice where only cost or placement changes, and is an error where results
// would change.
package sql

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/message"
)

// Product is a server product that has a flavor of its own.
type Product uint8

// The products.
const (
	PostgreSQL Product = iota
	Picodata
	Tarantool
	SQLite
	MySQL // and MariaDB, TiDB
)

// String returns the product's name as driver.ServerInfo gives it.
func (p Product) String() string {
	return [...]string{"PostgreSQL", "Picodata", "Tarantool", "SQLite", "MySQL"}[p]
}

// Flavor writes SQL for one product. It is an immutable value, safe for concurrent use. The zero
// value is PostgreSQL's.
type Flavor struct {
	product  Product
	keyFirst bool // tables must have their primary key from the start
}

// For returns the flavor of the server that says it is product in version (driver.ServerInfo).
// Letter case doesn't matter; version may be empty. An unknown product, and a Tarantool older
// than 2, which has no SQL, are errors.
func For(product, version string) (Flavor, error) {
	switch strings.ToLower(product) {
	case "postgresql", "postgres":
		return Flavor{product: PostgreSQL}, nil
	case "cockroachdb", "yugabytedb":
		// Their rows are stored by the primary key, so it can't come later.
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

// Notice tells the user once a run about something that was ignored or mapped. Notices with one
// ID always have one text.
type Notice struct {
	ID   string          // stable, for records: "sql-engine-ignored"
	Text message.Message // what, and what that means
}

// Merge appends the notices of more whose ID isn't in list yet.
func Merge(list []Notice, more ...Notice) []Notice {
	for _, n := range more {
		if !slices.ContainsFunc(list, func(o Notice) bool { return o.ID == n.ID }) {
			list = append(list, n)
		}
	}
	return list
}

// quote returns name as a quoted identifier, which the flavor takes literally.
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

// text writes a text literal. MySQL's backslashes escape.
func (f Flavor) text(s string) string {
	if f.product == MySQL {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
