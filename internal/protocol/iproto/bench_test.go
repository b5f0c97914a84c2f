package iproto

import (
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
	"brunt/test/testserver"
)

// BenchmarkLoad fills a table of two integers and a short string in one session.
func BenchmarkLoad(b *testing.B) {
	s := testserver.Tarantool(b)
	ctx, cancel := within()
	defer cancel()
	a, err := New().Admin(ctx, target(s))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Exec(ctx, carsTable); err != nil {
		b.Fatal(err)
	}
	var told uint64
	b.ResetTimer()
	start := time.Now()
	if _, err := a.Load(ctx, chunk(0, uint64(b.N), &told), false); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "rows/s")
}

// BenchmarkCodec encodes a prepared statement with two arguments and scans an answer of one row.
func BenchmarkCodec(b *testing.B) {
	c := &codec{statements: append([]statement(nil), scanStatements...)}
	c.statements[3] = statement{verb: protocol.SQL, params: 2, pieces: []piece{{[]byte{0x82, 0x43, 0x01, 0x41, 0x92}, 0},
		{nil, 1}}}
	args := []gen.Value{num(70000), txt("brand")}
	var reply protocol.Reply
	out, answer, body := make([]byte, 0, 256), make([]byte, 0, 256), rowsBody(1, "abc")
	b.ReportAllocs()
	for b.Loop() {
		out, _ = c.Encode(out[:0], &scanRequests[3], args)
		answer = append(msgpack.AppendUint(append(answer[:0], 0xce, 0, 0, 0, 0, 0x82, 0x00, 0x00, 0x01), c.sent), body...)
		setLength(answer, 0)
		reply.Reset(0)
		if _, done, _ := c.Scan(answer, &scanRequests[3], &reply); !done || reply.Rows != 1 {
			b.Fatal(reply.Text)
		}
	}
}
