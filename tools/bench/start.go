package main

import (
	"time"
)

// startGroup compares the cost of starting brunt with that of a Go program that does nothing.
func startGroup() group {
	return group{
		name:  "start",
		goals: []goal{{work: "a start, of brunt version", ours: "brunt", peer: emptyProgram, costUs: 15_000}},
		open: func(s *stand) ([]client, error) {
			ours := s.starts("brunt", s.brunt.program, "version")
			for _, b := range s.older {
				ours.older = append(ours.older, s.starts(b.client("brunt"), b.program, "--version"))
			}
			return []client{ours, s.starts(emptyProgram, s.peer("bare"), "-kind", "none")}, nil
		},
	}
}

const emptyProgram = "an empty Go program"

// starts returns a client whose requests are starts of a program, one after another.
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
