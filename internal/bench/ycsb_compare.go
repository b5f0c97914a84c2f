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

	"brunt/internal/testserver"
)

// comparing measures brunt ycsb beside go-ycsb: the same commands, properties and numbers of
// operations, one after the other on one server.
func comparing(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("ycsb", flag.ContinueOnError)
	times := f.Int("rounds", 3, "how often each client has its turn")
	seconds := f.Int("seconds", 4, "about how long a turn of reads takes")
	records := f.Int("records", 1_000_000, "how many records a load inserts")
	only := f.String("only", "", "measure only the groups whose name matches this regular expression")
	out := f.String("out", "docs/bench", "folder for the raw runs")
	if err := f.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	program, missing := goYCSB()
	if missing != "" {
		fmt.Println("not measured:", missing)
		return nil
	}
	s, err := newStand(ctx, *out, "ycsb")
	if err != nil {
		return err
	}
	defer s.close()
	var lines []ratioLine
	for _, c := range contests(program, *records) {
		if !wanted.MatchString(c.name) {
			continue
		}
		g := c.group()
		results, err := s.measure(&g, rounds{least: *times, duration: time.Duration(*seconds) * time.Second})
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		lines = append(lines, c.judge(results)...)
	}
	printRatios(os.Stdout, lines)
	fmt.Printf("\nraw runs: %s\n", s.raw.path)
	return nil
}

// contest is a command of YCSB that both programs carry out on one database.
type contest struct {
	name, work string
	program    string // go-ycsb
	database   string
	threads    int
	records    int
	load       bool
	serve      func(s *stand) (properties []string, clear func() error, err error)

	s      *stand
	where  []string
	clear  func() error // before a load; may be nil
	counts int          // of operations of a turn of reads; 0 until it is known
}

const (
	compareRecords = 10_000
	etcdRecords    = 1_000 // each is a commit to disk
)

func contests(program string, loadRecords int) []*contest {
	var all []*contest
	for _, d := range []struct {
		database, title string
		records         int
		serve           func(*stand) ([]string, func() error, error)
	}{
		{"pg", "PostgreSQL", compareRecords, servePostgres}, {"redis", "Redis", compareRecords, serveRedis}, {"etcd", "etcd", etcdRecords, serveEtcd},
	} {
		for _, threads := range []int{16, 50} {
			all = append(all, &contest{
				name: fmt.Sprintf("%s-c-%d", d.database, threads), work: fmt.Sprintf("%s, workload C, %d threads", d.title, threads),
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

func servePostgres(s *stand) ([]string, func() error, error) {
	pg, err := s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 512MB", "max_wal_size = 8GB")))
	return []string{"pg.host=" + pg.Host, "pg.port=" + strconv.Itoa(pg.Port), "pg.user=" + pg.User, "pg.db=" + pg.Database, "pg.sslmode=disable"}, nil, err
}

func serveRedis(s *stand) ([]string, func() error, error) {
	r, err := s.started(testserver.Redis(s.tb))
	return []string{"redis.addr=" + r.Addr}, func() error { return evalRedis(r.Addr, "redis.call('FLUSHALL')\nreturn 1") }, err
}

func serveEtcd(s *stand) ([]string, func() error, error) {
	e, err := s.started(testserver.Etcd(s.tb))
	return []string{"etcd.endpoints=" + e.Addr}, nil, err
}

const (
	oursName     = "brunt"
	oneByOneName = "brunt, load.pipeline=1"
	peerName     = "go-ycsb"
)

func (c *contest) group() group {
	return group{name: c.name, open: func(s *stand) (clients []client, err error) {
		c.s = s
		if c.where, c.clear, err = c.serve(s); err != nil {
			return nil, err
		}
		clients = []client{{name: oursName, turn: c.turn(s.brunt)}, {name: peerName, turn: c.turn(c.program)}}
		if c.load {
			return append(clients, client{name: oneByOneName, turn: c.turn(s.brunt, "load.pipeline=1")}), nil
		}
		if _, err := s.do(c.program, c.args("load")...); err != nil {
			return nil, err
		}
		// A first turn of a fixed number says how many make a turn's time.
		c.counts = 20_000
		p, err := c.turn(c.program)(0)
		if err != nil {
			return nil, err
		}
		per := p.PerS
		for i := range clients {
			turn := clients[i].turn
			clients[i].turn = func(d time.Duration) (sample, error) {
				c.counts = int(per * d.Seconds())
				return turn(d)
			}
		}
		return clients, nil
	}}
}

func (c *contest) args(verb string, more ...string) []string {
	properties := append([]string{
		"workload=core", "recordcount=" + strconv.Itoa(c.records), "readproportion=1", "updateproportion=0", "scanproportion=0",
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

// turn gives a program one turn. Both print the same lines, so they are read alike; the rate is
// the count over the time that the program says it took.
func (c *contest) turn(program string, more ...string) func(time.Duration) (sample, error) {
	return func(time.Duration) (sample, error) {
		args, operation := c.args("load", more...), "INSERT"
		if !c.load {
			args, operation = c.args("run", append(more, "operationcount="+strconv.Itoa(c.counts))...), "READ"
		} else if c.clear != nil {
			if err := c.clear(); err != nil {
				return sample{}, err
			}
		}
		if program == c.s.brunt {
			results := filepath.Join(c.s.dir, "results")
			defer os.RemoveAll(results)
			args = append([]string{"ycsb"}, append(args, "--awake", "off", "--quiet", "--results", results)...)
		}
		o, err := c.s.do(program, args...)
		p := sample{Command: c.s.plain(program, args)}
		if err != nil {
			return p, err
		}
		_, summary, _ := strings.Cut(o.out, "Run finished")
		value := func(name, field string) float64 {
			return findFloat(`(?m)^`+name+`\s+- .*? `+field+`: ([\d.]+)`, summary)
		}
		p.Requests, p.Failed = uint64(value(operation, "Count")), uint64(value(operation+"_ERROR", "Count"))
		p.P50Us, p.P99Us = value(operation, `50th\(us\)`), value(operation, `99th\(us\)`)
		took, err := time.ParseDuration(strings.TrimSpace(firstGroup(`takes (\S+)`, summary)))
		if err != nil || took <= 0 {
			return p, fmt.Errorf("no time in the result: %s", tail(o.out))
		}
		p.PerS = float64(p.Requests) / took.Seconds()
		if p.Failed > 0 {
			return p, fmt.Errorf("%d operations failed", p.Failed)
		}
		return p, p.charge(&o)
	}
}

func firstGroup(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
