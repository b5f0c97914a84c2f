package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/test/testserver"
	"brunt/tools/peers"
)

const httpSessions = 50

func httpClosed() group {
	work := "HTTP, 612-byte file, 50 sessions, closed"
	return group{
		name: "http-closed",
		goals: []goal{
			{work: work, ours: "brunt", peer: "wrk -t1", ratio: 0.78, tail: true},
			{work: work, ours: "brunt", peer: bareLoop, ratio: besideBare},
			{work: leastPossible, ours: bareLoop, peer: "wrk -t1"},
			{work: leastByRing, ours: bareRing, peer: bareLoop},
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
			wrk, err := needed("wrk", "wrk")
			if err != nil {
				return nil, err
			}
			return append([]client{
				mine.client("brunt"), s.wrkClient(wrk, url),
				s.built("hey", peers.Hey, url, s.hey), s.built("vegeta", peers.Vegeta, url, s.vegeta),
				s.built("slow_cooker", peers.SlowCooker, url, s.slowCooker),
			}, s.bare("http", address, httpSessions, 1, 1)...), nil
		},
	}
}

// asWrk compares brunt as wrk with wrk.
func asWrk() group {
	return group{
		name:  "as-wrk",
		goals: []goal{{work: "HTTP, 612-byte file, 50 sessions, closed", ours: "brunt as wrk", peer: "wrk -t1", ratio: 1.05}},
		open: func(s *stand) ([]client, error) {
			_, address, err := s.nginx()
			if err != nil {
				return nil, err
			}
			url := "http://" + address + "/"
			wrk, err := needed("wrk", "wrk")
			return []client{s.wrkClient(wrk, url), {name: "brunt as wrk", turn: func(d time.Duration) (sample, error) {
				return s.wrkArgs(s.brunt.program, []string{"as", "wrk", "--no-record", "--awake", "off"}, url, d)
			}}}, err
		},
	}
}

// asAB compares brunt as ab with ab.
func asAB() group {
	return group{
		name:  "as-ab",
		goals: []goal{{work: "HTTP, 612-byte file, 50 sessions, closed", ours: "brunt as ab", peer: "ab -k"}},
		open: func(s *stand) ([]client, error) {
			_, address, err := s.nginx()
			if err != nil {
				return nil, err
			}
			url := "http://" + address + "/"
			ab, err := needed("ab", "apache2-utils")
			return []client{
				{name: "ab -k", turn: func(d time.Duration) (sample, error) { return s.ab(ab, nil, url, d) }},
				{name: "brunt as ab", turn: func(d time.Duration) (sample, error) {
					return s.ab(s.brunt.program, []string{"as", "ab", "--no-record"}, url, d)
				}},
			}, err
		},
	}
}

// mostOfAB is a number of requests that no turn reaches: ab takes memory for each.
const mostOfAB = 2_000_000

func (s *stand) ab(program string, before []string, url string, d time.Duration) (sample, error) {
	args := append(before, "-k", "-c", strconv.Itoa(httpSessions), "-t", strconv.Itoa(int(d.Seconds())), "-n",
		strconv.Itoa(mostOfAB), url)
	return s.turn(nil, program, args, func(out string, p *sample) error {
		p.Requests = find(`Complete requests:\s+(\d+)`, out)
		if failed := find(`Failed requests:\s+(\d+)`, out); failed > 0 {
			return fmt.Errorf("%d requests failed: %s", failed, tail(out))
		}
		return nil
	})
}

func (s *stand) wrkClient(wrk, url string) client {
	return client{name: "wrk -t1", turn: func(d time.Duration) (sample, error) { return s.wrk(wrk, url, d) }}
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
			mine.rate = float64(rate)
			wrk2, missing := tool("WRK2", "wrk2", "build it from github.com/giltene/wrk2")
			return []client{
				mine.client("brunt"), mine.client("brunt --timing-tolerance 200us", "--timing-tolerance", "200us"),
				mine.client("brunt --timing-tolerance 1ms", "--timing-tolerance", "1ms"),
				{name: "wrk2", missing: missing, turn: func(d time.Duration) (sample, error) {
					return s.wrk(wrk2, "http://"+address+"/", d, "-R", strconv.Itoa(rate))
				}},
			}, nil
		},
	}
}

