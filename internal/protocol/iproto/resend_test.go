package iproto

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"

	"github.com/tarantool/go-tarantool/v2/datetime"
	vmihailenco "github.com/vmihailenco/msgpack/v5"
)

// storedValues are values of Tarantool's types, as expressions of Lua.
func storedValues() []string {
	return []string{
		"1", "-1", "18446744073709551615ULL", "-9223372036854775808LL", "0.1", "1/0", "-1/0", "ffi.cast('float', 0.5)",
		"true", "box.NULL", "''", "'ж\\0'", "string.rep('x', 70000)",
		"dec('0')", "dec('1e10')", "dec('1e37')", "dec('-1e-37')", "dec('0.00')", "dec('-0.5')",
		"dec('12345678901234567890')",
		"dec('99999999999999999999999999999999999999')", "dec('-1234567890123456789.0123456789012345678')", "dec('123e3')",
		"uuid.fromstr('d3b07384-d113-4ec6-a3f1-8a1f0c2b5e77')",
		"{}", "{1, {2, 'x', dec('1e20')}}", "setmetatable({}, {__serialize = 'map'})", "{a = {b = 1, c = {dec('0.5')}}}",
	}
}

// A captured value that is sent back is the value that was captured, as Tarantool sees it: a decimal with all digits,
// an array, a map.
func TestCapturedValuesAreSentBack(t *testing.T) {
	list := storedValues()
	server := testserver.Tarantool(t, testserver.Lua(`
		local ffi, uuid, dec, msgpack = require('ffi'), require('uuid'), require('decimal').new, require('msgpack')
		local values = {`+strings.Join(list, ", ")+`}
		local s = box.schema.space.create('resend', {format = {{'id', 'unsigned'}, {'v', 'any', is_nullable = true}}})
		s:create_index('pk')
		function prepare()
			s:truncate()
			for i = 1, `+fmt.Sprint(len(list))+` do s:insert({i, values[i]}) end
		end
		local function same(a, b)
			if type(a) == 'table' or type(a) == 'nil' then return msgpack.encode(a) == msgpack.encode(b) end
			return type(a) == type(b) and a == b
		end
		function check()
			local wrong = {}
			for i = 1, `+fmt.Sprint(len(list))+` do
				local a, b = s:get(i), s:get(i + 1000)
				if b == nil or not same(a[2], b[2]) then
					table.insert(wrong, i .. ': ' .. tostring(a) .. ' is ' .. tostring(b))
				end
			end
			return table.concat(wrong, '\n')
		end`))
	first := protocol.Request{Verb: protocol.Select, Text: "resend", Params: kinds(1),
		Capture: []protocol.Capture{{Name: "v"}}}
	second := protocol.Request{Verb: protocol.Replace, Text: "resend", Params: kinds(2)}
	prepare := protocol.Request{Verb: protocol.Call, Text: "prepare"}
	check := protocol.Request{Verb: protocol.Call, Text: "check", Capture: []protocol.Capture{{Column: 0}}}
	p := program(first, second, prepare, check)
	for tier, c := range tiers(t, target(server), p) {
		do := func(id int, args ...gen.Value) protocol.Reply {
			var r protocol.Reply
			ctx, cancel := within()
			defer cancel()
			c.Do(ctx, &p.Requests[id], args, &r)
			return r
		}
		do(2)
		for i, text := range list {
			r := do(0, num(int64(i+1)))
			if r.Class != protocol.OK {
				t.Errorf("%s %s: %s", tier, text, show(&r))
				continue
			}
			if w := do(1, num(int64(1001+i)), r.Captured[0].Clone()); w.Class != protocol.OK {
				t.Errorf("%s %s as %.80s: %s", tier, text, protocoltest.Text(&r.Captured[0]), show(&w))
			}
		}
		if r := do(3); r.Class != protocol.OK || string(r.Captured[0].B) != "" {
			t.Errorf("%s: sent back\n%s", tier, show(&r))
		}
	}
}

