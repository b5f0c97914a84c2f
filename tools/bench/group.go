package main

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"brunt/test/testserver"
)

// client is a program that takes turns with others.
type client struct {
	name    string
	missing string // why the client can't take part; "" if it can
	turn    func(d time.Duration) (sample, error)
	older   []client // the same load by older builds of brunt
}

// goal is a row of the table: what ours should cost, compared with a peer.
type goal struct {
	work       string
	ours, peer string  // names of clients
	ratio      float64 // largest ratio of CPU per request; 0 means no goal
	rate       float64 // least ratio of operations per second; 0 means no goal
	costUs     float64 // our largest CPU per request, µs; 0 means no goal
	lagP99Us   float64 // our largest p99 of lag, µs; 0 means no goal
	tail       bool    // our p99 must not be above the peer's
}

// group is a set of clients that take turns on one server.
type group struct {
	name  string
	goals []goal
	slow  bool // an open load: fewer requests a second, so turns are twice as long
	// open starts the server and returns the clients.
	open func(s *stand) ([]client, error)
}

func groups() []group {
	return []group{
		postgresClosed(), postgresYCSB(), postgresOpen(),
		redisGet(1), redisGet(16), redisYCSB(),
		tarantoolVerb("call"), tarantoolVerb("select"), k6Tarantool(),
		httpClosed(), asWrk(), asAB(), httpOpen(10_000), httpOpen(20_000),
		echoLag(10_000), echoLag(50_000),
		startGroup(),
	}
}

// mostStolen is the largest share of all cores' time that the hypervisor may take in a quiet turn.
const mostStolen = 0.03

// rounds says how often the clients of a group take turns.
type rounds struct {
	least    int     // least number of rounds, and the number of quiet rounds to reach
	most     int     // largest number of rounds
	stolen   float64 // replaces mostStolen; 0 means mostStolen
	duration time.Duration
}

// measure lets the clients of a group take turns: forwards in the first round, backwards in the second, and so on.
// Missing clients are skipped. Results are by client's name.
func (s *stand) measure(g *group, r rounds) (map[string][]sample, error) {
	outer := s.tb
	s.tb = testserver.NewStandalone(os.Stderr)
	defer func() { s.tb.Close(); s.tb = outer }()
	clients, err := g.open(s)
	if err != nil {
		return nil, err
	}
	clients = g.withOlder(clients)
	d := r.duration
	if g.slow {
		d *= 2
	}
	results := make(map[string][]sample)
	for _, c := range clients {
		if c.missing != "" {
			results[c.name] = []sample{{Fault: c.missing}}
		}
	}
	for round := 0; round < r.least || round < r.most && !g.quietEnough(results, r.least); round++ {
		for k := range clients {
			if round%2 == 1 {
				k = len(clients) - 1 - k
			}
			c := &clients[k]
			if c.missing != "" {
				continue
			}
			at, load, lost := time.Now(), load1(), stolen()
			p, err := c.turn(d)
			p.Stolen = (stolen() - lost) / (time.Since(at).Seconds() * float64(len(s.servers)+len(s.clients)))
			p.Quiet = p.Stolen <= cmp.Or(r.stolen, mostStolen)
			p.At, p.Group, p.Client, p.Round, p.Load1 = at.UTC(), g.name, c.name, round+1, load
			if err != nil {
				p.Fault = err.Error()
			} else if p.PerS == 0 {
				p.PerS = float64(p.Requests) / d.Seconds()
			}
			if s.ctx.Err() != nil {
				return nil, s.ctx.Err()
			}
			fmt.Fprintf(os.Stderr, "%-20s %-26s round %d  %7.2f µs/request  %8d requests  %4.1f %% stolen  %s\n", g.name, c.name,
				round+1, p.CPUUs, p.Requests, 100*p.Stolen, p.Fault)
			if err := s.raw.AppendJSON(p); err != nil {
				return nil, err
			}
			results[c.name] = append(results[c.name], p)
		}
	}
	return results, nil
}

// slowerThanOlder is the largest ratio of CPU per request of this build to that of an older one.
const slowerThanOlder = 1.03

// withOlder adds the older builds of each client to clients, and a goal for each to the group.
func (g *group) withOlder(clients []client) []client {
	var all []client
	for _, c := range clients {
		all = append(append(all, c), c.older...)
		for _, o := range c.older {
			g.goals = append(g.goals, goal{work: g.name + ", an older build", ours: c.name, peer: o.name,
				ratio: slowerThanOlder, tail: true})
		}
	}
	return all
}

// quietEnough reports whether every goal has at least n quiet pairs of turns. Goals with a client that can't take part
// are ignored.
func (g *group) quietEnough(results map[string][]sample, n int) bool {
	for i := range g.goals {
		pairs, possible := g.goals[i].pairs(results)
		quiet := 0
		for _, p := range pairs {
			if p.quiet() {
				quiet++
			}
		}
		if possible && quiet < n {
			return false
		}
	}
	return true
}
