package postgres

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

// accountsChunk has rows as wide as those that pgbench -i makes: two integers and 84 characters.
func accountsChunk(first, rows uint64) *driver.Chunk {
	return &driver.Chunk{Table: "load_accounts", Keys: []string{"aid"}, First: first, Rows: rows,
		Columns: []driver.Column{{Name: "aid"}, {Name: "bid"}, {Name: "abalance"}, {Name: "filler"}},
		Row: func(v []gen.Value, row uint64) {
			v[0].SetInt(int64(row))
			v[1].SetInt(1)
			v[2].SetInt(0)
			v[3].SetString("                                                                                    ")
		}}
}

// BenchmarkLoad fills a table like pgbench_accounts in one session, without and with its primary
// key; BenchmarkPgbenchInit is the peer.
func BenchmarkLoad(b *testing.B) {
	const rows = 500000
	for _, key := range []string{"", "PRIMARY KEY"} {
		b.Run("key="+fmt.Sprint(key != ""), func(b *testing.B) {
			a := openAdmin(b, targetOf(server))
			var spent time.Duration
			for b.Loop() {
				execute(b, a, "DROP TABLE IF EXISTS load_accounts", "CREATE TABLE load_accounts (aid int "+key+", bid int, abalance int, filler char(84))")
				start := time.Now()
				for first := uint64(0); first < rows; first += 100000 {
					if _, err := a.Load(context.Background(), accountsChunk(first, 100000), false); err != nil {
						b.Fatal(err)
					}
				}
				spent += time.Since(start)
			}
			b.ReportMetric(rows*float64(b.N)/spent.Seconds(), "rows/s")
		})
	}
}

// BenchmarkPgbenchInit is the generation step of pgbench -i alone (-I g): no key, no vacuum.
func BenchmarkPgbenchInit(b *testing.B) {
	arguments := []string{"-h", server.Host, "-p", fmt.Sprint(server.Port), "-U", server.User, "-s", "5", "-q", "-i"}
	run := func(steps string) {
		cmd := exec.Command("pgbench", append(arguments, "-I", steps, server.Database)...)
		cmd.Env = append(cmd.Environ(), "PGPASSWORD="+server.Password, "PGSSLMODE=disable")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	var spent time.Duration
	for b.Loop() {
		run("dt")
		start := time.Now()
		run("g")
		spent += time.Since(start)
	}
	b.ReportMetric(500000*float64(b.N)/spent.Seconds(), "rows/s")
}
