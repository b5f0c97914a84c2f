package postgres

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

const id16 = "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"

type typeCase struct {
	typ  string
	send gen.Value
	want string // as show returns it; "" means that sending is a client error
}

func typeCases() []typeCase {
	return []typeCase{
		{"smallint", integer(-32768), "int -32768"}, {"smallint", integer(32768), ""},
		{"integer", integer(math.MaxInt32), "int 2147483647"}, {"integer", integer(math.MaxInt32 + 1), ""},
		{"bigint", integer(math.MinInt64), "int -9223372036854775808"},
		{"bigint", gen.Value{Kind: gen.Uint, I: -1}, ""}, {"bigint", gen.Value{Kind: gen.Uint, I: 7}, "int 7"},
		{"bigint", float(12), "int 12"}, {"bigint", float(12.5), ""}, {"bigint", decimal(1200, 2), "int 12"},
		{"bigint", text("77"), "int 77"}, {"oid", integer(4000000000), "int 4000000000"},
		{"real", float(1.5), "float 1.5"}, {"real", float(1e300), ""},
		{"double precision", float(-1e-300), "float -1e-300"}, {"double precision", integer(3), "float 3"},
		{"double precision", float(math.Inf(-1)), "float -Infinity"},
		{"numeric", decimal(-123456789, 4), "decimal -12345.6789"}, {"numeric", decimal(0, 0), "decimal 0"},
		{"numeric", decimal(0, 3), "decimal 0.000"}, {"numeric", decimal(1, 9), "decimal 0.000000001"},
		{"numeric", integer(math.MinInt64), "decimal -9223372036854775808"},
		{"numeric", integer(100000000), "decimal 100000000"},
		{"numeric", gen.Value{Kind: gen.Uint, I: -1}, "number 18446744073709551615"}, {"numeric", float(0.1), "decimal 0.1"},
		{"numeric", float(math.NaN()), "string NaN"}, {"numeric(10,2)", decimal(12345, 3), "decimal 12.35"},
		{"boolean", gen.Value{Kind: gen.Bool, I: 1}, "bool true"}, {"boolean", integer(0), "bool false"},
		{"boolean", integer(2), ""},
		{"text", text("naïve 'quoted' \\ \"текст\" $1 -- /*"), "string naïve 'quoted' \\ \"текст\" $1 -- /*"},
		{"text", text(""), "string "}, {"text", integer(-42), "string -42"}, {"text", float(2.5), "string 2.5"},
		{"varchar(3)", text("abcd"), "string abc"}, {"bpchar", text("ab"), "string ab"},
		{"text", decimal(-5, 2), "string -0.05"}, {"text", gen.Value{Kind: gen.Bool}, "string false"},
		{"timestamptz", moment(1700000000123456), "datetime 2023-11-14 22:13:20.123456Z"},
		{"timestamp", moment(-1), "datetime 1969-12-31 23:59:59.999999Z"},
		{"timestamp", text("2001-02-03 04:05:06"), "datetime 2001-02-03 04:05:06Z"},
		{"date", moment(-1), "datetime 1969-12-31 00:00:00Z"},
		{"date", moment(951782400000000), "datetime 2000-02-29 00:00:00Z"},
		{"time", moment(-1), "string 23:59:59.999999"}, {"timestamptz", integer(5), ""},
		{"uuid", raw(gen.UUID, id16), "uuid 00112233-4455-6677-8899-aabbccddeeff"},
		{"uuid", text("00112233-4455-6677-8899-AABBCCDDEEFF"), "uuid 00112233-4455-6677-8899-aabbccddeeff"},
		{"uuid", raw(gen.Bytes, "x"), ""},
		{"json", raw(gen.JSON, `{"a": [1, "b"]}`), `json {"a": [1, "b"]}`},
		{"jsonb", raw(gen.JSON, `{"a":[1,"b"]}`), `json {"a": [1, "b"]}`},
		{"jsonb", integer(7), "json 7"}, {"jsonb", text(`"s"`), `json "s"`},
		{"json", moment(0), `json "1970-01-01 00:00:00Z"`},
		{"bytea", raw(gen.Bytes, "\x00\xff'\\"), "bytes \x00\xff'\\"}, {"bytea", integer(1), ""},
		{"interval", text("1 day"), "string 1 day"}, {"inet", text("10.0.0.1"), "string 10.0.0.1"},
		{"integer", gen.Value{}, "null"}, {"jsonb", gen.Value{}, "null"}, {"interval", gen.Value{}, "null"},
	}
}

func TestTypesRoundTrip(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		cases := typeCases()
		p := &protocol.Program{}
		for i, c := range cases {
			p.Requests = append(p.Requests, protocol.Request{ID: i, Name: c.typ, Verb: protocol.SQL,
				Text: "SELECT 1, $1::" + c.typ + " AS v", Params: []gen.Kind{c.send.Kind},
				Capture: []protocol.Capture{{Name: "v"}}})
		}
		conn := open(targetOf(server(t)), p)
		var reply protocol.Reply
		for i := range cases {
			c := &cases[i]
			conn.Do(testContext(t), &p.Requests[i], []gen.Value{c.send}, &reply)
			checkType(t, c, &reply)
		}
	})
}

