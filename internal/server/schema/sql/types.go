package sql

import (
	"fmt"
	"math"
	"unicode/utf8"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// typeNames are the names of column types, in the order of the products.
//
// PostgreSQL: integers are BIGINT, because Picodata's INTEGER has 64 bits and plans use its range. DATETIME is
// TIMESTAMPTZ, because values are instants. Tarantool's SQL (2.6) has no DECIMAL, DATETIME, UUID or JSON. NUMBER,
// INTEGER (µs since the epoch) and STRING keep their values comparable. SQLite stores by affinity; datetimes are texts
// in UTC with a fixed width. MySQL: datetimes are in UTC. Texts in keys or indexes need a length, which mysqlText
// provides.
var typeNames = map[gen.Type][5]string{
	gen.TypeInteger:  {"BIGINT", "INTEGER", "INTEGER", "INTEGER", "BIGINT"},
	gen.TypeUnsigned: {"BIGINT", "UNSIGNED", "UNSIGNED", "INTEGER", "BIGINT UNSIGNED"},
	gen.TypeDouble:   {"DOUBLE PRECISION", "DOUBLE", "DOUBLE", "REAL", "DOUBLE"},
	gen.TypeDecimal:  {"NUMERIC", "DECIMAL", "NUMBER", "NUMERIC", "DECIMAL(38,18)"},
	gen.TypeString:   {"TEXT", "TEXT", "STRING", "TEXT", "LONGTEXT"},
	gen.TypeBoolean:  {"BOOLEAN", "BOOLEAN", "BOOLEAN", "INTEGER", "BOOLEAN"},
	gen.TypeDatetime: {"TIMESTAMPTZ", "DATETIME", "INTEGER", "TEXT", "DATETIME(6)"},
	gen.TypeUUID:     {"UUID", "UUID", "STRING", "TEXT", "CHAR(36)"},
	gen.TypeJSON:     {"JSONB", "JSON", "STRING", "TEXT", "JSON"},
}

const wideUnsigned = "NUMERIC(20,0)"

func isWide(s *gen.Spec) bool {
	return s.Type == gen.TypeUnsigned && s.HasRange && uint64(s.IntHi) > math.MaxInt64
}

// columnType returns the DDL type of a column. References are resolved in tables.
func (f Flavor) columnType(s *gen.Spec, tables []plan.Table) (name string, notices []Notice, err error) {
	s = plan.Resolve(s, tables)
	t := s.Holds()
	switch {
	case s.Type == gen.TypeReference:
		return "", nil, fmt.Errorf("reference to %s.%s, which isn't in the plan's tables or goes round in a circle", s.Table,
			s.Column)
	case s.Type == gen.TypeConstant && t == "":
		return "", nil, fmt.Errorf("a column of the constant %v has no type: give it a type", s.Constant)
	}
	if isWide(s) {
		switch f.product {
		case PostgreSQL:
			return wideUnsigned, nil, nil
		case SQLite:
			return "", nil, fmt.Errorf("SQLite has no integers above %d: lower the column's range", int64(math.MaxInt64))
		}
	}
	names, ok := typeNames[t]
	if !ok {
		return "", nil, fmt.Errorf("unknown type %q", t)
	}
	if f.product == MySQL && t == gen.TypeString {
		return mysqlText(s), f.typeNotice(t), nil
	}
	return names[f.product], f.typeNotice(t), nil
}

// mysqlText returns the type of a text column that holds all values of a spec and distinguishes upper and lower case. A
// row has room for up to 16 000 characters of four bytes.
func mysqlText(s *gen.Spec) string {
	const usual, most = 16, 16000
	n := int64(usual)
	if s.HasRange {
		n = max(s.IntHi, 1)
	}
	if c, ok := s.Constant.(string); ok {
		n = int64(max(utf8.RuneCountInString(c), 1))
	}
	name := "LONGTEXT"
	if n <= most {
		name = fmt.Sprintf("VARCHAR(%d)", n)
	}
	return name + " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
}

// typeNotice returns a notice if the product stores a type as another one.
func (f Flavor) typeNotice(t gen.Type) []Notice {
	as, mapped := storedAs[f.product][t]
	if !mapped {
		return nil
	}
	return []Notice{{
		ID: "sql-" + string(t) + "-mapped",
		Text: message.New("sql-mapped", message.Text("product", f.product.String()), message.Text("type", string(t)),
			message.Nested("as", as)),
	}}
}

// storedAs says how each product stores the types that it doesn't have.
var storedAs = map[protocol.Flavor]map[gen.Type]message.Message{
	Tarantool: {
		gen.TypeDatetime: message.New("sql-mapped.microseconds"),
		gen.TypeDecimal:  message.New("sql-mapped.double"),
		gen.TypeUUID:     message.New("sql-mapped.uuid"),
		gen.TypeJSON:     message.New("sql-mapped.strings"),
	},
	MySQL: {gen.TypeUUID: message.New("sql-mapped.uuid")},
	SQLite: {
		gen.TypeDatetime: message.New("sql-mapped.utc"),
		gen.TypeDecimal:  message.New("sql-mapped.double"),
	},
}