// nginx starts a web server with one worker for each of the servers' cores.
func (s *stand) nginx() (mine *ours, address string, err error) {
	n, err := s.started(testserver.Nginx(s.tb, testserver.Workers(len(s.servers))))
	if err != nil {
		return nil, "", err
	}
	mine = &ours{s: s, plan: "http-page", where: []string{"--proto", "http", "-a", n.Addr, "--vu",
		strconv.Itoa(httpSessions)}}
	return mine, n.Addr, nil
}

// wrk runs wrk or wrk2, which accept the same flags and print the same lines.
func (s *stand) wrk(program, url string, d time.Duration, more ...string) (sample, error) {
	return s.wrkArgs(program, nil, url, d, more...)
}

// wrkArgs is wrk with arguments before those of wrk.
func (s *stand) wrkArgs(program string, before []string, url string, d time.Duration, more ...string) (sample, error) {
	args := append(before, "-t1", "-c", strconv.Itoa(httpSessions), "-d", strconv.Itoa(int(d.Seconds()))+"s",
		"--latency")
	args = append(args, more...)
	return s.turn(nil, program, append(args, url), func(out string, p *sample) error {
		p.Requests = find(`(\d+) requests in `, out)
		p.P50Us, p.P99Us = wrkTime(`50(?:\.000)?%\s+(\S+)`, out), wrkTime(`\b99(?:\.000)?%\s+(\S+)`, out)
		if strings.Contains(out, "Non-2xx") || strings.Contains(out, "Socket errors") {
			return fmt.Errorf("requests failed: %s", tail(out))
		}
		return nil
	})
}

// wrkTime parses a time such as 261.00us or 5.23ms, and returns it in µs.
func wrkTime(pattern, text string) float64 {
	us := findFloat(strings.Replace(pattern, `(\S+)`, `([\d.]+)us`, 1), text)
	ms := findFloat(strings.Replace(pattern, `(\S+)`, `([\d.]+)ms`, 1), text)
	s := findFloat(strings.Replace(pattern, `(\S+)`, `([\d.]+)s\b`, 1), text)
	return us + 1e3*ms + 1e6*s
}

func (s *stand) hey(program, url string, d time.Duration) (sample, error) {
	return s.turn(nil, program, []string{"-c", strconv.Itoa(httpSessions), "-z", d.String(), url},
		func(out string, p *sample) error {
			p.Requests = find(`\[200\]\s+(\d+) responses`, out)
			p.P50Us, p.P99Us = 1e6*findFloat(`50%% in ([\d.]+) secs`, out), 1e6*findFloat(`99%% in ([\d.]+) secs`, out)
			return nil
		})
}

// vegeta sends as fast as 50 workers can. Another process makes its report, whose CPU is not counted.
func (s *stand) vegeta(program, url string, d time.Duration) (sample, error) {
	targets, results := filepath.Join(s.dir, "targets"), filepath.Join(s.dir, "vegeta.bin")
	if err := os.WriteFile(targets, []byte("GET "+url+"\n"), 0o644); err != nil {
		return sample{}, err
	}
	defer os.Remove(results)
	args := []string{"attack", "-targets", targets, "-rate", "0", "-max-workers", strconv.Itoa(httpSessions), "-workers",
		strconv.Itoa(httpSessions), "-duration", d.String(), "-output", results}
	return s.turn(nil, program, args, func(_ string, p *sample) error {
		said, err := s.do(nil, program, "report", "-type=json", results)
		if err != nil {
			return err
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
			return fmt.Errorf("vegeta's report: %w", err)
		}
		p.Requests, p.P50Us, p.P99Us = report.Requests, report.Latencies.P50/1e3, report.Latencies.P99/1e3
		if report.Success < 1 {
			return fmt.Errorf("only %.4f of the requests succeeded", report.Success)
		}
		return nil
	})
}

// slowCookerQPS is the rate of each of slow_cooker's sessions. slow_cooker supports only open loads.
const slowCookerQPS = 400

func (s *stand) slowCooker(program, url string, d time.Duration) (sample, error) {
	n := int(httpSessions * slowCookerQPS * d.Seconds())
	args := []string{"-concurrency", strconv.Itoa(httpSessions), "-qps", strconv.Itoa(slowCookerQPS), "-totalRequests",
		strconv.Itoa(n), "-latencyUnit", "us", "-interval", "1s", url}
	return s.turn(nil, program, args, func(_ string, p *sample) error {
		p.Requests = uint64(n)
		return nil
	})
}
