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
	return client{name: bareLoop, turn: func(d time.Duration) (sample, error) {
		return s.own("bare", nil, "-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions),
			"-pipeline", strconv.Itoa(pipeline), "-duration", d.String(), "-keys", strconv.Itoa(keys))
	}}
}

// own runs one of the project's own peers.
func (s *stand) own(name string, env []string, args ...string) (sample, error) {
	o, err := s.doWith(env, s.peer(name), args...)
	p := sample{Command: s.plain(s.peer(name), args)}
	if err != nil {
		return p, err
	}
	var done struct {
		Requests uint64  `json:"requests"`
		P50Ns    float64 `json:"p50_ns"`
		P99Ns    float64 `json:"p99_ns"`
	}
	if err := json.Unmarshal([]byte(o.out), &done); err != nil {
		return p, fmt.Errorf("%s: %w: %s", name, err, tail(o.out))
	}
	p.Requests, p.P50Us, p.P99Us = done.Requests, done.P50Ns/1e3, done.P99Ns/1e3
	return p, p.charge(&o)
}
