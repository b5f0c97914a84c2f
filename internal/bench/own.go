package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// A closed load is also measured with a loop that does nothing but write and read: what that costs of a
// peer is the least that any client of the same design can.
const (
	bareLoop      = "a bare loop"
	leastPossible = "the least possible: write, read, epoll and no more"
)

func (s *stand) bare(kind, where string, sessions, pipeline, keys int) client {
	return s.own(bareLoop, "bare", nil, "-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions), "-pipeline", strconv.Itoa(pipeline), "-keys", strconv.Itoa(keys))
}

// library is a load as a Go program usually makes it: see peer/library.
func (s *stand) library(name string, env []string, kind, where string, sessions, rows int, more ...string) client {
	args := []string{"-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions), "-rows", strconv.Itoa(rows)}
	return s.own(name, "library", env, append(args, more...)...)
}

// own is one of the project's own peers, for the table by a name.
func (s *stand) own(name, peer string, env []string, args ...string) client {
	return client{name: name, turn: func(d time.Duration) (sample, error) {
		return s.turn(env, s.peer(peer), append(args[:len(args):len(args)], "-duration", d.String()), func(out string, p *sample) error {
			var done struct {
				Requests uint64  `json:"requests"`
				P50Ns    float64 `json:"p50_ns"`
				P99Ns    float64 `json:"p99_ns"`
			}
			if err := json.Unmarshal([]byte(out), &done); err != nil {
				return fmt.Errorf("%s: %w: %s", peer, err, tail(out))
			}
			p.Requests, p.P50Us, p.P99Us = done.Requests, done.P50Ns/1e3, done.P99Ns/1e3
			return nil
		})
	}}
}
