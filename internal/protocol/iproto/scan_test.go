package iproto

import (
	"bytes"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
	"brunt/internal/protocol/protocoltest"
)

// packet frames a body as a server does: a length of five bytes and a header with three keys.
func packet(code uint32, sync uint64, body ...byte) []byte {
	p := []byte{0xce, 0, 0, 0, 0, 0x83, 0x00}
	p = append(msgpack.AppendUint(p, uint64(code)), 0x01)
	p = append(msgpack.AppendUint(p, sync), 0x05, 0x50)
	p = append(p, body...)
	setLength(p, 0)
	return p
}

func rowsBody(rows int, value string) []byte {
	b := msgpack.AppendArray([]byte{0x82, 0x32, 0x91, 0x82, 0x00, 0xa1, 'K', 0x01, 0xa3, 'i', 'n', 't', 0x30}, rows)
	for i := range rows {
		b = msgpack.AppendString(msgpack.AppendInt(msgpack.AppendArray(b, 2), int64(-1-i)), value)
	}
	return b
}

var (
	// The statements of the requests have different kinds of results.
	scanStatements = []statement{
		{verb: protocol.SQL, captures: []capture{{name: []byte("k"), kind: gen.Int}, {column: 1, kind: gen.String}}},
		{verb: protocol.Call, shape: values, captures: []capture{{column: 0}}},
		{verb: protocol.SQL, shape: dispatch, captures: []capture{{name: []byte("k")}}},
		{verb: protocol.Update},
	}
	scanRequests = []protocol.Request{
		{ID: 0, Capture: make([]protocol.Capture, 2)}, {ID: 1, Capture: make([]protocol.Capture, 1)},
		{ID: 2, Capture: make([]protocol.Capture, 1)}, {ID: 3},
	}
)

func freshCodec() protocol.Codec { return &codec{statements: scanStatements, sent: 8, turn: 8} }

