package postgres

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// accountsChunk returns rows of the same width as those of pgbench -i: two integers and 84 characters.
func accountsChunk(first, rows uint64) *protocol.Chunk {
	return &protocol.Chunk{Table: "load_accounts", Keys: []string{"aid"}, First: first, Rows: rows,
		Columns: []protocol.Column{{Name: "aid"}, {Name: "bid"}, {Name: "abalance"}, {Name: "filler"}},
		Row: func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row))
			v[1].SetInt(1)
			v[2].SetInt(0)
			v[3].SetString("                                                                                    ")
		}}
}

// BenchmarkLoad fills a table like pgbench_accounts in chunks of 25000 rows. BenchmarkPgbenchInit is the comparison.
// Both write 500000 rows per round.
func BenchmarkLoad(b *testing.B) {
	for _, key := range []string{"", "PRIMARY KEY"} {
		for _, sessions := range []uint64{1, 2, 4} {
			b.Run(fmt.Sprintf("key=%v/sessions=%d", key != "", sessions), func(b *testing.B) {
				var open []protocol.Admin
				for range sessions {
					open = append(open, openAdmin(b, targetOf(server(b))))
				}
				var spent time.Duration
				for b.Loop() {
					execute(b, open[0], "DROP TABLE IF EXISTS load_accounts",
						"CREATE TABLE load_accounts (aid int "+key+", bid int, abalance int, filler char(84))")
					start := time.Now()
					loadAll(b, open)
					spent += time.Since(start)
				}
				b.ReportMetric(benchRows*float64(b.N)/spent.Seconds(), "rows/s")
			})
		}
	}
}

const benchRows = 500000

func loadAll(b *testing.B, sessions []protocol.Admin) {
	const chunk = 25000
	var next atomic.Uint64
	var wg sync.WaitGroup
	for _, a := range sessions {
		wg.Go(func() {
			for {
				first := next.Add(chunk) - chunk
				if first >= benchRows {
					return
				}
				if _, err := a.Load(context.Background(), accountsChunk(first, chunk), false); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkPgbenchInit runs pgbench -i: only rows (g), and with vacuum and primary key (gvp).
func BenchmarkPgbenchInit(b *testing.B) {
	s := server(b)
	run := func(b *testing.B, steps string) {
		cmd := exec.Command("pgbench", "-h", s.Host, "-p", fmt.Sprint(s.Port), "-U", s.User, "-s", "5", "-q",
			"-i", "-I", steps, s.Database)
		cmd.Env = append(cmd.Environ(), "PGPASSWORD="+s.Password, "PGSSLMODE=disable")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	for _, steps := range []string{"g", "gvp"} {
		b.Run("steps="+steps, func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				run(b, "dt")
				start := time.Now()
				run(b, steps)
				spent += time.Since(start)
			}
			b.ReportMetric(benchRows*float64(b.N)/spent.Seconds(), "rows/s")
		})
	}
}
