package sql

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
)

// typeWords reads the name of a type from list[i:], such as "double precision" or "varchar(10)[]". base is the name in
// lower case with single spaces and without lengths. whole is the text as written. next is the index after it, or i if
// there is no type.
func typeWords(list []token, i int) (base, whole string, next int) {
	k := after(list, i)
	if k == len(list) || list[k].Kind != word || isReserved(list[k].Text) && !list[k].Is("array") {
		return "", "", i
	}
	start := k
	base = strings.ToLower(list[k].Text)
	k++
	follow := func(words ...string) bool {
		at := k
		for _, w := range words {
			at = after(list, at)
			if at == len(list) || !list[at].Is(w) {
				return false
			}
			at++
		}
		k = at
		base += " " + strings.Join(words, " ")
		return true
	}
	switch base {
	case "double":
		follow("precision")
	case "character", "char", "bit":
		follow("varying")
	}
	k = lengths(list, k)
	if base == "timestamp" || base == "time" {
		_ = follow("with", "time", "zone") || follow("without", "time", "zone")
	}
	for k+1 < len(list) && list[k].IsSign("[") {
		end := k + 1
		if list[end].Kind == number && end+1 < len(list) {
			end++
		}
		if !list[end].IsSign("]") {
			break
		}
		k = end + 1
		base += "[]"
	}
	return base, join(list[start:k]), k
}

// lengths returns the index after "(10)" or "(10, 2)".
func lengths(list []token, k int) int {
	i := after(list, k)
	if i == len(list) || !list[i].IsSign("(") {
		return k
	}
	for i++; i < len(list); i++ {
		switch {
		case list[i].Kind == number, list[i].Kind == space, list[i].IsSign(","):
		case list[i].IsSign(")"):
			return i + 1
		default:
			return k
		}
	}
	return k
}

// castTypes are the plan's types by the names that statements use.
var castTypes = map[string]gen.Type{
	"integer": gen.TypeInteger, "int": gen.TypeInteger, "bigint": gen.TypeInteger, "int8": gen.TypeInteger,
	"smallint": gen.TypeInteger,
	"int2":     gen.TypeInteger, "int4": gen.TypeInteger, "mediumint": gen.TypeInteger, "tinyint": gen.TypeInteger,
	"unsigned": gen.TypeUnsigned,
	"double":   gen.TypeDouble, "double precision": gen.TypeDouble, "float8": gen.TypeDouble,
	"float": gen.TypeDouble, "real": gen.TypeDouble, "float4": gen.TypeDouble,
	"decimal": gen.TypeDecimal, "numeric": gen.TypeDecimal, "number": gen.TypeDecimal,
	"string": gen.TypeString, "text": gen.TypeString, "varchar": gen.TypeString, "character varying": gen.TypeString,
	"boolean": gen.TypeBoolean, "bool": gen.TypeBoolean, "uuid": gen.TypeUUID, "json": gen.TypeJSON, "jsonb": gen.TypeJSON,
	"datetime": gen.TypeDatetime, "timestamptz": gen.TypeDatetime, "timestamp with time zone": gen.TypeDatetime,
	"timestamp": gen.TypeDatetime, "timestamp without time zone": gen.TypeDatetime,
}

// typeText returns the flavor's name for a type in a cast. A type that the flavor has is returned as written.
func (f Flavor) typeText(base, whole string, names *Names) (text string, notices []Notice) {
	t, ok := castTypes[base]
	if f.product == Picodata || !ok {
		return whole, nil
	}
	if f.product == MySQL {
		return mysqlCast(t), nil
	}
	if f.product != PostgreSQL {
		return typeNames[t][f.product], f.typeNotice(t)
	}
	if base == "unsigned" && names != nil && names.wide {
		return "numeric(20,0)", nil
	}
	if text, renamed := postgresNames[base]; renamed {
		return text, nil
	}
	return whole, nil
}

// postgresNames are PostgreSQL's names for types that it doesn't have, or that have another meaning there.
var postgresNames = map[string]string{
	"integer": "bigint", "int": "bigint", "unsigned": "bigint", "double": "double precision", "number": "numeric",
	"string": "text", "datetime": "timestamptz", "json": "jsonb",
}

// mysqlCast returns the name of a type in MySQL's CAST, which differs from the names in DDL.
func mysqlCast(t gen.Type) string {
	switch t {
	case gen.TypeInteger, gen.TypeBoolean:
		return "SIGNED"
	case gen.TypeUnsigned:
		return "UNSIGNED"
	case gen.TypeString, gen.TypeUUID, gen.TypeJSON:
		return "CHAR"
	}
	return typeNames[t][MySQL]
}

// datetimeLiteral converts a text literal that is cast to a datetime into the flavor's value.
func (f Flavor) datetimeLiteral(literal string) (string, error) {
	if f.product != Tarantool && f.product != SQLite && f.product != MySQL || len(literal) < 2 || literal[0] != '\'' {
		return literal, nil
	}
	body := literal[1 : len(literal)-1]
	t, ok := gen.ParseTime(body)
	if !ok {
		return "", fmt.Errorf("%s is not a datetime that %s can be given: write it as '2006-01-02T15:04:05Z'", literal,
			f.product)
	}
	if f.product == Tarantool {
		return strconv.FormatInt(t.UnixMicro(), 10), nil
	}
	if f.product == MySQL {
		return "TIMESTAMP'" + t.UTC().Format(mysqlTime) + "'", nil
	}
	return "'" + t.UTC().Format(timeFormat) + "'", nil
}

func join(list []token) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.Text)
	}
	return b.String()
}