// The bytes are those that "MessagePack extensions" in Tarantool's manual describes.
// What has no kind of its own is sent back as it came, and shown to scripts as a text.
func TestExtensions(t *testing.T) {
	for _, c := range []struct{ name, bytes, captured, shown string }{
		{"decimal 1e10", "d501f61c", "decimal 10000000000", "decimal 10000000000"},
		{"decimal of 20 digits", "c70c0100012345678901234567890c", "number 12345678901234567890",
			"number 12345678901234567890"},
		{"decimal -1e-38", "d501261d", "decimal -0.00000000000000000000000000000000000001",
			"decimal -0.00000000000000000000000000000000000001"},
		{"time in UTC", "d7048000000000000000", "datetime 128000000", "datetime 128000000"},
		{"time with nanoseconds", "d80480000000000000000100000000000000", "packed", "datetime 128000000"},
		{"time with a zone", "d804800000000000000000000000b400b003", "packed", "datetime 128000000"},
		{"interval", "c7070603000101020203", "packed", "string +1 years, 2 months, 3 weeks"},
		{"error", "c7130381009182a0", "bad", ""},
		{"unknown", "d57f0102", "packed", "string 0102"},
	} {
		b, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		r := msgpack.Reader{B: b}
		var v gen.Value
		r.Value(&v)
		if r.Err != msgpack.Fine {
			if c.captured != "bad" {
				t.Errorf("%s can't be read", c.name)
			}
			continue
		}
		if got := kindOf(&v); got != c.captured {
			t.Errorf("%s is captured as %s, want %s", c.name, got, c.captured)
		}
		if back, err := msgpack.AppendValue(nil, &v); err != nil || v.Kind == gen.Packed && string(back) != string(b) {
			t.Errorf("%s is sent back as %x, %v", c.name, back, err)
		}
		if msgpack.Present(&v); kindOf(&v) != c.shown {
			t.Errorf("%s is shown as %s, want %s", c.name, kindOf(&v), c.shown)
		}
	}
}

// Times and intervals that go-tarantool writes are sent back as they came, and shown as the same moments. (Tarantool
// itself has them from 2.10 on.)
func TestTimesOfGoTarantool(t *testing.T) {
	moment := func(text, zone string) (*datetime.Datetime, string) {
		place, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.ParseInLocation("2006-01-02 15:04:05.999999999", text, place)
		if err != nil {
			t.Fatal(err)
		}
		d, err := datetime.MakeDatetime(at)
		if err != nil {
			t.Fatal(err)
		}
		return &d, fmt.Sprint("datetime ", at.UnixMicro())
	}
	for _, c := range [][3]string{
		{"2024-02-29 12:34:56", "UTC"}, {"2024-02-29 12:34:56.789012345", "UTC"}, {"1492-10-12 01:02:03", "UTC"},
		{"2024-07-01 12:00:00", "Europe/Moscow"}, {"9999-12-31 23:59:59.999999", "America/New_York"},
	} {
		d, want := moment(c[0], c[1])
		sentBackAs(t, c[0]+" "+c[1], d, want)
	}
	for want, i := range map[string]*datetime.Interval{
		"string +1 years, 2 months, 3 weeks": {Year: 1, Month: 2, Week: 3},
		"string -1 years, 4 days, 5 hours, 6 minutes, 7 seconds, 8 nanoseconds": {Year: -1, Day: 4,
			Hour: 5, Min: 6, Sec: 7, Nsec: 8},
	} {
		sentBackAs(t, want, i, want)
	}
}

// sentBackAs reads what go-tarantool writes for a value, sends it back, and shows it.
func sentBackAs(t *testing.T, name string, value any, want string) {
	t.Helper()
	b, err := vmihailenco.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	r := msgpack.Reader{B: b}
	var v gen.Value
	r.Value(&v)
	back, refused := msgpack.AppendValue(nil, &v)
	if refused != nil || r.Err != msgpack.Fine || !bytes.Equal(back, b) {
		t.Errorf("%s: %x is sent back as %x, %v %v", name, b, back, refused, r.Err)
	}
	if msgpack.Present(&v); kindOf(&v) != want {
		t.Errorf("%s is shown as %s, want %s", name, kindOf(&v), want)
	}
}

func kindOf(v *gen.Value) string {
	switch v.Kind {
	case gen.Packed:
		return "packed"
	case gen.Decimal:
		return "decimal " + string(v.AppendText(nil))
	case gen.Number:
		return "number " + string(v.B)
	case gen.Datetime:
		return fmt.Sprint("datetime ", v.I)
	}
	return "string " + string(v.AppendText(nil))
}
