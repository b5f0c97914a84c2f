package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"brunt/test/testserver"
)

// comparing compares brunt ycsb with go-ycsb: the same commands, properties and numbers of operations, one after
// another on one server.
func comparing(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("ycsb", flag.ContinueOnError)
	times := f.Int("rounds", 3, "how often each client has its turn")
	seconds := f.Int("seconds", 4, "about how long a turn of reads takes")
	records := f.Int("records", 1_000_000, "how many records a load inserts")
	only, older := onlyFlag(f), olderFlag(f)
	return withStand(ctx, f, args, func(s *stand) error {
		s.older = *older
		program, missing := goYCSB()
		if missing != "" {
			fmt.Println("not measured:", missing)
			return nil
		}
		var lines []line
		for _, c := range contests(program, *records) {
			if !only.MatchString(c.name) {
				continue
			}
			g := c.group()
			results, err := s.measure(&g, rounds{least: *times, duration: time.Duration(*seconds) * time.Second})
			if err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
			lines = append(lines, judge(&g, results)...)
		}
		printRates(os.Stdout, lines)
		return s.best.compare(os.Stdout, lines)
	})
}

// contest is a command of YCSB that both programs run on one database.
type contest struct {
	name, work string
	program    string // go-ycsb
	database   string
	threads    int
	records    int
	load       bool
	serve      func(s *stand) (server *testserver.Server, properties []string, empty func() error)

	s      *stand
	where  []string
	clear  func() error // called before a load; may be nil
	counts int          // number of operations in a turn of reads; 0 if not known yet
}

const (
	compareRecords = 10_000
	etcdRecords    = 1_000 // each record is a commit to disk
)

func contests(program string, loadRecords int) []*contest {
	var all []*contest
	for _, d := range []struct {
		database, title string
		records         int
		serve           func(*stand) (*testserver.Server, []string, func() error)
	}{
		{"pg", "PostgreSQL", compareRecords, servePostgres}, {"redis", "Redis", compareRecords, serveRedis},
		{"etcd", "etcd", etcdRecords, serveEtcd},
	} {
		for _, threads := range []int{16, 50} {
			all = append(all, &contest{
				name: fmt.Sprintf("%s-c-%d", d.database, threads), work: fmt.Sprintf("%s, workload C, %d threads", d.title,
					threads),
				program: program, database: d.database, threads: threads, records: d.records, serve: d.serve,
			})
		}
		if d.database != "etcd" {
			all = append(all, &contest{
				name: d.database + "-load", work: fmt.Sprintf("%s, load of %d records, 16 threads", d.title, loadRecords),
				program: program, database: d.database, threads: 16, records: loadRecords, load: true, serve: d.serve,
			})
		}
	}
	return all
}

const (
	oursName     = "brunt"
	oneByOneName = "brunt, load.pipeline=1"
	peerName     = "go-ycsb"
)

// goals returns what ours should reach, compared with go-ycsb.
func (c *contest) goals() []goal {
	if c.load {
		return []goal{{work: c.work, ours: oursName, peer: peerName, rate: 1.5},
			{work: c.work, ours: oneByOneName, peer: peerName, rate: 1.5}}
	}
	return []goal{{work: c.work, ours: oursName, peer: peerName, rate: 1, ratio: 0.6}}
}

func (c *contest) group() group {
	return group{name: c.name, goals: c.goals(), open: func(s *stand) ([]client, error) {
		if _, err := c.open(s); err != nil {
			return nil, err
		}
		clients := []client{c.ours(oursName), c.peer()}
		if c.load {
			return append(clients, c.ours(oneByOneName, "load.pipeline=1")), nil
		}
		return clients, c.calibrate(clients)
	}}
}

// open starts the server.
func (c *contest) open(s *stand) (*testserver.Server, error) {
	server, where, empty := c.serve(s)
	c.s, c.where, c.clear = s, append(where, c.where...), empty
	return s.started(server)
}

// calibrate loads the records and determines how many reads fill a turn's time. The clients then do this number of
// reads.
func (c *contest) calibrate(clients []client) error {
	if _, err := c.s.do(nil, c.program, c.args("load")...); err != nil {
		return err
	}
	c.counts = 20_000
	p, err := c.peer().turn(0)
	for i := range clients {
		clients[i].turn = c.filled(clients[i].turn, p.PerS)
		for k := range clients[i].older {
			clients[i].older[k].turn = c.filled(clients[i].older[k].turn, p.PerS)
		}
	}
	return err
}

// filled returns a turn of as many reads as take its time at a rate.
func (c *contest) filled(turn func(time.Duration) (sample, error), perS float64) func(time.Duration) (sample, error) {
	return func(d time.Duration) (sample, error) {
		c.counts = int(perS * d.Seconds())
		return turn(d)
	}
}

