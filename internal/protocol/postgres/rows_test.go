package postgres

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// everyType returns a row with one or several values of each supported type.
const everyType = `SELECT 1::int2 AS a, -2::int4, 9223372036854775807::int8, 3::oid, 1.5::float4, 'NaN'::float8, 12345678901234.50::numeric,
	'Infinity'::numeric, 1e-20::numeric, true, date '2001-02-03', time '04:05:06.7', timestamp '2001-02-03 04:05:06.789', 'infinity'::timestamptz,
	timestamptz '2001-02-03 04:05:06.789+03', interval '1 day 2 hours', 'd3b07384-d113-4ec6-a3f1-8a1f0c2b5e77'::uuid, '\x00ff'::bytea,
	'{"a": [1, null]}'::json, '{"b": 2}'::jsonb, 'ж''"'::text, 'x'::varchar(5), 'y'::char(3), 'z'::name, '<a/>'::xml, inet '10.0.0.1/8',
	NULL::int, NULL::text, point '(1,2)', int4range '[1,5)', ''::text, ''::bytea`

// Rows of prepared statements and of texts are decoded as another client decodes them, over a blocking connection with
// and without TLS.
func TestRowsAgree(t *testing.T) {
	secure := targetOf(server(t))
	secure.TLS = server(t).TLS
	p := program(
		protocol.Request{Verb: protocol.SQL, Text: everyType},
		protocol.Request{Verb: protocol.SQL, Text: everyType, Simple: true},
		protocol.Request{Verb: protocol.SQL, Text: "SELECT g, repeat('x', g) FROM generate_series(0, $1::int) g",
			Params: []gen.Kind{gen.Int}},
		protocol.Request{Verb: protocol.SQL, Text: "SELECT g AS first, g::numeric / 8 AS second FROM generate_series(1, 3) g",
			Capture: []protocol.Capture{{Name: "second"}}},
		protocol.Request{Verb: protocol.SQL, Text: "SELECT 1 AS x; SELECT 'a' AS y, 2.5 AS z; CREATE TEMP TABLE r (i int)",
			Simple: true},
		protocol.Request{Verb: protocol.SQL, Text: "SELECT WHERE false"},
	)
	args := [][]gen.Value{2: {integer(2000)}, 5: nil}
	read := func(conn protocol.Conn) (all []string) {
		for i := range p.Requests {
			var b strings.Builder
			reply := protocol.Reply{Each: func(columns []string, row []gen.Value) {
				for k := range row {
					fmt.Fprintf(&b, "%s=%s ", columns[k], show(&row[k]))
				}
				b.WriteByte('\n')
			}}
			conn.Do(testContext(t), &p.Requests[i], args[i], &reply)
			fmt.Fprintf(&b, "%+v, %d rows", reply.Failure, reply.Rows)
			all = append(all, b.String())
		}
		return all
	}
	want := read(openOracle(t, targetOf(server(t)), p))
	for name, target := range map[string]protocol.Target{"blocking": targetOf(server(t)), "blocking, TLS": secure} {
		t.Run(name, func(t *testing.T) {
			for i, got := range read(dial(t, target, p)) {
				if got != want[i] {
					t.Errorf("request %d:\n codec  %.2000s\n oracle %.2000s", i, got, want[i])
				}
			}
		})
	}
	for _, part := range []string{"a=int 1 ", "=decimal 12345678901234.50 ", "=datetime 2001-02-03 ",
		"=string 1 day 02:00:00 ", "=null "} {
		if !strings.Contains(want[0], part) {
			t.Errorf("the row lacks %q:\n%s", part, want[0])
		}
	}
}

