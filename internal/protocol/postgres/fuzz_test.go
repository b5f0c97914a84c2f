package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))) + body
}

func field(b string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b }

// Answers to a prepared query with two rows, to an insert, to a failing statement, and to a text.
const bindComplete, ready = "2\x00\x00\x00\x04", "Z\x00\x00\x00\x05I"

var (
	rowsAnswer = bindComplete + message('N', "SNOTICE\x00Mnote\x00\x00") +
		message('D', "\x00\x02"+field("\x00\x00\x00\x2a")+field("hello")) +
		message('D', "\x00\x02\xff\xff\xff\xff"+field("x")) + message('C', "SELECT 2\x00") + ready
	insertAnswer = bindComplete + message('C', "INSERT 0 3\x00") + message('S', "TimeZone\x00UTC\x00") + ready
	errorAnswer  = message('E', "SERROR\x00VERROR\x00C23505\x00Mduplicate key\x00\x00") + ready
	textAnswer   = message('T', "\x00\x01id\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00") +
		message('D', "\x00\x01"+field("17")) + message('C', "SELECT 1\x00") + message('I', "") + ready
)

// sampleCodec returns a codec with a prepared query with captures, a prepared insert, and a text with a capture.
func sampleCodec() (*codec, *protocol.Program) {
	p := program(
		protocol.Request{Verb: protocol.SQL, Text: "q", Capture: []protocol.Capture{{Column: 0}, {Column: 1}}},
		sql("INSERT", gen.Int, gen.String, gen.Decimal),
		protocol.Request{Verb: protocol.SQL, Simple: true, Text: "t", Capture: []protocol.Capture{{Name: "id"}}},
	)
	statements := planned(p).session()
	statements[0].captures = []captured{{column: 0, form: formInt4, format: binaryFormat}, {column: 1, form: formText}}
	statements[0].resultFormats = []int16{binaryFormat, textFormat}
	statements[0].template("b0")
	statements[1].params = []form{formInt8, formText, formNumeric}
	statements[1].template("b1")
	return &codec{statements: statements, program: planned(p)}, p
}

// consume scans a stream of answers in pieces of the given lengths. It returns the results and how many bytes were
// left.
func consume(t testing.TB, stream []byte, pieces []byte) (out string, left int) {
	c, p := sampleCodec()
	var reply protocol.Reply
	var buf []byte
	request := 0
	req := &p.Requests[request]
	reply.Reset(len(req.Capture))
	for len(stream) > 0 {
		k := len(stream)
		if len(pieces) > 0 {
			k = min(int(pieces[0])+1, len(stream))
			pieces = append(pieces[1:], pieces[0])
		}
		buf, stream = append(buf, stream[:k]...), stream[k:]
		for len(buf) > 0 {
			n, done, need := c.Scan(buf, req, &reply)
			if n < 0 || n > len(buf) {
				t.Fatalf("consumed %d of %d bytes", n, len(buf))
			}
			buf = buf[n:]
			if done {
				out += summary(&reply)
				if reply.Rows > 0 {
					out += fmt.Sprintf(" bytes %d", reply.BytesIn)
				}
				out += "\n"
				if reply.Fatal {
					return out, 0
				}
				request = (request + 1) % len(p.Requests)
				req = &p.Requests[request]
				reply.Reset(len(req.Capture))
				continue
			}
			if n == 0 && need <= len(buf) {
				t.Fatalf("no progress with %d bytes, of which %d were asked for", len(buf), need)
			}
			if n == 0 {
				break
			}
		}
	}
	return out + summary(&reply), len(buf)
}

