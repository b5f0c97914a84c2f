package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/peers"
	"brunt/internal/testserver"
)

const httpSessions = 50

func httpClosed() group {
	work := "HTTP, 612-byte file, 50 sessions, closed"
	return group{
		name: "http-closed",
		goals: []goal{
			{work: work, ours: "brunt", peer: "wrk -t1", ratio: 0.78, tail: true},
			{work: leastPossible, ours: bareLoop, peer: "wrk -t1"},
			{work: work, ours: "brunt", peer: "hey", ratio: 0.3},
			{work: work, ours: "brunt", peer: "vegeta", ratio: 0.25},
			{work: work, ours: "brunt", peer: "slow_cooker", ratio: 0.25},
		},
		open: func(s *stand) ([]client, error) {
			mine, address, err := s.nginx()
			if err != nil {
				return nil, err
			}
			url := "http://" + address + "/"
			wrk, missing := tool("", "wrk", "install it: apt-get install -y wrk")
			if missing != "" {
				return nil, errors.New(missing)
			}
			hey, noHey := s.built(peers.Hey)
			vegeta, noVegeta := s.built(peers.Vegeta)
			cooker, noCooker := s.built(peers.SlowCooker)
			return []client{
				mine.client("brunt"),
				{name: "wrk -t1", turn: func(d time.Duration) (sample, error) { return s.wrk(wrk, url, d) }},
				s.bare("http", address, httpSessions, 1, 1),
				{name: "hey", missing: noHey, turn: func(d time.Duration) (sample, error) { return s.hey(hey, url, d) }},
				{name: "vegeta", missing: noVegeta, turn: func(d time.Duration) (sample, error) { return s.vegeta(vegeta, url, d) }},
				{name: "slow_cooker", missing: noCooker, turn: func(d time.Duration) (sample, error) { return s.slowCooker(cooker, url, d) }},
			}, nil
		},
	}
}

func httpOpen(rate int) group {
	work := fmt.Sprintf("HTTP, open, %d 000/s", rate/1000)
	return group{
		name: fmt.Sprintf("http-open-%dk", rate/1000),
		slow: true,
		goals: []goal{
			{work: work, ours: "brunt", peer: "wrk2", lagP99Us: 35},
			{work: work + ", 200 µs tolerance", ours: "brunt --timing-tolerance 200us", peer: "wrk2", ratio: 0.95},
			{work: work + ", 1 ms tolerance", ours: "brunt --timing-tolerance 1ms", peer: "wrk2", ratio: 0.72},
		},
		open: func(s *stand) ([]client, error) {
			mine, address, err := s.nginx()
			if err != nil {
				return nil, err
			}
			url := "http://" + address + "/"
			mine.rate = float64(rate)
			wrk2, missing := tool("WRK2", "wrk2", "build it from github.com/giltene/wrk2")
			return []client{
				mine.client("brunt"), mine.client("brunt --timing-tolerance 200us", "--timing-tolerance", "200us"),
				mine.client("brunt --timing-tolerance 1ms", "--timing-tolerance", "1ms"),
				{name: "wrk2", missing: missing, turn: func(d time.Duration) (sample, error) {
					return s.wrk(wrk2, url, d, "-R", strconv.Itoa(rate))
				}},
			}, nil
		},
	}
}

// nginx starts a web server with a worker for each of the servers' cores.
func (s *stand) nginx() (mine *ours, address string, err error) {
	n, err := s.started(testserver.Nginx(s.tb, testserver.Workers(len(s.servers))))
	if err != nil {
		return nil, "", err
	}
	mine = &ours{s: s, plan: "http-page", where: []string{"--proto", "http", "-a", n.Addr, "--vu", strconv.Itoa(httpSessions)}}
	return mine, n.Addr, nil
}

