//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/driver"
)

// scene is what happens to an HTTP server while a tool sends it requests at an even rate.
type scene struct {
	name, title string
	rate        int
	load        time.Duration
	down, up    time.Duration // the server is away between these moments of the load; both 0: never
	answer      time.Duration // how long it takes over each answer
	timeout     time.Duration // of a request
}

// due is how many requests fall due.
func (s *scene) due() int { return int(float64(s.rate) * s.load.Seconds()) }

// scenes are those of docs/verdict.md.
func scenes() []scene {
	return []scene{
		{
			name: "dead", title: "The server is down for 15 s of 30 s; 100 requests a second",
			rate: 100, load: 30 * time.Second, down: 7500 * time.Millisecond, up: 22500 * time.Millisecond, timeout: 10 * time.Second,
		},
		{
			name: "brown-out", title: "Every answer takes 3 s, and requests give up after 100 ms; 100 requests a second for 9 s",
			rate: 100, load: 9 * time.Second, answer: 3 * time.Second, timeout: 100 * time.Millisecond,
		},
	}
}

// scenery is the server of a scene.
type scenery struct {
	address string
	seen    atomic.Int64 // requests that reached it
	server  *http.Server
	handler http.Handler

	mu sync.Mutex
	// wentFrom, wentTo and backFrom, backTo are when its going and its return began and were done.
	wentFrom, wentTo, backFrom, backTo time.Time
}

func (s *scene) serve() (*scenery, error) {
	v := &scenery{address: "127.0.0.1:0"}
	v.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.seen.Add(1)
		select {
		case <-time.After(s.answer):
		case <-r.Context().Done():
		}
		w.Write([]byte("a page\n"))
	})
	return v, v.listen()
}

func (v *scenery) listen() error {
	l, err := net.Listen("tcp", v.address)
	if err != nil {
		return fmt.Errorf("start the scene's server: %w", err)
	}
	v.address = l.Addr().String()
	v.server = &http.Server{Handler: v.handler}
	go v.server.Serve(l)
	return nil
}

// play has the server go and return, counted from the first request that it sees: that of moment 0.
func (v *scenery) play(ctx context.Context, s *scene) error {
	if s.up == 0 {
		return nil
	}
	for v.seen.Load() == 0 {
		if !driver.Sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	began := time.Now()
	if !driver.Sleep(ctx, time.Until(began.Add(s.down))) {
		return ctx.Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wentFrom = time.Now()
	v.server.Close()
	v.wentTo = time.Now()
	driver.Sleep(ctx, time.Until(began.Add(s.up)))
	v.backFrom = time.Now()
	err := v.listen()
	v.backTo = time.Now()
	return err
}