// The result doesn't depend on how a stream is cut. Malicious bytes end with a failure.
func FuzzScan(f *testing.F) {
	good := rowsAnswer + insertAnswer + textAnswer + errorAnswer + insertAnswer
	f.Add([]byte(good), []byte{0})
	f.Add([]byte(good), []byte{3, 200, 1})
	f.Add([]byte("D\x7f\xff\xff\xff"), []byte{1})
	f.Add([]byte("E\x00\x00\x00\x03"), []byte{})
	f.Add([]byte("D\x00\x00\x00\x06\xff\xff"), []byte{0})
	f.Add([]byte(message('C', "")), []byte{0})
	f.Add([]byte(message('E', "SFATAL\x00C57P01\x00\x00")), []byte{0})
	f.Add([]byte(message('G', "\x00\x00\x00")), []byte{0})
	f.Fuzz(func(t *testing.T, stream, pieces []byte) {
		whole, left := consume(t, bytes.Clone(stream), nil)
		torn, tornLeft := consume(t, bytes.Clone(stream), pieces)
		// Bytes after the end of a fatal answer are ignored, so their number may differ.
		if normal(whole) != normal(torn) || left != tornLeft {
			t.Errorf("whole (%d left):\n%s\nin pieces (%d left):\n%s", left, whole, tornLeft, torn)
		}
	})
}

func normal(s string) string {
	if i := bytes.Index([]byte(s), []byte("Fatal:true")); i >= 0 {
		return s[:i]
	}
	return s
}

func TestScanSamples(t *testing.T) {
	want := "rows 2 affected 0 {Class:ok Code: State: Text: Fatal:false Misdirected:false} [6 int 42] [12 string hello] bytes 85\n" +
		"rows 0 affected 3 {Class:ok Code: State: Text: Fatal:false Misdirected:false}\n" +
		"rows 1 affected 0 {Class:ok Code: State: Text: Fatal:false Misdirected:false} [6 int 17] bytes 66\n" +
		"rows 0 affected 0 {Class:server Code:23505 State: Text:duplicate key Fatal:false Misdirected:false} [4 null] [4 null]\n" +
		"rows 0 affected 3 {Class:ok Code: State: Text: Fatal:false Misdirected:false}\n" +
		"rows 0 affected 0 {Class:ok Code: State: Text: Fatal:false Misdirected:false} [4 null]"
	stream := []byte(rowsAnswer + insertAnswer + textAnswer + errorAnswer + insertAnswer)
	for cut := range 40 {
		if got, left := consume(t, stream, []byte{byte(cut)}); got != want || left != 0 {
			t.Fatalf("pieces of %d, %d left:\n%s\nwant\n%s", cut+1, left, got, want)
		}
	}
}