func answers() map[string]struct {
	request int
	bytes   []byte
	want    string
} {
	errorBody := append([]byte{0x81, 0x31}, msgpack.AppendString(nil, "Duplicate key")...)
	dispatched := append([]byte{0x81, 0x30, 0x91, 0x82, 0xa4, 'r', 'o', 'w', 's', 0x92, 0x91, 7, 0x91, 8, 0xa8},
		"metadata\x91\x82\xa4name\xa1K\xa4type\xa1x"...)
	return map[string]struct {
		request int
		bytes   []byte
		want    string
	}{
		"rows": {0, packet(0, 8, rowsBody(3, "abc")...),
			`done=true class=ok code="" fatal=false status=0 rows=3 affected=0 missing=false badhash=false in=44 left="" captured=2:-1 captured=6:"abc"`},
		"no rows": {0, packet(0, 8, rowsBody(0, "")...),
			`done=true class=ok code="" fatal=false status=0 rows=0 affected=0 missing=false badhash=false in=26 left="" captured=null captured=null`},
		"two": {0, append(packet(0, 8, rowsBody(0, "")...), packet(0, 9)...), ``},
		"changes": {0, packet(0, 8, 0x81, 0x42, 0x82, 0x01, 0x91, 0x05, 0x00, 0xcd, 1, 0),
			`done=true class=ok code="" fatal=false status=0 rows=0 affected=256 missing=false badhash=false in=22 left="" captured=null captured=null`},
		"error": {0, packet(errorBit|3, 8, errorBody...),
			`done=true class=server code="3" fatal=false status=0 rows=0 affected=0 missing=false badhash=false in=30 left="" captured=null captured=null`},
		"pushed": {1, append(packet(codeChunk, 8, 0x81, 0x30, 0x91, 0x01),
			packet(0, 8, 0x81, 0x30, 0x92, 0x02, 0x03)...),
			`done=true class=ok code="" fatal=false status=0 rows=2 affected=0 missing=false badhash=false in=17 left="" captured=2:2`},
		"empty body": {1, packet(0, 8),
			`done=true class=ok code="" fatal=false status=0 rows=0 affected=0 missing=false badhash=false in=12 left="" captured=null`},
		"dispatch": {2, packet(0, 8, dispatched...), ``},
		"update of one": {3, packet(0, 8, 0x81, 0x30, 0x91, 0x91, 0x01),
			`done=true class=ok code="" fatal=false status=0 rows=1 affected=1 missing=false badhash=false in=17 left=""`},
		"other sync": {3, packet(0, 6, 0x80),
			`done=true class=protocol code="" fatal=true status=0 rows=0 affected=0 missing=false badhash=false`},
		"no length": {3, []byte{0xa1, 'x'},
			`done=true class=protocol code="" fatal=true status=0 rows=0 affected=0 missing=false badhash=false`},
		"zero length": {3, []byte{0},
			`done=true class=protocol code="" fatal=true status=0 rows=0 affected=0 missing=false badhash=false`},
		"huge length": {3, []byte{0xcf, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
			`done=true class=protocol code="" fatal=true status=0 rows=0 affected=0 missing=false badhash=false`},
		"cut body": {0, packet(0, 8, rowsBody(1, "abc")[:17]...),
			`done=true class=protocol code="" fatal=true status=0 rows=0 affected=0 missing=false badhash=false`},
		"rows without": {0, packet(0, 8, 0x81, 0x30, 0xdd, 0xff, 0xff, 0xff, 0xff),
			`done=true class=protocol code="" fatal=true status=0 rows=0 affected=0 missing=false badhash=false`},
		"unfinished": {0, packet(0, 8, rowsBody(3, "abc")...)[:30], ``},
	}
}

func TestScanTorn(t *testing.T) {
	for name, c := range answers() {
		got := protocoltest.Torn(t, freshCodec, &scanRequests[c.request], c.bytes, false).String()
		if c.want != "" && got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// An answer that is larger than necessary gives the same result in pieces and as a whole, and only its beginning is
// stored.
func TestScanLarge(t *testing.T) {
	long := string(bytes.Repeat([]byte("x"), 100))
	for name, answer := range map[string][]byte{
		"many rows":       packet(0, 8, rowsBody(5000, long)...),
		"large first row": packet(0, 8, rowsBody(2, string(bytes.Repeat([]byte("y"), 400_000)))...),
	} {
		whole := protocoltest.Scan(freshCodec(), &scanRequests[0], answer, nil, false)
		if !whole.Done || whole.Reply.Class != protocol.OK || whole.Reply.BytesIn != int64(len(answer)) ||
			len(whole.Left) != 0 {
			t.Fatalf("%s: %.300s", name, whole)
		}
		var cuts []int
		for i := 1000; i < len(answer); i += 9973 {
			cuts = append(cuts, i)
		}
		if got := protocoltest.Scan(freshCodec(), &scanRequests[0], answer, cuts, false); got.String() != whole.String() {
			t.Errorf("%s: in pieces %.300s, whole %.300s", name, got, whole)
		}
	}
	answer := packet(0, 8, rowsBody(5000, long)...)
	c := freshCodec()
	var reply protocol.Reply
	reply.Reset(2)
	held, most := []byte(nil), 0
	for len(answer) > 0 {
		n := min(len(answer), 16<<10)
		held = append(held, answer[:n]...)
		answer = answer[n:]
		used, _, _ := c.Scan(held, &scanRequests[0], &reply)
		held = held[used:]
		most = max(most, len(held))
	}
	if most > window+16<<10 || reply.Rows != 5000 {
		t.Errorf("%d bytes were held for %d rows", most, reply.Rows)
	}
}

func TestScanNeed(t *testing.T) {
	answer := packet(0, 8, rowsBody(3, "abc")...)
	for i := 0; i < len(answer); i++ {
		var reply protocol.Reply
		reply.Reset(2)
		n, done, need := freshCodec().Scan(answer[:i], &scanRequests[0], &reply)
		if n != 0 || done || need <= i || need > len(answer) {
			t.Errorf("after %d of %d bytes: consumed %d, done %v, need %d", i, len(answer), n, done, need)
		}
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	c := &codec{statements: scanStatements}
	c.statements = append([]statement(nil), c.statements...)
	c.statements[0].params, c.statements[0].pieces = 2, []piece{{[]byte{0x82, 0x43, 0x01, 0x41, 0x92}, 0}, {nil, 1}}
	args := []gen.Value{num(70000), txt("brand")}
	reply := protocol.Reply{}
	reply.Reset(2)
	reply.Captured[1].B = make([]byte, 0, 64)
	out := make([]byte, 0, 256)
	body := rowsBody(3, "abc")
	answer := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(200, func() {
		var err *protocol.Error
		if out, err = c.Encode(out[:0], &scanRequests[0], args); err != nil {
			t.Fatal(err)
		}
		answer = append(answer[:0], 0xce, 0, 0, 0, 0, 0x82, 0x00, 0x00, 0x01)
		answer = append(msgpack.AppendUint(answer, c.sent), body...)
		setLength(answer, 0)
		reply.Reset(2)
		if _, done, _ := c.Scan(answer, &scanRequests[0], &reply); !done || reply.Rows != 3 || reply.Class != protocol.OK {
			t.Fatal(reply.Text)
		}
	}); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func FuzzScan(f *testing.F) {
	for _, c := range answers() {
		f.Add(c.bytes, uint8(c.request), uint16(7), uint16(20))
	}
	f.Fuzz(func(t *testing.T, answer []byte, request uint8, a, b uint16) {
		if len(answer) > 1<<12 {
			return
		}
		req := &scanRequests[int(request)%len(scanRequests)]
		whole := protocoltest.Scan(freshCodec(), req, answer, nil, false)
		for _, cuts := range [][]int{{min(int(a), len(answer))},
			{min(int(a), int(b), len(answer)), min(max(int(a), int(b)), len(answer))}} {
			if got := protocoltest.Scan(freshCodec(), req, answer, cuts, false); got.String() != whole.String() {
				t.Fatalf("%q cut at %v:\n got %v\nwant %v", answer, cuts, got, whole)
			}
		}
	})
}

func FuzzValue(f *testing.F) {
	for _, v := range valueSamples() {
		b, _ := msgpack.AppendValue(nil, &v)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := read(b)
		var v gen.Value
		r.Value(&v)
		s := read(b)
		s.Skip()
		if r.Err != s.Err || r.Err == msgpack.Fine && r.At != s.At {
			t.Fatalf("%x: reading stops at %d (%d), skipping at %d (%d)", b, r.At, r.Err, s.At, s.Err)
		}
		if r.Err != msgpack.Fine {
			return
		}
		_ = template.AppendValue(nil, &v)
		out, err := msgpack.AppendValue(nil, &v)
		if err != nil {
			t.Fatalf("%x was read but can't be sent: %v", b, err)
		}
		var w gen.Value
		if r = (read(out)); true {
			r.Value(&w)
		}
		if protocoltest.Text(&v) != protocoltest.Text(&w) {
			t.Fatalf("%x: %s came back as %s", b, protocoltest.Text(&v), protocoltest.Text(&w))
		}
	})
}
