//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// prepareToo makes a row prepare more after what it prepares already.
func (r *row) prepareToo(more func(sc *scene) (func(), error)) {
	before := r.Prepare
	r.Prepare = func(sc *scene) (func(), error) {
		if _, err := before(sc); err != nil {
			return nil, err
		}
		return more(sc)
	}
}

// redisMachine are rows about what Redis needs of its machine, and about its clients.
func redisMachine(get, set string) []row {
	busy := redisRow("cpu-bound", "16 sessions send scripts of 0.2 ms, as fast as they can",
		[]string{"cpu-bound", "process-thread"},
		commandsOf("script", `EVAL, "local n=0 for i=1,20000 do n=n+i end return n", 0`, "", 1), 1)
	busy.Plan = "queries:\n" + commandsOf("script", `EVAL, "local n=0 for i=1,20000 do n=n+i end return n", 0`, "", 1) +
		"sessions: 16\nload:\n  - closed: {sessions: 16, duration: {length}}\n"

	flushed := redisRow("fsync", "each command waits for an fsync that takes 20 ms longer", []string{"fsync"}, get+set, 30)
	flushed.Server = "flushing redis"
	flushed.prepareToo(func(sc *scene) (func(), error) {
		for _, words := range [][]string{{"config", "set", "appendonly", "yes"}, {"config", "set", "appendfsync", "always"},
			{"config", "set", "latency-monitor-threshold", "1"}} {
			if err := sc.redisCLI(words...); err != nil {
				return nil, err
			}
		}
		return slowed(sc.server.PID, "", 20*time.Millisecond)
	})

	forked := redisRow("fork", "400 MB are saved in the background", []string{"fork"}, get+set, 100,
		[]string{"eval", "for i=1,400 do redis.call('SET','m:'..i,string.rep('x',1000000)) end", "0"},
		[]string{"eval", "for i=1,1500000 do redis.call('SET','s:'..i,'x') end", "0"})
	forked.Server = "large redis"
	forked.During = func(ctx context.Context, sc *scene) {
		if sc.underWay(ctx) {
			protocol.Sleep(ctx, plantAfter)
			_ = sc.redisCLI("bgsave")
		}
	}

	unread := redisRow("slow-reader", "another client asks for 4 MB again and again and doesn't read them",
		[]string{"slow-reader", "process-unread"}, get+set, 100,
		[]string{"eval", "redis.call('SET','large',string.rep('x',4000000))", "0"})
	unread.During = func(ctx context.Context, sc *scene) {
		if !sc.underWay(ctx) {
			return
		}
		c, err := net.Dial("tcp", sc.server.Addr)
		if err != nil {
			return
		}
		defer c.Close()
		for range 10 {
			fmt.Fprint(c, "GET large\r\n")
		}
		<-ctx.Done()
	}

	moved := redisRow("moved", "another program asks one node for all keys", []string{"moved"}, get+set, 100)
	moved.Server = "redis cluster"
	moved.Start = func(st *stage) *testserver.Server {
		st.groups[moved.Server] = testserver.RedisCluster(st.tb).Nodes
		return st.groups[moved.Server][0]
	}
	moved.Prepare = nil
	moved.During = func(ctx context.Context, sc *scene) {
		for k := 0; ctx.Err() == nil && sc.underWay(ctx); k++ {
			_ = sc.redisCLI("get", fmt.Sprint("elsewhere:", k)) // an error, two times of three
			protocol.Sleep(ctx, 20*time.Millisecond)
		}
	}

	unloaded := redisRow("no-script", "a twentieth of the commands calls a script that isn't loaded",
		[]string{"command-errors"},
		get+commandsOf("cached", `EVALSHA, 0123456789012345678901234567890123456789, 0`, "", 1), 100)
	deleted := redisRow("delete", "sets of 200,000 members are deleted", []string{"slow-command"},
		get+commandsOf("drop", `DEL, "set:$1"`, "{type: Integer, range: [1, 12]}", 1), 50,
		[]string{"eval", "for k=1,12 do for i=1,200000 do redis.call('SADD','set:'..k,'member '..i) end end", "0"})
	return []row{busy, flushed, forked, unread, moved, unloaded, deleted}
}
