//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// redisCLI sends a command to the row's Redis.
func (sc *scene) redisCLI(words ...string) error {
	out, err := exec.Command("redis-cli", append([]string{"-p", fmt.Sprint(sc.server.Port)}, words...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("redis-cli %v: %w: %s", words, err, out)
	}
	return nil
}

// plantAfter is how long after the record has begun a cause is planted: the first look at the server must be before.
const plantAfter = time.Second

// commandsOf is the YAML of a command as a query.
func commandsOf(name, words, params string, weight int) string {
	return fmt.Sprintf("  - name: %s\n    command: [%s]\n    params: [%s]\n    weight: %d\n", name, words, params, weight)
}

const anyKey = "{type: Integer, range: [1, 100000]}"

// redisRow is a row of Redis. setup are command lines of redis-cli for an empty server with 100,000 keys.
func redisRow(cause, planted string, want []string, queries string, rate int, setup ...[]string) row {
	return row{System: "redis", Cause: cause, Planted: planted, Want: want, Server: "redis",
		Start: func(st *stage) *testserver.Server { return testserver.Redis(st.tb) },
		Prepare: func(sc *scene) (func(), error) {
			reset := [][]string{{"config", "set", "maxmemory", "0"}, {"config", "set", "maxmemory-policy", "noeviction"},
				{"flushall"},
				{"eval", "for i=1,100000 do redis.call('SET','k:'..i,string.rep('x',100)) end", "0"}}
			for _, words := range append(reset, setup...) {
				if err := sc.redisCLI(words...); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		Plan: "queries:\n" + queries + openLoad(8, rate),
		Flags: func(sc *scene) []string {
			return []string{"--proto", "redis", "-a", sc.server.Addr, "--inspect", "auto"}
		}}
}

func redisRows() []row {
	get := commandsOf("get", `GET, "k:$1"`, anyKey, 9)
	set := commandsOf("set", `SET, "k:$1", "$1"`, anyKey, 9)
	list := []string{"eval", "for i=1,100000 do redis.call('SADD','all',i) redis.call('HSET','hash',i,i) end", "0"}
	script := `EVAL, "local n=0 for i=1,1000000 do n=n+i end return n + $1", 0`
	all := []row{
		redisRow("healthy-reads", "short reads and writes", nil, get+set, 200),
		redisRow("healthy-hashes", "short commands of hashes", nil, commandsOf("hset", `HSET, "h:$1", a, "$1"`, anyKey, 1)+
			commandsOf("hget", `HGET, "h:$1", a`, anyKey, 1), 200),
		redisRow("keys", "a tenth of the commands is KEYS over 100,000 keys", []string{"slow-command"},
			get+commandsOf("search", `KEYS, "k:*$1"`, anyKey, 1), 50),
		redisRow("smembers", "a tenth of the commands reads a set of 100,000 members", []string{"slow-command", "big-value"},
			get+commandsOf("members", "SMEMBERS, all", "", 1), 40, list),
		redisRow("hgetall", "a tenth of the commands reads a hash of 100,000 fields", []string{"slow-command", "big-value"},
			get+commandsOf("whole", "HGETALL, hash", "", 1), 40, list),
		redisRow("script", "a tenth of the commands is a script that counts to a million", []string{"slow-script"},
			get+commandsOf("script", script, anyKey, 1), 50),
		redisRow("large-values", "half of the commands reads a value of 1 MB", []string{"big-value"},
			get+commandsOf("large", "GET, large", "", 9), 40,
			[]string{"eval", "redis.call('SET','large',string.rep('x',1000000))", "0"}),
		redisRow("oom", "memory is full, and nothing may be evicted", []string{"oom"}, get+set, 100,
			[]string{"config", "set", "maxmemory", "1mb"}),
		redisRow("eviction", "memory is full, and keys are evicted", []string{"eviction"},
			get+commandsOf("add", `SET, "new:$1", "$1"`, anyKey, 9), 200,
			[]string{"config", "set", "maxmemory-policy", "allkeys-lru"},
			[]string{"config", "set", "maxmemory", "10mb"}),
		redisRow("hot-key", "half of the commands ask for one key", []string{"hot-key"},
			get+commandsOf("session", "GET, session", "", 9), 200, []string{"set", "session", "x"}),
		redisRow("wrong-type", "a twentieth of the commands treats strings as lists", []string{"command-errors"},
			get+commandsOf("push", `LPUSH, "k:$1", x`, anyKey, 1), 100),
	}
	restart := redisRow("resync", "a replica is added during the load", []string{"resync"}, get+set, 100)
	restart.During = func(ctx context.Context, sc *scene) {
		if !sc.underWay(ctx) {
			return
		}
		replica := testserver.Redis(sc.tb)
		other := *sc
		other.server = replica
		protocol.Sleep(ctx, plantAfter)
		_ = other.redisCLI("replicaof", sc.server.Host, fmt.Sprint(sc.server.Port))
		protocol.Sleep(ctx, sc.length)
		_ = other.redisCLI("replicaof", "no", "one")
	}
	return append(append(all, restart), redisMachine(get, set)...)
}
