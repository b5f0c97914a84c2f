package main

import (
	"strconv"

	"brunt/internal/testserver"
)

func goYCSB() (program, missing string) {
	return tool("GO_YCSB", "go-ycsb", "build it from github.com/pingcap/go-ycsb")
}

func postgresYCSB() group {
	return besideGoYCSB("pg-ycsb", "PostgreSQL, workload C, 16 sessions, closed", 0.52, contest{database: "pg", threads: pgSessions, serve: servePostgres},
		func(s *stand, pg *testserver.Server) *ours { return s.postgres(pg, "pg-ycsb") })
}

func redisYCSB() group {
	return besideGoYCSB("redis-ycsb", "Redis, workload C (GET), 50 sessions, closed", 0.48, contest{database: "redis", threads: redisSessions, serve: serveRedis, where: []string{"redis.datatype=string"}},
		func(s *stand, r *testserver.Server) *ours { return s.redis(r, "redis-ycsb") })
}

// besideGoYCSB is reads of single records, by a plan of brunt's and by go-ycsb.
func besideGoYCSB(name, work string, ratio float64, c contest, mine func(*stand, *testserver.Server) *ours) group {
	return group{
		name: name, goals: []goal{{work: work, ours: oursName, peer: peerName, ratio: ratio}},
		open: func(s *stand) ([]client, error) {
			var missing string
			if c.program, missing = goYCSB(); missing != "" {
				return []client{{name: peerName, missing: missing}, {name: oursName, missing: "nothing to compare with"}}, nil
			}
			c.records, c.where = compareRecords, append(c.where, "insertorder=ordered")
			server, err := c.open(s)
			if err != nil {
				return nil, err
			}
			peer := []client{{name: peerName, turn: c.turn(c.program)}}
			return append(peer, mine(s, server).client(oursName)), c.calibrate(peer)
		},
	}
}

func servePostgres(s *stand) (*testserver.Server, []string, func() error) {
	pg := testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 512MB", "max_wal_size = 8GB"))
	return pg, []string{"pg.host=" + pg.Host, "pg.port=" + strconv.Itoa(pg.Port), "pg.user=" + pg.User, "pg.db=" + pg.Database, "pg.sslmode=disable"}, nil
}

func serveRedis(s *stand) (*testserver.Server, []string, func() error) {
	r := testserver.Redis(s.tb)
	return r, []string{"redis.addr=" + r.Addr}, func() error { return evalRedis(r.Addr, "redis.call('FLUSHALL')\nreturn 1") }
}

func serveEtcd(s *stand) (*testserver.Server, []string, func() error) {
	e := testserver.Etcd(s.tb)
	return e, []string{"etcd.endpoints=" + e.Addr}, nil
}