func checkType(t *testing.T, c *typeCase, reply *protocol.Reply) {
	t.Helper()
	name := c.typ + " from " + show(&c.send)
	if c.want == "" {
		if reply.Class != protocol.Client || reply.Fatal || !strings.Contains(reply.Text, "can't be sent as") {
			t.Errorf("%s: got %+v, want a client error that isn't fatal", name, reply.Failure)
		}
		return
	}
	if reply.Class != protocol.OK {
		t.Errorf("%s: %+v", name, reply.Failure)
		return
	}
	if got := show(&reply.Captured[0]); got != c.want || reply.Rows != 1 {
		t.Errorf("%s: got %q in %d rows, want %q", name, got, reply.Rows, c.want)
	}
}

// Literals in the text have the same value as prepared parameters.
func TestSimpleLiterals(t *testing.T) {
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		cases := typeCases()
		p := &protocol.Program{}
		for i, c := range cases {
			p.Requests = append(p.Requests, protocol.Request{ID: i, Name: c.typ, Verb: protocol.SQL, Simple: true,
				Text:   "SELECT '$1', /* $1 /* */ $1 */ 0-$1::" + c.typ + "::text::integer AS w, $1::" + c.typ + " AS v -- $1",
				Params: []gen.Kind{c.send.Kind}, Capture: []protocol.Capture{{Name: "v"}}})
			if c.typ != "integer" {
				p.Requests[i].Text = "SELECT '$1', \"$1\".\"$1\", $q$ $1 $q$, E'\\'$1', $1::" + c.typ +
					" AS v FROM (SELECT 1 AS \"$1\") AS \"$1\" -- $1"
			}
		}
		conn := open(targetOf(server(t)), p)
		var reply protocol.Reply
		for i := range cases {
			c := &cases[i]
			if c.want == "" || strings.HasPrefix(c.typ, "json") && c.send.Kind != gen.JSON {
				continue // the literal's own type decides
			}
			conn.Do(testContext(t), &p.Requests[i], []gen.Value{c.send}, &reply)
			checkType(t, c, &reply)
		}
	})
}

// The server's own numeric_send defines the binary form.
func TestNumericForm(t *testing.T) {
	admin := openAdmin(t, targetOf(server(t)))
	values := []gen.Value{integer(0), integer(1), integer(9999), integer(10000), integer(-10001), integer(math.MaxInt64),
		decimal(1, 1), decimal(1, 4), decimal(1, 5), decimal(-99999999, 8), decimal(100000, 5), decimal(math.MinInt64, 20),
		decimal(5, 100),
		float(1e22), float(1.5e-7), float(123456.789), float(-0.5)}
	for i := range values {
		v := &values[i]
		mine, ok := appendNumeric(nil, v)
		if !ok {
			t.Fatalf("%s refused", show(v))
		}
		plain := string(appendText(nil, v))
		if v.Kind == gen.Float {
			plain = fmt.Sprintf("%.20f", v.F)
			plain = strings.TrimRight(strings.TrimRight(plain, "0"), ".")
			if v.F == 1.5e-7 {
				plain = "0.00000015"
			}
			if v.F == 123456.789 {
				plain = "123456.789"
			}
		}
		theirs := column(t, admin, "SELECT encode(numeric_send('"+plain+"'), 'hex')")[0]
		if got := hex.EncodeToString(mine); got != theirs {
			t.Errorf("%s: %s, the server says %s", plain, got, theirs)
		}
		if back, ok := appendNumericText(nil, mine); !ok || string(back) != plain {
			t.Errorf("%s reads back as %q", plain, back)
		}
	}
}

// A capture is converted to the kind that the plan requires, or is a client error.
func TestCaptureKinds(t *testing.T) {
	cases := []struct {
		expression string
		kind       gen.Kind
		want       string
	}{
		{"42::int8", gen.String, "string 42"}, {"42::int8", gen.Uint, "uint 42"}, {"(-1)::int8", gen.Uint, ""},
		{"'17'::text", gen.Int, "int 17"}, {"'x'::text", gen.Int, ""}, {"12.50::numeric", gen.Float, "float 12.5"},
		{"12.00::numeric", gen.Int, "int 12"}, {"12.5::float8", gen.Decimal, "decimal 12.5"},
		{"1::int2", gen.Bool, "bool true"},
		{"'" + "00112233-4455-6677-8899-aabbccddeeff" + "'::text", gen.UUID, "uuid 00112233-4455-6677-8899-aabbccddeeff"},
		{"'2001-02-03'::text", gen.Datetime, "datetime 2001-02-03 00:00:00Z"}, {"NULL::int4", gen.Int, "null"},
		{"12345678901234567890123::numeric", gen.Null, "number 12345678901234567890123"},
	}
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		p := &protocol.Program{}
		for i, c := range cases {
			p.Requests = append(p.Requests, protocol.Request{ID: i, Name: c.expression, Verb: protocol.SQL,
				Text: "SELECT " + c.expression, Capture: []protocol.Capture{{Column: 0, Kind: c.kind}}})
		}
		conn := open(targetOf(server(t)), p)
		var reply protocol.Reply
		for i, c := range cases {
			conn.Do(testContext(t), &p.Requests[i], nil, &reply)
			got := show(&reply.Captured[0])
			if c.want == "" {
				if reply.Class != protocol.Client || reply.Fatal {
					t.Errorf("%s: got %q %+v, want a client error", c.expression, got, reply.Failure)
				}
			} else if got != c.want || reply.Class != protocol.OK {
				t.Errorf("%s: got %q %+v, want %q", c.expression, got, reply.Failure, c.want)
			}
		}
	})
}
