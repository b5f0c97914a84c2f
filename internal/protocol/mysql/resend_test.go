package mysql

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

// storedValues are values of the server's types, as literals, and the kind and text with which scripts see the first.
func storedValues() map[string]struct {
	literals []string
	shown    string
} {
	type values = struct {
		literals []string
		shown    string
	}
	return map[string]values{
		"tinyint": {[]string{"-128"}, "2:-128"}, "smallint unsigned": {[]string{"65535"}, "2:65535"},
		"bigint":          {[]string{"-9223372036854775808"}, "2:-9223372036854775808"},
		"bigint unsigned": {[]string{"18446744073709551615", "1"}, "3:-1"},
		"bool":            {[]string{"true"}, "2:1"}, "float": {[]string{"0.1"}, "4:0.1"},
		"double":                  {[]string{"0.1", "-1.7976931348623157e308"}, "4:0.1"},
		"decimal(20,4)":           {[]string{"-12.5000"}, "5:-125000"},
		"decimal(65,30)":          {[]string{"12345678901234567890123456789012345.123456789012345678901234567890"}, "11:"},
		"char(5) charset utf8mb4": {[]string{"'ж'"}, `6:"ж"`},
		"varchar(9)":              {[]string{"''", "'a\\'\\\\b'"}, `6:""`},
		"text charset utf8mb4":    {[]string{"'ж'"}, `6:"ж"`},
		"binary(4)":               {[]string{"x'00ff2700'"}, `7:"\x00\xff'\x00"`},
		"varbinary(9)":            {[]string{"x'00ff5c27'", "''"}, `7:"\x00\xff\\'"`},
		"blob":                    {[]string{"x'80'", "''"}, `7:"\x80"`},
		"bit(12)":                 {[]string{"b'101010101010'", "b'0'"}, `7:"\n\xaa"`},
		"date":                    {[]string{"'2024-02-29'", "'0000-00-00'", "'9999-12-31'"}, "8:1709164800000000"},
		"datetime(6)":             {[]string{"'2024-02-29 12:34:56.789012'", "'0000-00-00 00:00:00'"}, "8:1709210096789012"},
		"timestamp(6)":            {[]string{"'2024-02-29 12:34:56.789012'"}, "8:1709210096789012"},
		"time(6)":                 {[]string{"'-838:59:59.000000'", "'12:34:56.789012'"}, `6:"-838:59:59.000000"`},
		"year":                    {[]string{"2024", "0"}, "2:2024"},
		"enum('a','b')":           {[]string{"'b'"}, `6:"b"`},
		"set('a','b')":            {[]string{"'a,b'", "''"}, `6:"a,b"`},
		"json":                    {[]string{`'{"a": [1.50, null]}'`}, ""},
		"point":                   {[]string{"ST_GeomFromText('POINT(1 2)')"}, ""},
		"geometry":                {[]string{"ST_GeomFromText('LINESTRING(0 0,1 2)')"}, ""},
		"char(3) charset latin1":  {[]string{"'é'"}, `6:"é"`},
	}
}

// A captured value that is sent back, prepared or within the text, by either tier, stores the value that was captured.
// Scripts see values with the types that the documentation names, and texts that the server reads as the same values.
func TestCapturedValuesAreSentBack(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	target.Options = map[string]string{"sql_mode": "STRICT_TRANS_TABLES"}
	admin := openAdmin(t, target, "SET sql_mode = ''")
	n := 0
	for kind, values := range storedValues() {
		table := fmt.Sprintf("resend_%d", n)
		n++
		statements := []string{"DROP TABLE IF EXISTS " + table, fmt.Sprintf("CREATE TABLE %s (id int, v %s)", table, kind)}
		var requests []protocol.Request
		for i, literal := range values.literals {
			statements = append(statements, fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", table, i, literal))
			read := sqlRequest(fmt.Sprintf("SELECT v FROM %s WHERE id = %d", table, i))
			read.Capture = []protocol.Capture{{Name: "v"}}
			requests = append(requests, read)
			for k := range 2 {
				write := sqlRequest(fmt.Sprintf("INSERT INTO %s VALUES (%d, $1)", table, 100*(k+1)+i), gen.Null)
				write.Simple = k == 1
				requests = append(requests, write)
			}
		}
		for _, text := range statements {
			if _, err := admin.Exec(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		c, p := dial(t, target, requests...)
		writes := slices.Clone(requests)
		for i := range writes {
			writes[i].Capture = nil
		}
		codec := connection(t, target, writes)
		for i, literal := range values.literals {
			var shown, text string
			reply := protocol.Reply{Each: func(_ []string, row []gen.Value) {
				shown, text = protocoltest.Text(&row[0]), literalOf(&row[0])
			}}
			c.Do(protocoltest.Within(t, time.Minute), &p.Requests[3*i], nil, &reply)
			if reply.Class != protocol.OK {
				t.Errorf("%s %s: %+v", kind, literal, reply.Failure)
				continue
			}
			if i == 0 && !strings.HasPrefix(shown, values.shown) {
				t.Errorf("%s %s is shown as %s, want %s", kind, literal, shown, values.shown)
			}
			value := reply.Captured[0].Clone()
			for k := 1; k <= 2; k++ {
				if w := do(t, c, &p.Requests[3*i+k], value); w.Class != protocol.OK {
					t.Errorf("%s %s as %s, request %d: %+v", kind, literal, protocoltest.Text(&value), k, w.Failure)
				}
				if w := do(t, codec, &writes[3*i+k], value); w.Class != protocol.OK {
					t.Errorf("%s %s as %s, request %d of the codec: %+v", kind, literal, protocoltest.Text(&value), k, w.Failure)
				}
			}
			if _, err := admin.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", table, 300+i, text)); err != nil {
				t.Errorf("%s %s, shown as %s: %v", kind, literal, text, err)
			}
		}
		if n := one(t, admin, "SELECT COUNT(*) FROM "+table); n != fmt.Sprint(6*len(values.literals)) {
			t.Errorf("%s: %s rows", kind, n)
		}
		wrong := one(t, admin, fmt.Sprintf(`SELECT coalesce(group_concat(concat(a.id, ': ', hex(a.v), ' is ',
			coalesce(hex(b.v), 'null'))), '') FROM %[1]s a LEFT JOIN %[1]s b ON b.id > a.id AND b.id %% 100 = a.id
			WHERE a.id < 100 AND NOT (hex(a.v) <=> hex(b.v))`, table))
		if wrong != "" {
			t.Errorf("%s: sent back %s", kind, wrong)
		}
	}
}

// literalOf returns what scripts see as a literal.
func literalOf(v *gen.Value) string {
	switch v.Kind {
	case gen.Null:
		return "NULL"
	case gen.Bytes, gen.Packed:
		return "x'" + hex.EncodeToString(v.B) + "'"
	case gen.Int, gen.Uint:
		return string(v.AppendText(nil))
	case gen.Datetime:
		return "'" + time.UnixMicro(v.I).UTC().Format("2006-01-02 15:04:05.999999") + "'"
	}
	return `'` + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(string(v.AppendText(nil))) + "'"
}
