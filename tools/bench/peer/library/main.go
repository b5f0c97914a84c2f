// Command library is a peer for benchmarks: a closed load as Go programs usually make it. Each session is a goroutine
// with a connection of the server's usual client library. It prints its results as one line of JSON.
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
	"github.com/tarantool/go-tarantool/v2"
)

// session requests a row by its number, from 1.
type session func(row int) error

func main() {
	kind := flag.String("kind", "pg", "what is sent: pg, call or select, the latter two to Tarantool")
	where := flag.String("where", "", "where the server is: a URL of PostgreSQL, host:port of Tarantool")
	user := flag.String("user", "", "Tarantool: user name; the password comes from TARANTOOL_PASSWORD")
	sessions := flag.Int("sessions", 16, "connections")
	duration := flag.Duration("duration", 5*time.Second, "how long")
	rows := flag.Int("rows", 100_000, "rows that there are")
	flag.Parse()
	open := func() (session, error) { return openTarantool(*where, *user, *kind) }
	if *kind == "pg" {
		open = func() (session, error) { return openPostgres(*where) }
	}
	if err := load(open, *sessions, *duration, *rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func openPostgres(url string) (session, error) {
	c, err := pgconn.Connect(context.Background(), url)
	if err != nil {
		return nil, err
	}
	formats := []int16{1}
	var text []byte
	_, err = c.Prepare(context.Background(), "s", "SELECT abalance FROM pgbench_accounts WHERE aid = $1", nil)
	return func(row int) error {
		text = strconv.AppendInt(text[:0], int64(row), 10)
		return c.ExecPrepared(context.Background(), "s", [][]byte{text}, nil, formats).Read().Err
	}, err
}

func openTarantool(address, user, kind string) (session, error) {
	dialer := tarantool.NetDialer{Address: address, User: user, Password: os.Getenv("TARANTOOL_PASSWORD")}
	c, err := tarantool.Connect(context.Background(), dialer, tarantool.Opts{})
	return func(row int) error {
		key := []any{uint(row)}
		var request tarantool.Request = tarantool.NewCallRequest("bench_get").Args(key)
		if kind == "select" {
			request = tarantool.NewSelectRequest("bench").Index(0).Iterator(tarantool.IterEq).Limit(1).Key(key)
		}
		_, err := c.Do(request).Get()
		return err
	}, err
}

// load runs the sessions for the duration and prints the quantiles of their service times.
func load(open func() (session, error), sessions int, duration time.Duration, rows int) error {
	all := make([]session, sessions)
	for i := range all {
		var err error
		if all[i], err = open(); err != nil {
			return err
		}
	}
	total := measure.NewHistogram()
	var mu sync.Mutex
	var failure error
	var wg sync.WaitGroup
	end := time.Now().Add(duration)
	for i, ask := range all {
		wg.Go(func() {
			r, h := rand.New(rand.NewPCG(1, uint64(i))), measure.NewHistogram()
			var err error
			for now := time.Now(); err == nil && now.Before(end); {
				err = ask(1 + r.IntN(rows))
				then := time.Now()
				h.Record(int64(then.Sub(now)))
				now = then
			}
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
