// Command tarantool is a peer for measurements: a closed load on Tarantool as a Go program usually
// makes it, one goroutine and one go-tarantool connection a session. It prints what it has done as
// one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"brunt/internal/measure"

	"github.com/tarantool/go-tarantool/v2"
)

func main() {
	address := flag.String("address", "", "host:port of the server")
	user := flag.String("user", "", "user name; the password comes from TARANTOOL_PASSWORD")
	verb := flag.String("verb", "call", "call or select")
	sessions := flag.Int("sessions", 100, "connections")
	duration := flag.Duration("duration", 5*time.Second, "how long")
	rows := flag.Int("rows", 100_000, "tuples")
	flag.Parse()
	dialer := tarantool.NetDialer{Address: *address, User: *user, Password: os.Getenv("TARANTOOL_PASSWORD")}
	if err := load(dialer, *verb, *sessions, *duration, *rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func load(dialer tarantool.Dialer, verb string, sessions int, duration time.Duration, rows int) error {
	var connections []*tarantool.Connection
	for range sessions {
		c, err := tarantool.Connect(context.Background(), dialer, tarantool.Opts{})
		if err != nil {
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
			h, err := session(c, verb, rand.New(rand.NewPCG(1, uint64(i))), end, rows)
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
func session(c *tarantool.Connection, verb string, r *rand.Rand, end time.Time, rows int) (*measure.Histogram, error) {
	h := measure.NewHistogram()
	for now := time.Now(); now.Before(end); {
		key := []any{uint(1 + r.IntN(rows))}
		var request tarantool.Request = tarantool.NewCallRequest("bench_get").Args(key)
		if verb == "select" {
			request = tarantool.NewSelectRequest("bench").Index(0).Iterator(tarantool.IterEq).Limit(1).Key(key)
		}
		if _, err := c.Do(request).Get(); err != nil {
			return h, err
		}
		then := time.Now()
		h.Record(int64(then.Sub(now)))
		now = then
	}
	return h, nil
}
