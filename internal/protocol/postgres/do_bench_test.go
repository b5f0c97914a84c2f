package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// BenchmarkSelect executes one prepared lookup after another in one session. For the codec, the loop is part of the
// test and uses the runtime's poller. pgx, the usual client, is the comparison.
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
	b.Run("pgx", func(b *testing.B) {
		t := targetOf(server(b))
		c, err := pgx.Connect(context.Background(),
			fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", t.User, t.Password, t.Address, t.Database))
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close(context.Background())
		if _, err := c.Prepare(context.Background(), "select", p.Requests[0].Text); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			var n int
			if err := c.QueryRow(context.Background(), "select", 5).Scan(&n); err != nil || n != 6 {
				b.Fatal(n, err)
			}
		}
	})
}
