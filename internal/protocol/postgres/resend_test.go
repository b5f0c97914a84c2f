package postgres

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// storedValues are values of the server's types, as literals of psql.
func storedValues() map[string][]string {
	return map[string][]string{
		"smallint": {"-32768"}, "integer": {"2147483647"}, "bigint": {"-9223372036854775808"}, "oid": {"4294967295"},
		"real": {"0.1", "'-Infinity'", "'NaN'", "3.4028235e38"}, "double precision": {"0.1", "'Infinity'", "5e-324"},
		"numeric": {"12345678901234567890.12345678901234567890", "1e30", "1e-30", "-0.00", "'NaN'", "'-Infinity'",
			"99999999999999999999999999999999999999"},
		"numeric(4,-2)": {"123456"}, "money": {"'-12.34'"}, "boolean": {"true"},
		"text": {"''", `E'\\000 \'"{}ж\n'`}, "char(5)": {"'ab'"}, "name": {"'n'"}, `"char"`: {"'c'"},
		"bytea": {`'\x00ff5c27'`, "''", `'\\x'`}, "bit(5)": {"B'10101'"}, "bit varying": {"B'101'"},
		"date":   {"'2024-02-29'", "'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'"},
		"time":   {"'24:00:00'", "'12:34:56.789012'"},
		"timetz": {"'12:34:56.789012+05:30'"},
		"timestamp": {"'2024-02-29 12:34:56.789012'", "'infinity'", "'-infinity'", "'294276-12-31 23:59:59.999999'",
			"'4713-01-01 BC'"},
		"timestamptz": {"'2024-02-29 12:34:56.789012+05:30'", "'infinity'", "'-infinity'",
			"'294276-12-31 23:59:59.999999+00'", "'4713-01-02 00:00:00+00 BC'"},
		"interval": {"'1 year -2 months 3 days 04:05:06.000007'"},
		"uuid":     {"'d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77'"}, "json": {`'{"a": 1e400, "b" :[null]}'`},
		"jsonb": {`'{"a": 12345678901234567890.5}'`}, "jsonpath": {"'$.a'"}, "xml": {"'<a>ж</a>'"},
		"inet": {"'10.0.0.1/8'"}, "cidr": {"'10.0.0.0/8'"},
		"macaddr": {"'08:00:2b:01:02:03'"}, "macaddr8": {"'08:00:2b:01:02:03:04:05'"},
		"point": {"'(1.5,2)'"}, "box": {"'((1,2),(3,4))'"}, "path": {"'[(1,2),(3,4)]'"}, "polygon": {"'((1,2),(3,4))'"},
		"line": {"'{1,2,3}'"}, "lseg": {"'[(1,2),(3,4)]'"}, "circle": {"'<(1,2),3>'"},
		"tsvector": {"'a:1 b:2'"}, "tsquery": {"'a & b'"}, "pg_lsn": {"'16/B374D848'"},
		"int4range": {"'[1,10)'", "'empty'"}, "numrange": {"'(1.5,]'"}, "tstzrange": {`'["2024-01-01 00:00+00",infinity)'`},
		"int8multirange": {"'{[1,3),[5,9)}'"},
		"int[]":          {"'{1,NULL,3}'", "'{}'", "'[2:3]={1,2}'", "'{{1,2},{3,4}}'"},
		"text[]":         {`ARRAY['q"{},\', '', NULL, 'NULL', E'a\nb']`}, "numeric[]": {"'{1e30,NaN,0.1}'"},
		"bytea[]": {`ARRAY['\x00ff5c'::bytea, '\x', NULL]`}, "timestamptz[]": {"'{infinity,2024-01-01 00:00:00.5+00}'"},
		"uuid[]": {"'{d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77}'"}, "jsonb[]": {`ARRAY['{"a":1}'::jsonb, 'null']`},
		"bool[]": {"'{t,f,NULL}'"}, "interval[]": {"'{1 day}'"}, "float8[]": {"'{Infinity,0.1}'"},
		"pair": {`'(1,"a ""b,c")'`}, "pair[]": {`ARRAY[(1,'x y')::pair, NULL]`}, "mood": {"'so so'"}, "positive": {"7"},
		"regclass": {"'pg_class'"}, "xid": {"'77'"}, "tid": {"'(1,2)'"},
	}
}