// ours returns this build as a client with further properties, together with the older builds.
func (c *contest) ours(name string, more ...string) client {
	made := client{name: name, turn: c.turn(&c.s.brunt, more...)}
	for i := range c.s.older {
		b := &c.s.older[i]
		made.older = append(made.older, client{name: b.client(name), turn: c.turn(b, more...)})
	}
	return made
}

func (c *contest) peer() client { return client{name: peerName, turn: c.turn(nil)} }

func (c *contest) args(verb string, more ...string) []string {
	properties := append([]string{
		"workload=core", "recordcount=" + strconv.Itoa(c.records), "readproportion=1", "updateproportion=0",
		"scanproportion=0",
		"insertproportion=0", "requestdistribution=uniform", "threadcount=" + strconv.Itoa(c.threads), "dropdata=true",
	}, append(c.where, more...)...)
	if verb == "run" {
		properties = append(properties, "dropdata=false")
	}
	args := []string{verb, c.database}
	for _, p := range properties {
		args = append(args, "-p", p)
	}
	return args
}

// turn returns a function that runs a build of brunt, or go-ycsb if ours is nil, for one turn. Both programs print the
// same lines and are parsed in the same way. The rate is the count divided by the time that the program reports.
func (c *contest) turn(ours *build, more ...string) func(time.Duration) (sample, error) {
	return func(time.Duration) (sample, error) {
		program := c.program
		args, operation := c.args("load", more...), "INSERT"
		if !c.load {
			args, operation = c.args("run", append(more, "operationcount="+strconv.Itoa(c.counts))...), "READ"
		} else if c.clear != nil {
			if err := c.clear(); err != nil {
				return sample{}, err
			}
		}
		if ours != nil {
			results := filepath.Join(c.s.dir, "results")
			defer os.RemoveAll(results)
			program, args = ours.program, append([]string{"ycsb"}, append(args, "--quiet", "--results", results)...)
			if ours.awake {
				args = append(args, "--awake", "off")
			}
		}
		return c.s.turn(nil, program, args, func(out string, p *sample) error {
			_, summary, _ := strings.Cut(out, "Run finished")
			value := func(name, field string) float64 {
				return findFloat(`(?m)^`+name+`\s+- .*? `+field+`: ([\d.]+)`, summary)
			}
			p.Requests, p.Failed = uint64(value(operation, "Count")), uint64(value(operation+"_ERROR", "Count"))
			p.P50Us, p.P99Us = value(operation, `50th\(us\)`), value(operation, `99th\(us\)`)
			m := regexp.MustCompile(`takes (\S+)`).FindStringSubmatch(summary)
			if m == nil {
				return fmt.Errorf("no time in the result: %s", tail(out))
			}
			if took, _ := time.ParseDuration(m[1]); took > 0 {
				p.PerS = float64(p.Requests) / took.Seconds()
			}
			if p.Failed > 0 {
				return fmt.Errorf("%d operations failed", p.Failed)
			}
			return nil
		})
	}
}

func goYCSB() (program, missing string) {
	return tool("GO_YCSB", "go-ycsb", "build it from github.com/pingcap/go-ycsb")
}

func postgresYCSB() group {
	return besideGoYCSB("pg-ycsb", "PostgreSQL, workload C, 16 sessions, closed", 0.52,
		contest{database: "pg", threads: pgSessions, serve: servePostgres},
		func(s *stand, pg *testserver.Server) *ours { return s.postgres(pg, "pg-ycsb") })
}

func redisYCSB() group {
	return besideGoYCSB("redis-ycsb", "Redis, workload C (GET), 50 sessions, closed", 0.48,
		contest{database: "redis", threads: redisSessions, serve: serveRedis, where: []string{"redis.datatype=string"}},
		func(s *stand, r *testserver.Server) *ours { return s.redis(r, "redis-ycsb") })
}

// besideGoYCSB compares reads of single records by one of brunt's plans with those by go-ycsb.
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
			peer := []client{c.peer()}
			return append(peer, mine(s, server).client(oursName)), c.calibrate(peer)
		},
	}
}

func servePostgres(s *stand) (*testserver.Server, []string, func() error) {
	pg := testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 512MB", "max_wal_size = 8GB"))
	return pg, []string{"pg.host=" + pg.Host, "pg.port=" + strconv.Itoa(pg.Port), "pg.user=" + pg.User, "pg.db=" +
		pg.Database, "pg.sslmode=disable"}, nil
}

func serveRedis(s *stand) (*testserver.Server, []string, func() error) {
	r := testserver.Redis(s.tb)
	return r, []string{"redis.addr=" + r.Addr},
		func() error { return evalRedis(r.Addr, "redis.call('FLUSHALL')\nreturn 1") }
}

func serveEtcd(s *stand) (*testserver.Server, []string, func() error) {
	e := testserver.Etcd(s.tb)
	return e, []string{"etcd.endpoints=" + e.Addr}, nil
}
