// Package observer writes to the nodes of a service and notes when none of its writes succeeded. It knows nothing of
// brunt: tests compare brunt's account of outages with it.
package observer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Every is the interval at which an observer writes to each node.
const Every = 5 * time.Millisecond

// Observer writes to every node of a service on a schedule, over its own connections, and independently of the results
// of earlier writes.
type Observer struct {
	began    time.Time
	deadline time.Duration
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu   sync.Mutex
	good [][]bool      // by node and tick: whether the node accepted the write
	late time.Duration // the greatest delay of a tick
}

// Outage is a time in which no write succeeded: from the tick of the first that failed to that of the next one that
// succeeded, or to the end of the observation.
type Outage struct{ From, To time.Time }

// Length returns the length of the outage.
func (o Outage) Length() time.Duration { return o.To.Sub(o.From) }

// Account is what an observer saw.
type Account struct {
	All   []Outage      // no node accepted a write
	Nodes [][]Outage    // by node
	Late  time.Duration // the greatest delay of the observer itself
}

// Start begins to write. write is called for node i with a context that ends at the deadline. It must return when its
// context ends.
func Start(t testing.TB, nodes int, deadline time.Duration,
	write func(ctx context.Context, node, tick int) error) *Observer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := &Observer{began: time.Now(), deadline: deadline, cancel: cancel, good: make([][]bool, nodes)}
	t.Cleanup(cancel)
	o.wg.Go(func() {
		for tick := 0; ctx.Err() == nil; tick++ {
			due := o.began.Add(time.Duration(tick) * Every)
			time.Sleep(time.Until(due))
			o.tick(due)
			for node := range nodes {
				o.wg.Go(func() { o.write(node, tick, write) })
			}
		}
	})
	return o
}

// tick makes room for the results of a tick, which was due at a time.
func (o *Observer) tick(due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late = max(o.late, time.Since(due))
	for node := range o.good {
		o.good[node] = append(o.good[node], false)
	}
}

func (o *Observer) write(node, tick int, write func(ctx context.Context, node, tick int) error) {
	within, done := context.WithTimeout(context.Background(), o.deadline)
	defer done()
	if write(within, node, tick) == nil && within.Err() == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.good[node][tick] = true
	}
}

// End stops the writing and returns the outages that lasted at least as long as given.
func (o *Observer) End(least time.Duration) Account {
	o.cancel()
	o.wg.Wait()
	a := Account{Late: o.late}
	one := make([]bool, len(o.good[0])) // whether any node accepted the write
	for _, good := range o.good {
		a.Nodes = append(a.Nodes, o.outages(good, least))
		for tick := range good {
			one[tick] = one[tick] || good[tick]
		}
	}
	a.All = o.outages(one, least)
	return a
}

// outages returns the times of consecutive ticks without success.
func (o *Observer) outages(good []bool, least time.Duration) (out []Outage) {
	at := func(tick int) time.Time { return o.began.Add(time.Duration(tick) * Every) }
	first := -1
	for tick := range len(good) + 1 {
		bad := tick < len(good) && !good[tick]
		if bad && first < 0 {
			first = tick
		}
		if !bad && first >= 0 {
			if one := (Outage{at(first), at(tick)}); one.Length() >= least {
				out = append(out, one)
			}
			first = -1
		}
	}
	return out
}

// Redis returns a function that writes a key to each of several Redis servers, for Start.
func Redis(t testing.TB, key string, addrs ...string) func(ctx context.Context, node, tick int) error {
	t.Helper()
	var clients []*redis.Client
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1,
			DialerRetries: 1, PoolSize: 128, ContextTimeoutEnabled: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
		t.Cleanup(func() { _ = client.Close() })
		clients = append(clients, client)
	}
	return func(ctx context.Context, node, tick int) error {
		return clients[node].Set(ctx, key, fmt.Sprint(tick), 0).Err()
	}
}

// Agree compares outages that somebody else reported with those of an observer, both in order. Each that lasted for at
// least least must be among the others' with both its ends, which may differ by within. Outages whose length is so near
// to least that this decides whether they are reported may be missing. Its errors say what differs.
func Agree(reported, observed []Outage, least, within time.Duration) (errs []error) {
	for _, pair := range []struct {
		of, in []Outage
		text   string
	}{
		{reported, observed, "reported %s, and the observer has %s"},
		{observed, reported, "the observer has %s, and reported are %s"},
	} {
		for _, one := range pair.of {
			n := 0
			for _, other := range pair.in {
				if one.From.Sub(other.From).Abs() <= within && one.To.Sub(other.To).Abs() <= within {
					n++
				}
			}
			if n != 1 && one.Length() >= least+2*within {
				errs = append(errs, fmt.Errorf(pair.text, text(one), text(pair.in...)))
			}
		}
	}
	return errs
}

// text returns outages with the seconds and milliseconds of their ends.
func text(all ...Outage) string {
	const form = "05.000"
	var out []string
	for _, o := range all {
		out = append(out, o.From.Format(form)+"–"+o.To.Format(form))
	}
	return fmt.Sprintf("%d: %s", len(all), strings.Join(out, ", "))
}