// A captured value that is sent back, as a parameter or as a literal, stores the value that was captured. What scripts
// see of a column is a text of its value. psql fills the tables, reads these texts and compares.
func TestCapturedValuesAreSentBack(t *testing.T) {
	pg := testserver.Postgres(t)
	pg.Psql(t, `CREATE TYPE pair AS (a int, b text); CREATE TYPE mood AS ENUM ('so so');
		CREATE DOMAIN positive AS int CHECK (VALUE > 0)`)
	values := storedValues()
	for _, format := range []string{"hex", "escape"} {
		t.Run(format, func(t *testing.T) {
			if format == "escape" {
				values = map[string][]string{"bytea": values["bytea"], "bytea[]": values["bytea[]"]}
			}
			target := targetOf(pg)
			target.Options = map[string]string{"options": "-c bytea_output=" + format}
			tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
				if strings.HasSuffix(t.Name(), "TLS") {
					return // the server has no certificate, and TLS changes nothing about values
				}
				sentBack(t, pg, values, func(p *protocol.Program) protocol.Conn { return open(target, p) })
			})
		})
	}
}

// shownColumn is what was shown of a column's value, as a literal of psql.
type shownColumn struct {
	table   string
	id      int
	literal string
}

// shown stores what was shown.
func shown(all []shownColumn) string {
	var script strings.Builder
	for _, c := range all {
		if c.literal != "" {
			fmt.Fprintf(&script, "INSERT INTO %s VALUES (%d, %s);", c.table, c.id+300, c.literal)
		}
	}
	return script.String()
}

// literalOf returns a shown value as an expression of psql. Arrays are shown as JSON.
func literalOf(v *gen.Value, kind string) string {
	text := string(v.AppendText(nil))
	if v.Kind == gen.Bytes {
		text = `\x` + hex.EncodeToString(v.B)
	}
	if at := time.UnixMicro(v.I).UTC(); v.Kind == gen.Datetime && at.Year() <= 0 { // psql writes no years of ISO 8601
		text = fmt.Sprintf("%04d-%s BC", 1-at.Year(), at.Format("01-02 15:04:05.999999+00"))
	}
	text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if v.Kind == gen.JSON && strings.HasSuffix(kind, "[]") {
		return "(SELECT coalesce(array_agg(x), '{}')::text[]::" + kind + " FROM json_array_elements_text(" + text + ") x)"
	}
	return text
}

// sentBack captures each value and sends it back, prepared and as a literal.
func sentBack(t *testing.T, pg *testserver.Server, values map[string][]string,
	open func(*protocol.Program) protocol.Conn) {
	var script, compare strings.Builder
	var requests []protocol.Request
	var names []string
	var columns []shownColumn
	for kind, literals := range values {
		table := fmt.Sprintf("resend_%d", len(names))
		fmt.Fprintf(&script, "DROP TABLE IF EXISTS %[1]s; CREATE TABLE %[1]s (id int, v %[2]s);", table, kind)
		fmt.Fprintf(&compare, `SELECT '%s: ' || a.v::text || ' is ' || coalesce(b.v::text, 'null') FROM %[2]s a, %[2]s b
			WHERE b.id IN (a.id + 100, a.id + 200, a.id + 300) AND a.id < 100 AND a.v::text <> b.v::text;`, kind, table)
		for i, literal := range literals {
			fmt.Fprintf(&script, "INSERT INTO %s VALUES (%d, %s);", table, i, literal)
			read := sql(fmt.Sprintf("SELECT v FROM %s WHERE id = %d", table, i))
			read.Capture = []protocol.Capture{{Name: "v"}}
			requests = append(requests, read)
			for n := range 2 {
				write := sql(fmt.Sprintf("INSERT INTO %s VALUES (%d, $1)", table, 100*(n+1)+i), gen.Null)
				write.Simple = n == 1
				requests = append(requests, write)
			}
			names = append(names, kind+" "+literal)
			columns = append(columns, shownColumn{table: table, id: i})
		}
	}
	pg.Psql(t, script.String())
	p := program(requests...)
	conn := open(p)
	var reply protocol.Reply
	for i, name := range names {
		reply.Each = func(_ []string, row []gen.Value) {
			kind, literal, _ := strings.Cut(name, " ")
			// JSON has no bounds of arrays, and one null; arrays within arrays aren't written by what stores them here.
			if !strings.Contains(literal, "{{") && !strings.Contains(literal, "]=") && !strings.Contains(literal, "'null'") {
				columns[i].literal = literalOf(&row[0], kind)
			}
		}
		if conn.Do(testContext(t), &p.Requests[3*i], nil, &reply); reply.Class != protocol.OK {
			t.Errorf("%s: %+v", name, reply.Failure)
			continue
		}
		value := reply.Captured[0].Clone()
		for n := 1; n <= 2; n++ {
			conn.Do(testContext(t), &p.Requests[3*i+n], []gen.Value{value}, &reply)
			if reply.Class != protocol.OK {
				t.Errorf("%s as %s, request %d: %+v", name, show(&value), n, reply.Failure)
			}
		}
	}
	pg.Psql(t, shown(columns))
	if wrong := pg.Psql(t, compare.String()); wrong != "" {
		t.Errorf("sent back:\n%s", wrong)
	}
}
