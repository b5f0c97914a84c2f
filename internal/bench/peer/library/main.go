// Command pgconn is a peer for measurements: a closed load on PostgreSQL as a Go program usually
// makes it, one goroutine and one pgconn connection a session, statements prepared. It prints
// what it has done as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"brunt/internal/measure"

	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	url := flag.String("url", "", "where the server is, as a URL")
	sessions := flag.Int("sessions", 16, "connections")
	duration := flag.Duration("duration", 5*time.Second, "how long")
	rows := flag.Int("rows", 1_000_000, "rows of pgbench_accounts")
	flag.Parse()
	if err := load(*url, *sessions, *duration, *rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func load(url string, sessions int, duration time.Duration, rows int) error {
	var connections []*pgconn.PgConn
	for range sessions {
		c, err := pgconn.Connect(context.Background(), url)
		if err != nil {
			return err
		}
		if _, err := c.Prepare(context.Background(), "s", "SELECT abalance FROM pgbench_accounts WHERE aid = $1", nil); err != nil {
			return err
		}
		connections = append(connections, c)
	}
	total := measure.NewHistogram()
	var mu sync.Mutex
	var failure error
	var wg sync.WaitGroup
	end := time.Now().Add(duration)
	for i, c := range connections {
		wg.Go(func() {
			h, err := session(c, rand.New(rand.NewPCG(1, uint64(i))), end, rows)
			mu.Lock()
			defer mu.Unlock()
			total.Merge(h)
			if err != nil {
				failure = err
			}
		})
	}
	wg.Wait()
	if failure != nil {
		return failure
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"requests": total.Count(), "p50_ns": total.Quantile(0.5), "p99_ns": total.Quantile(0.99),
	})
}

// session sends until the time is up and returns its service times.
func session(c *pgconn.PgConn, r *rand.Rand, end time.Time, rows int) (*measure.Histogram, error) {
	h := measure.NewHistogram()
	formats := []int16{1}
	var text []byte
	for now := time.Now(); now.Before(end); {
		text = strconv.AppendInt(text[:0], int64(1+r.IntN(rows)), 10)
		if result := c.ExecPrepared(context.Background(), "s", [][]byte{text}, nil, formats).Read(); result.Err != nil {
			return h, result.Err
		}
		then := time.Now()
		h.Record(int64(then.Sub(now)))
		now = then
	}
	return h, nil
}