// Malformed answers end the session.
func TestScanMalformed(t *testing.T) {
	for name, stream := range map[string]string{
		"length below 4": "C\x00\x00\x00\x03xxx", "negative length": "D\xff\xff\xff\xff", "over 1 GiB": "D\x40\x00\x00\x01",
		"an error too long": "E\x01\x00\x00\x05", "unknown type": "?\x00\x00\x00\x04",
		"copy in":       message('G', "\x00\x00\x00"),
		"row cut short": message('D', "\x00\x01\x00\x00\x00\x09a"), "row with a rest": message('D', "\x00\x00a"),
		"negative field":  message('D', "\x00\x01\xff\xff\xff\xfe"),
		"tag without end": message('C', "INSERT 0 1"), "ready of two bytes": message('Z', "II"),
		"ready in no state": message('Z', "X"),
		"error without end": message('E', "SERROR"), "int4 of three bytes": message('D', "\x00\x02"+field("abc")+field("x")),
		"authentication": message('R', "\x00\x00\x00\x00"),
	} {
		c, p := sampleCodec()
		var reply protocol.Reply
		reply.Reset(2)
		for rest := []byte(stream); ; {
			n, done, _ := c.Scan(rest, &p.Requests[0], &reply)
			if rest = rest[n:]; done || n == 0 {
				break
			}
		}
		if reply.Class != protocol.Protocol || !reply.Fatal || reply.Text == "" {
			t.Errorf("%s: %+v, want a fatal protocol failure", name, reply.Failure)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(1700), true, []byte("\x00\x02\x00\x00\x40\x00\x00\x02\x00\x01\x13\x88"))
	f.Add(uint32(1184), false, []byte("2001-02-03 04:05:06+00"))
	f.Add(uint32(17), false, []byte(`\x00ff`))
	f.Fuzz(func(t *testing.T, oid uint32, binary bool, b []byte) {
		format := textFormat
		if binary {
			format = binaryFormat
		}
		for want := gen.Null; want <= gen.JSON; want++ {
			var v gen.Value
			if err := decode(&v, forms[oid], format, b, want); err == nil && want != gen.Null && v.Kind != want {
				t.Errorf("decoded to kind %d, want %d", v.Kind, want)
			}
		}
	})
}

// The binary form of a number is decoded to the same text.
func FuzzNumeric(f *testing.F) {
	f.Add(int64(-12345), uint8(3))
	f.Add(int64(0), uint8(0))
	f.Add(int64(1), uint8(255))
	f.Fuzz(func(t *testing.T, i int64, scale uint8) {
		v := decimal(i, scale)
		b, _ := appendNumeric(nil, &v)
		back, ok := appendNumericText(nil, b)
		if want := appendText(nil, &v); !ok || !bytes.Equal(back, want) {
			t.Errorf("%s reads back as %s", want, back)
		}
	})
}

func FuzzLiteral(f *testing.F) {
	f.Add("SELECT $1, '$2', $$ $1 $$, /* $1 */ E'\\'' -- $2")
	f.Add("$t$ $1 $t$ \"$1\" $2$1")
	f.Fuzz(func(t *testing.T, query string) {
		sqltext.FirstWord(query)
		l, why := newLiteral(query, 2)
		if why != "" {
			return
		}
		length := 0
		for _, p := range l.pieces {
			length += len(p)
		}
		if len(l.pieces) != len(l.params)+1 || length > len(query)-2*len(l.params) {
			t.Errorf("%d pieces of %d bytes around %d parameters in %d bytes", len(l.pieces), length, len(l.params), len(query))
		}
	})
}

func TestCodecAllocatesNothing(t *testing.T) {
	c, p := sampleCodec()
	args := []gen.Value{integer(5), text("some text"), decimal(-12345, 2)}
	var reply protocol.Reply
	out := make([]byte, 0, 4096)
	rows, inserted := []byte(rowsAnswer), []byte(insertAnswer)
	run := func() {
		var refused *protocol.Error
		if out, refused = c.Encode(out[:0], &p.Requests[0], nil); refused != nil {
			t.Fatal(refused)
		}
		reply.Reset(2)
		if _, done, _ := c.Scan(rows, &p.Requests[0], &reply); !done || reply.Class != protocol.OK ||
			reply.Captured[0].I != 42 {
			t.Fatalf("%v %+v", done, reply)
		}
		if out, refused = c.Encode(out, &p.Requests[1], args); refused != nil {
			t.Fatal(refused)
		}
		reply.Reset(0)
		if _, done, _ := c.Scan(inserted, &p.Requests[1], &reply); !done || reply.Affected != 3 {
			t.Fatalf("%v %+v", done, reply)
		}
	}
	reply.Reset(2)
	if n := testing.AllocsPerRun(1000, run); n != 0 {
		t.Errorf("%v allocations a round, want none", n)
	}
}

func TestCopyRowAllocatesNothing(t *testing.T) {
	chunk := &protocol.Chunk{Table: "t", Rows: 1 << 40, Row: func(v []gen.Value, row uint64) {
		v[0].SetInt(int64(row))
		v[1].SetString("abcdefghijklmnopqrstuvwxyz")
		v[2].Kind, v[2].I, v[2].Scale = gen.Decimal, int64(row), 2
		v[3].Kind, v[3].I = gen.Datetime, int64(row)
	}}
	s := newCopySource(&target{Chunk: chunk, names: make([]string, 4),
		forms: []form{formInt8, formText, formNumeric, formTimestamp}})
	piece := make([]byte, copyPiece)
	s.Read(piece)
	if n := testing.AllocsPerRun(200, func() { s.Read(piece) }); n != 0 || s.next < 1000 {
		t.Errorf("%v allocations for each piece of COPY data, want none (%d rows)", n, s.next)
	}
}

func BenchmarkCodec(b *testing.B) {
	c, p := sampleCodec()
	args := []gen.Value{integer(5), text("some text"), decimal(-12345, 2)}
	var reply protocol.Reply
	out := make([]byte, 0, 4096)
	answer := []byte(insertAnswer)
	b.ReportAllocs()
	for b.Loop() {
		out, _ = c.Encode(out[:0], &p.Requests[1], args)
		reply.Reset(0)
		c.Scan(answer, &p.Requests[1], &reply)
	}
}
