package main

import (
	"time"
)

// startGroup measures what a start costs: brunt next to a Go program that does nothing.
func startGroup() group {
	return group{
		name:  "start",
		goals: []goal{{work: "a start, of brunt version", ours: "brunt", peer: emptyProgram, costUs: 15_000}},
		open: func(s *stand) ([]client, error) {
			return []client{s.starts("brunt", s.brunt, "version"), s.starts(emptyProgram, s.peer("bare"), "-kind", "none")}, nil
		},
	}
}

const emptyProgram = "an empty Go program"

// starts is a program as a client whose requests are its starts, one after the other.
func (s *stand) starts(name, program string, args ...string) client {
	return client{name: name, turn: func(d time.Duration) (sample, error) {
		p := sample{Command: s.plain(program, args)}
		var all outcome
		for began := time.Now(); time.Since(began) < d; p.Requests++ {
			o, err := s.do(nil, program, args...)
			if err != nil {
				return p, err
			}
			all.user, all.sys, all.wall = all.user+o.user, all.sys+o.sys, all.wall+o.wall
		}
		return p, p.charge(&all)
	}}
}