// wrk runs wrk or wrk2, which take the same flags and print the same lines.
func (s *stand) wrk(program, url string, d time.Duration, more ...string) (sample, error) {
	args := append([]string{"-t1", "-c", strconv.Itoa(httpSessions), "-d", strconv.Itoa(int(d.Seconds())) + "s", "--latency"}, more...)
	args = append(args, url)
	o, err := s.do(program, args...)
	p := sample{Command: s.plain(program, args)}
	if err != nil {
		return p, err
	}
	p.Requests = find(`(\d+) requests in `, o.out)
	p.P50Us, p.P99Us = wrkTime(`50(?:\.000)?%\s+(\S+)`, o.out), wrkTime(`\b99(?:\.000)?%\s+(\S+)`, o.out)
	if strings.Contains(o.out, "Non-2xx") || strings.Contains(o.out, "Socket errors") {
		return p, fmt.Errorf("requests failed: %s", tail(o.out))
	}
	return p, p.charge(&o)
}

// wrkTime reads a time such as 261.00us or 5.23ms, in µs.
func wrkTime(pattern, text string) float64 {
	us := findFloat(strings.Replace(pattern, `(\S+)`, `([\d.]+)us`, 1), text)
	ms := findFloat(strings.Replace(pattern, `(\S+)`, `([\d.]+)ms`, 1), text)
	s := findFloat(strings.Replace(pattern, `(\S+)`, `([\d.]+)s\b`, 1), text)
	return us + 1e3*ms + 1e6*s
}

func (s *stand) hey(program, url string, d time.Duration) (sample, error) {
	args := []string{"-c", strconv.Itoa(httpSessions), "-z", d.String(), url}
	o, err := s.do(program, args...)
	p := sample{Command: s.plain(program, args)}
	if err != nil {
		return p, err
	}
	p.Requests = find(`\[200\]\s+(\d+) responses`, o.out)
	p.P50Us, p.P99Us = 1e6*findFloat(`50%% in ([\d.]+) secs`, o.out), 1e6*findFloat(`99%% in ([\d.]+) secs`, o.out)
	return p, p.charge(&o)
}

// vegeta sends as fast as 50 workers can. Its report is made by another process, which isn't
// charged.
func (s *stand) vegeta(program, url string, d time.Duration) (sample, error) {
	targets, results := filepath.Join(s.dir, "targets"), filepath.Join(s.dir, "vegeta.bin")
	if err := os.WriteFile(targets, []byte("GET "+url+"\n"), 0o644); err != nil {
		return sample{}, err
	}
	defer os.Remove(results)
	args := []string{"attack", "-targets", targets, "-rate", "0", "-max-workers", strconv.Itoa(httpSessions), "-workers", strconv.Itoa(httpSessions), "-duration", d.String(), "-output", results}
	o, err := s.do(program, args...)
	p := sample{Command: s.plain(program, args)}
	if err != nil {
		return p, err
	}
	said, err := s.do(program, "report", "-type=json", results)
	if err != nil {
		return p, err
	}
	var report struct {
		Requests  uint64  `json:"requests"`
		Success   float64 `json:"success"`
		Latencies struct {
			P50 float64 `json:"50th"`
			P99 float64 `json:"99th"`
		} `json:"latencies"`
	}
	if err := json.Unmarshal([]byte(said.out), &report); err != nil {
		return p, fmt.Errorf("vegeta's report: %w", err)
	}
	p.Requests, p.P50Us, p.P99Us = report.Requests, report.Latencies.P50/1e3, report.Latencies.P99/1e3
	if report.Success < 1 {
		return p, fmt.Errorf("only %.4f of the requests succeeded", report.Success)
	}
	return p, p.charge(&o)
}

// slowCookerQPS is the rate of each of slow_cooker's sessions, which only knows open loads.
const slowCookerQPS = 400

func (s *stand) slowCooker(program, url string, d time.Duration) (sample, error) {
	n := int(httpSessions * slowCookerQPS * d.Seconds())
	args := []string{"-concurrency", strconv.Itoa(httpSessions), "-qps", strconv.Itoa(slowCookerQPS), "-totalRequests", strconv.Itoa(n), "-latencyUnit", "us", "-interval", "1s", url}
	o, err := s.do(program, args...)
	p := sample{Command: s.plain(program, args)}
	if err != nil {
		return p, err
	}
	p.Requests = uint64(n)
	return p, p.charge(&o)
}