// Arrays are converted to JSON and from JSON.
func TestArrays(t *testing.T) {
	cases := []struct{ typ, send, want string }{
		{"int4[]", "[1,null,-3]", ""},
		{"int4[]", "[]", ""},
		{"int4[]", "[[1,2],[3,4]]", ""},
		{"int8[]", "[9007199254740993,5]", `["9007199254740993",5]`},
		{"numeric[]", "[1.50,12345678901234567.5]", `[1.50,"12345678901234567.5"]`},
		{"float8[]", "[0.1,1e+100]", ""},
		{"bool[]", "[true,false,null]", ""},
		{"text[]", `["a","", "NULL","q\"\\,{}'","ж",null]`, `["a","","NULL","q\"\\,{}'","ж",null]`},
		{"uuid[]", `["d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77"]`, ""},
		{"date[]", `["2001-02-03"]`, ""},
		{"jsonb[]", `[{"a":[1,null]},"x",1]`, `[{"a": [1, null]},"x",1]`},
		{"interval[]", `["1 day"]`, ""},
	}
	p := &protocol.Program{}
	for i, c := range cases {
		text := "SELECT $1::" + c.typ + " AS v"
		if c.typ == "jsonb[]" {
			text = "SELECT array_agg(x) AS v FROM jsonb_array_elements($1::jsonb) x"
		}
		p.Requests = append(p.Requests, protocol.Request{ID: i, Name: c.typ, Verb: protocol.SQL, Text: text,
			Params: []gen.Kind{gen.JSON}})
	}
	conn := dial(t, targetOf(server(t)), p)
	for i, c := range cases {
		t.Run(c.typ+" "+c.send, func(t *testing.T) {
			got := ""
			reply := protocol.Reply{Each: func(_ []string, row []gen.Value) { got = show(&row[0]) }}
			conn.Do(testContext(t), &p.Requests[i], []gen.Value{raw(gen.JSON, c.send)}, &reply)
			if c.want == "" {
				c.want = c.send
			}
			if reply.Class != protocol.OK || got != "json "+c.want {
				t.Errorf("got %s, want json %s (%+v)", got, c.want, reply.Failure)
			}
		})
	}
	for _, c := range []struct{ name, send string }{{"an object", `{"a":1}`}, {"a text", `"x"`}, {"cut off", "[1"}} {
		t.Run(c.name, func(t *testing.T) {
			if out, ok := appendArray(nil, []byte(c.send)); ok {
				t.Errorf("became %s", out)
			}
		})
	}
}

// Statements can be added to a session, replaced, and refused without harming the session.
func TestAdd(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			target := targetOf(server(t))
			if secure {
				target.TLS = server(t).TLS
			}
			conn := dial(t, target, &protocol.Program{}).(protocol.AdHoc)
			for _, c := range []struct {
				id         int
				text, want string
				fails      bool
			}{
				{0, "SELECT 1 AS a", "int 1", false},
				{1, "SELECT 'x'::text AS b", "string x", false},
				{0, "SELECT 2.5::numeric AS c", "decimal 2.5", false},
				{0, "SELECT nothing", "", true},
				{1, "SELECT 3 AS d", "int 3", false},
				{0, "COPY t FROM STDIN", "", true},
				{0, "SELECT 4 AS e", "int 4", false},
			} {
				req := sql(c.text)
				req.ID, req.Name = c.id, "r"
				err := conn.Add(testContext(t), &req)
				if c.fails {
					if err == nil || !strings.Contains(err.Error(), `request "r"`) {
						t.Errorf("%s: %v", c.text, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", c.text, err)
				}
				got := ""
				reply := protocol.Reply{Each: func(_ []string, row []gen.Value) { got = show(&row[0]) }}
				if conn.Do(testContext(t), &req, nil, &reply); got != c.want {
					t.Errorf("%s: %s %+v, want %s", c.text, got, reply.Failure, c.want)
				}
			}
		})
	}
}

// A malicious answer results in a failure or in rows, and never in a panic. Values that are marked as JSON are valid
// JSON.
func FuzzRows(f *testing.F) {
	f.Add([]byte(rowsAnswer), uint32(23), uint32(25))
	f.Add([]byte(message('D', "\x00\x02"+field("{1,NULL,\"a\\\"\"}")+field("{{t},{f}}"))), uint32(1009), uint32(1000))
	f.Add([]byte(textAnswer), uint32(1007), uint32(3807))
	f.Add([]byte(message('D', "\x00\x02\xff\xff\xff\xfe")), uint32(17), uint32(1700))
	f.Fuzz(func(t *testing.T, answer []byte, first, second uint32) {
		c, p := sampleCodec()
		c.statements[0].fields = fieldsOf(first, second)
		c.statements[0].resultFormats = nil
		_ = c.Rows(answer, &p.Requests[0], func(columns []string, row []gen.Value) {
			if len(columns) != len(row) {
				t.Errorf("%d columns, %d values", len(columns), len(row))
			}
		})
	})
}

// The text of an array that was converted to JSON converts back to the same text.
func FuzzArray(f *testing.F) {
	f.Add([]byte(`{1,2,NULL}`), uint32(1007))
	f.Add([]byte(`[0:1]={{"a","b\\"},{"",NULL}}`), uint32(1009))
	f.Add([]byte(`{"{\"a\":1}"}`), uint32(3807))
	f.Fuzz(func(t *testing.T, text []byte, oid uint32) {
		element, ok := arrays[oid]
		if !ok {
			return
		}
		out, ok := arrayToJSON(nil, element, text)
		if !ok {
			return
		}
		literal, ok := appendArray(nil, out)
		if !ok {
			t.Fatalf("%q became %q, which isn't JSON of an array", text, out)
		}
		if again, ok := arrayToJSON(nil, element, literal); !ok {
			t.Errorf("%q became %q and %q, which can't be read", text, out, again)
		}
	})
}
