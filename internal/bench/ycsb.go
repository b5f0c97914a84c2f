package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/testserver"
)

const ycsbRecords = 10_000

func goYCSB() (program, missing string) {
	return tool("GO_YCSB", "go-ycsb", "build it from github.com/pingcap/go-ycsb")
}

func postgresYCSB() group {
	return group{
		name:  "pg-ycsb",
		goals: []goal{{work: "PostgreSQL, workload C, 16 sessions, closed", ours: "brunt", peer: "go-ycsb", ratio: 0.52}},
		open: func(s *stand) ([]client, error) {
			program, missing := goYCSB()
			if missing != "" {
				return []client{{name: "go-ycsb", missing: missing}, {name: "brunt", missing: "nothing to compare with"}}, nil
			}
			pg, err := s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 512MB")))
			if err != nil {
				return nil, err
			}
			y := ycsb{s: s, program: program, database: "pg", threads: pgSessions, perS: 5_000, where: []string{"pg.host=" + pg.Host, "pg.port=" + strconv.Itoa(pg.Port), "pg.user=" + pg.User, "pg.db=" + pg.Database, "pg.sslmode=disable"}}
			if _, err := s.do(program, y.args("load")...); err != nil {
				return nil, err
			}
			if _, err := y.turn(time.Second); err != nil { // learns the rate
				return nil, err
			}
			return []client{s.postgres(pg, "pg-ycsb").client("brunt"), {name: "go-ycsb", turn: y.turn}}, nil
		},
	}
}

func redisYCSB() group {
	return group{
		name:  "redis-ycsb",
		goals: []goal{{work: "Redis, workload C (GET), 50 sessions, closed", ours: "brunt", peer: "go-ycsb", ratio: 0.48}},
		open: func(s *stand) ([]client, error) {
			program, missing := goYCSB()
			if missing != "" {
				return []client{{name: "go-ycsb", missing: missing}, {name: "brunt", missing: "nothing to compare with"}}, nil
			}
			r, err := s.started(testserver.Redis(s.tb))
			if err != nil {
				return nil, err
			}
			y := ycsb{s: s, program: program, database: "redis", threads: redisSessions, perS: 5_000, where: []string{"redis.addr=" + r.Addr, "redis.datatype=string"}}
			if _, err := s.do(program, y.args("load")...); err != nil {
				return nil, err
			}
			if _, err := y.turn(time.Second); err != nil {
				return nil, err
			}
			return []client{s.redis(r, "redis-ycsb").client("brunt"), {name: "go-ycsb", turn: y.turn}}, nil
		},
	}
}

// ycsb is go-ycsb on one database. It runs for a number of operations, not a time: the last turn's
// rate says how many.
type ycsb struct {
	s        *stand
	program  string
	database string
	threads  int
	perS     float64
	where    []string
}

func (y *ycsb) args(verb string, more ...string) []string {
	properties := append([]string{
		"workload=core", "recordcount=" + strconv.Itoa(ycsbRecords), "readproportion=1", "updateproportion=0", "scanproportion=0",
		"insertproportion=0", "requestdistribution=uniform", "insertorder=ordered", "threadcount=" + strconv.Itoa(y.threads),
	}, append(y.where, more...)...)
	args := []string{verb, y.database}
	for _, p := range properties {
		args = append(args, "-p", p)
	}
	return args
}

func (y *ycsb) turn(d time.Duration) (sample, error) {
	args := y.args("run", fmt.Sprintf("operationcount=%d", int(y.perS*d.Seconds())))
	o, err := y.s.do(y.program, args...)
	p := sample{Command: y.s.plain(y.program, args)}
	if err != nil {
		return p, err
	}
	_, summary, _ := strings.Cut(o.out, "Run finished")
	p.Requests = find(`READ\s+- .*?Count: (\d+)`, summary)
	p.P50Us = findFloat(`READ\s+- .*?50th\(us\): (\d+)`, summary)
	p.P99Us = findFloat(`READ\s+- .*?99th\(us\): (\d+)`, summary)
	p.Failed = find(`READ_ERROR\s+- .*?Count: (\d+)`, summary)
	if p.Failed > 0 {
		return p, fmt.Errorf("%d reads failed", p.Failed)
	}
	if perS := findFloat(`READ\s+- .*?OPS: ([\d.]+)`, summary); perS > 0 {
		y.perS = perS
	}
	return p, p.charge(&o)
}
