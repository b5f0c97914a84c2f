package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"brunt/test/testserver"
)

const (
	redisSessions = 50
	redisKeys     = 100_000
)

// atPeersRate is an open load at the rate of redis-benchmark's last turn. In the closed loads, redis-benchmark is
// slower than the server, so that fewer of its requests wait there at a time than of brunt's. At one rate, the times of
// both can be compared.
const atPeersRate = "brunt at the peer's rate"

// fillRedis creates each key twice: once with the name in brunt's plan, and once with that of redis-benchmark.
const fillRedis = `for i = 1, 100000 do
	redis.call('SET', 'key:' .. i, 'xxx')
	redis.call('SET', string.format('key:%012d', i - 1), 'xxx')
end
return 1`

func redisGet(pipeline int) group {
	name, work, ratio, bare := "redis-get", "Redis GET, 50 sessions", 0.58, besideBare
	if pipeline > 1 {
		name, work = "redis-pipeline", fmt.Sprintf("Redis GET, 50 sessions, pipeline %d", pipeline)
		ratio, bare = 0.6, 1.2 // with many requests per write, encoding and scanning are a larger part
	}
	goals := []goal{
		{work: work, ours: "brunt", peer: "redis-benchmark", ratio: ratio, tail: pipeline == 1},
		{work: work, ours: "brunt", peer: bareLoop, ratio: bare},
		{work: leastPossible, ours: bareLoop, peer: "redis-benchmark"},
		{work: leastByRing, ours: bareRing, peer: bareLoop},
	}
	if pipeline == 1 {
		goals = append(goals, goal{work: "the same, as many a second as the peer", ours: atPeersRate, peer: "redis-benchmark",
			tail: true})
	}
	return group{
		name:  name,
		goals: goals,
		open: func(s *stand) ([]client, error) {
			program, err := needed("redis-benchmark", "redis-tools")
			if err != nil {
				return nil, err
			}
			r, err := s.started(testserver.Redis(s.tb))
			if err != nil {
				return nil, err
			}
			if err := evalRedis(r.Addr, fillRedis); err != nil {
				return nil, err
			}
			b := &redisBenchmark{s: s, program: program, server: r, pipeline: pipeline, perS: 50_000 * float64(pipeline)}
			if _, err := b.turn(time.Second); err != nil { // measures the rate
				return nil, err
			}
			mine := s.redis(r, "redis-get")
			mine.flags = []string{"--pipeline", strconv.Itoa(pipeline)}
			clients := append([]client{mine.client("brunt"), {name: "redis-benchmark", turn: b.turn}},
				s.bare("redis", r.Addr, redisSessions, pipeline, redisKeys)...)
			if pipeline == 1 {
				clients = append(clients, client{name: atPeersRate, turn: func(d time.Duration) (sample, error) {
					even := *mine
					even.rate = b.perS
					return even.turn(d)
				}})
			}
			return clients, nil
		},
	}
}

func (s *stand) redis(r *testserver.Server, plan string) *ours {
	return &ours{s: s, plan: plan, where: []string{"--proto", "redis", "-a", r.Addr, "--vu", strconv.Itoa(redisSessions)}}
}

// redisBenchmark runs redis-benchmark, which takes a number of requests instead of a duration. The number follows from
// the rate of the last turn.
type redisBenchmark struct {
	s        *stand
	program  string
	server   *testserver.Server
	pipeline int
	perS     float64
}

func (b *redisBenchmark) turn(d time.Duration) (sample, error) {
	n := int(b.perS * d.Seconds())
	args := []string{"-h", b.server.Host, "-p", strconv.Itoa(b.server.Port), "-c", strconv.Itoa(redisSessions), "-P",
		strconv.Itoa(b.pipeline),
		"-r", strconv.Itoa(redisKeys), "-n", strconv.Itoa(n), "--csv", "GET", "key:__rand_int__"}
	return b.s.turn(nil, b.program, args, func(out string, p *sample) error {
		// "test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
		rows, err := csv.NewReader(strings.NewReader(out[max(0, strings.Index(out, `"test"`)):])).ReadAll()
		if err != nil || len(rows) < 2 || len(rows[1]) < 7 {
			return fmt.Errorf("redis-benchmark's answer isn't its usual one: %s", tail(out))
		}
		field := func(i int) float64 { f, _ := strconv.ParseFloat(rows[1][i], 64); return f }
		p.Requests = uint64(n)
		p.P50Us, p.P99Us = 1000*field(4), 1000*field(6)
		b.perS = field(1)
		p.PerS = b.perS
		return nil
	})
}

// evalRedis runs a Lua script in the server.
func evalRedis(address, script string) error {
	c := redis.NewClient(&redis.Options{Addr: address})
	defer c.Close()
	if err := c.Eval(context.Background(), script, nil).Err(); err != nil {
		return fmt.Errorf("fill Redis: %w", err)
	}
	return nil
}
