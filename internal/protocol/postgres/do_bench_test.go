package postgres

import (
	"context"
	"testing"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// BenchmarkSelect is one prepared lookup after another in one session. The codec's loop here is
// the test's own, over the runtime's poller.
func BenchmarkSelect(b *testing.B) {
	p := program(sql("SELECT $1::int + 1", gen.Int))
	for _, tier := range []string{"library", "codec"} {
		b.Run(tier, func(b *testing.B) {
			var c protocol.Conn
			if tier == "library" {
				c = dial(b, targetOf(server(b)), p)
			} else {
				c = takeover(b, targetOf(server(b)), p)
			}
			var reply protocol.Reply
			args := []gen.Value{integer(5)}
			b.ReportAllocs()
			for b.Loop() {
				c.Do(context.Background(), &p.Requests[0], args, &reply)
				if reply.Class != protocol.OK {
					b.Fatal(reply.Failure)
				}
			}
		})
	}
}
