package main

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"brunt/internal/testserver"
)

// client is one of those that take turns.
type client struct {
	name    string
	missing string // why it can't take part; "" if it can
	turn    func(d time.Duration) (sample, error)
}

// goal is a row of the table: what ours should cost compared with a peer.
type goal struct {
	work       string
	ours, peer string  // clients' names
	ratio      float64 // of CPU a request, at most; 0 means none is set
	rate       float64 // of operations a second, at least; 0 means none is set
	costUs     float64 // CPU of a request of ours, µs, at most; 0 means none is set
	lagP99Us   float64 // of ours, at most; 0 means none is set
	tail       bool    // p99 of ours must not be above the peer's
}

// group is clients that take turns on one server.
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
		httpClosed(), httpOpen(10_000), httpOpen(20_000),
		echoLag(10_000), echoLag(50_000),
		startGroup(),
	}
}

// mostStolen is the share of all cores' time, taken by the hypervisor, beyond which a turn isn't quiet.
const mostStolen = 0.03

// rounds says how often the clients of a group take turns.
type rounds struct {
	least    int     // at least so often, and until there are as many quiet rounds
	most     int     // but not more often
	stolen   float64 // in place of mostStolen; 0 means that
	duration time.Duration
}

// measure lets the clients of a group take turns: forwards in the first round, backwards in the
// second, and so on. What a missing client would have done is left out.
func (s *stand) measure(g *group, r rounds) (map[string][]sample, error) {
	outer := s.tb
	s.tb = testserver.NewStandalone(os.Stderr)
	defer func() { s.tb.Close(); s.tb = outer }()
	clients, err := g.open(s)
	if err != nil {
		return nil, err
	}
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

// quietEnough reports whether every goal has so many quiet pairs of turns, but for those with a client
// that can't take part.
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
