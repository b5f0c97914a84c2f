package main

import (
	"fmt"
	"time"
)

// echoLag compares the lag that brunt reports with the lag that the receiver measures.
func echoLag(rate int) group {
	clients := []struct {
		name  string
		flags []string
	}{{"brunt", nil}, {"brunt --spin 60us", []string{"--spin", "60us"}}}
	g := group{name: fmt.Sprintf("echo-lag-%dk", rate/1000)}
	for _, c := range clients {
		work := fmt.Sprintf("echo, open, %d 000/s", rate/1000)
		limit := 35.0
		if c.flags != nil {
			work, limit = work+", --spin 60us", 0
		}
		g.goals = append(g.goals, goal{work: work, ours: c.name, lagP99Us: limit})
	}
	g.open = func(s *stand) ([]client, error) {
		var all []client
		for _, c := range clients {
			all = append(all, client{name: c.name, turn: func(d time.Duration) (sample, error) {
				r, err := s.receiver()
				if err != nil {
					return sample{}, err
				}
				mine := &ours{s: s, plan: "echo", where: []string{"--proto", "echo", "-a", r.address, "--vu", "50"}, flags: c.flags,
					rate: float64(rate)}
				p, failure := mine.turn(d)
				seen, err := r.stop(rate)
				if err != nil {
					return p, err
				}
				p.SeenP50Us, p.SeenP99Us = seen.P50Us, seen.P99Us
				if failure == nil && seen.Requests != p.Requests {
					failure = fmt.Errorf("the receiver saw %d requests of %d", seen.Requests, p.Requests)
				}
				return p, failure
			}})
		}
		return all, nil
	}
	return g
}
