//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	echoserver "brunt/internal/driver/echo"
)

// serveCommand is the word by which this program starts itself as a server.
const serveCommand = "serve"

// serve is the servers' process: it serves at an address until it is killed.
func serve(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s needs what and where, such as web 127.0.0.1:8080", serveCommand)
	}
	what, address := args[0], args[1]
	if what == "echo" {
		_, err := echoserver.Listen(address, echoserver.Config{})
		if err != nil {
			return err
		}
		select {}
	}
	return http.ListenAndServe(address, serveWeb())
}

// serveWeb answers "/" at once, "/slow?ms=N" after that time, "/reset?every=N" by resetting the
// connection of every N-th request, and "/limit?per_s=N" with 429 beyond that rate.
func serveWeb() http.Handler {
	page := []byte("a page\n")
	number := func(r *http.Request, name string) int {
		n, _ := strconv.Atoi(r.URL.Query().Get(name))
		return max(1, n)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(number(r, "ms")) * time.Millisecond)
		w.Write(page)
	})
	var resets atomic.Int64
	mux.HandleFunc("/reset", func(w http.ResponseWriter, r *http.Request) {
		if resets.Add(1)%int64(number(r, "every")) != 0 {
			w.Write(page)
			return
		}
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	})
	var l limiter
	mux.HandleFunc("/limit", func(w http.ResponseWriter, r *http.Request) {
		if !l.allow(number(r, "per_s"), time.Now()) {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		w.Write(page)
	})
	return mux
}

// limiter lets so many a second through, counted by whole tenths of a second.
type limiter struct {
	mu    sync.Mutex
	slice int64
	taken int
}

func (l *limiter) allow(perSecond int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := now.UnixMilli() / 100; s != l.slice {
		l.slice, l.taken = s, 0
	}
	l.taken++
	return l.taken <= max(1, perSecond/10)
}
