package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/record"
)

// A closed load is also measured with a loop that does nothing but write and read. Its cost is the least that a client
// of the same design can have.
const (
	bareLoop      = "a bare loop"
	besideBare    = 1.05 // limit, relative to the bare loop's CPU per request, for a closed load without pipelining
	leastPossible = "the least possible: write, read, epoll and no more"
	bareRing      = "a bare loop, io_uring"
	leastByRing   = "the least possible with io_uring: a standing read a socket, a system call a turn"
)

// bare returns the bare loop, with epoll and with io_uring.
func (s *stand) bare(kind, where string, sessions, pipeline, keys int) []client {
	args := []string{"-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions),
		"-pipeline", strconv.Itoa(pipeline), "-keys", strconv.Itoa(keys)}
	return []client{
		s.own(bareLoop, "bare", nil, args...),
		s.own(bareRing, "bare", nil, append(args[:len(args):len(args)], "-uring")...),
	}
}

// library returns a client that is written as Go programs usually are: see peer/library.
func (s *stand) library(name string, env []string, kind, where string, sessions, rows int, more ...string) client {
	args := []string{"-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions), "-rows", strconv.Itoa(rows)}
	return s.own(name, "library", env, append(args, more...)...)
}

// own returns a client that runs one of the project's own peers. name is its name in the table.
func (s *stand) own(name, peer string, env []string, args ...string) client {
	return client{name: name, turn: func(d time.Duration) (sample, error) {
		return s.turn(env, s.peer(peer), append(args[:len(args):len(args)], "-duration", d.String()),
			func(out string, p *sample) error {
				var done struct {
					Requests uint64  `json:"requests"`
					P50Ns    float64 `json:"p50_ns"`
					P99Ns    float64 `json:"p99_ns"`
				}
				if err := json.Unmarshal([]byte(out), &done); err != nil {
					return fmt.Errorf("%s: %w: %s", peer, err, tail(out))
				}
				p.Requests, p.P50Us, p.P99Us = done.Requests, done.P50Ns/1e3, done.P99Ns/1e3
				return nil
			})
	}}
}

//go:embed plans/*.yml
var plans embed.FS

// plan writes a plan of the folder plans to a file. Unless length is "", it replaces the load's duration.
func (s *stand) plan(name, length string) (file string, err error) {
	text, err := plans.ReadFile("plans/" + name + ".yml")
	if err == nil && length != "" {
		text = bytes.Replace(text, []byte("duration: 5s"), []byte(length), 1)
	}
	file = filepath.Join(s.dir, name+".yml")
	return file, errors.Join(err, os.WriteFile(file, text, 0o644))
}

// ours is brunt as a client, with one event loop in the codec tier.
type ours struct {
	s     *stand
	brunt build    // if it isn't the one that was built from this folder
	plan  string   // name of a file in plans, without .yml
	where []string // flags for connecting to the server
	flags []string
	env   []string
	rate  float64           // open load, operations per second; 0 means closed
	look  func(*record.Run) // called with each turn's record; may be nil
}

// turn runs the plan for d and returns the results from its record.
func (c *ours) turn(d time.Duration) (sample, error) {
	file, err := c.s.plan(c.plan, "duration: "+d.String())
	if err != nil {
		return sample{}, err
	}
	bundle := filepath.Join(c.s.dir, "bundle")
	defer os.RemoveAll(bundle)
	args := []string{"run", file}
	if c.rate > 0 {
		args = []string{"rate", "-c", file, "--rate", fmt.Sprint(c.rate), "--duration", d.String()}
	}
	args = append(append(args, c.where...), "--tier", "codec", "--loops", "1", "--bundle", bundle, "--quiet", "--output",
		"json", "--no-setup")
	b := cmp.Or(c.brunt, c.s.brunt)
	if b.awake {
		args = append(args, "--awake", "off")
	}
	args = append(args, c.flags...)
	o, failure := c.s.do(c.env, b.program, args...)
	p := sample{Command: c.s.plain(b.program, args)}
	recorded, err := record.Open(record.OS{}, bundle)
	if err != nil {
		return p, fmt.Errorf("%w (%v)", err, failure)
	}
	run, _, err := recorded.Result()
	if err != nil {
		return p, err
	}
	if c.look != nil {
		c.look(run)
	}
	p.Requests, p.Failed = run.Total.Done, run.Total.Failed
	p.P50Us, p.P99Us = float64(run.Total.Service.P50Ns)/1e3, float64(run.Total.Service.P99Ns)/1e3
	if c.rate > 0 {
		p.LagP50Us, p.LagP99Us = float64(run.Total.Lag.P50Ns)/1e3, float64(run.Total.Lag.P99Ns)/1e3
	}
	if run.Total.Failed > 0 {
		return p, fmt.Errorf("%d of %d requests failed", run.Total.Failed, run.Total.Done)
	}
	// A closed load from one loop keeps the loop busy if the server is fast. The verdict then says so, but this load is
	// what is measured here.
	if run.Verdict.Result == "fail" {
		return p, fmt.Errorf("the run failed: %s", strings.Join(run.Verdict.Texts(), "; "))
	}
	return p, p.charge(&o)
}

// client returns c as a client with a name and further flags.
func (c *ours) client(name string, more ...string) client {
	with := *c
	with.flags = append(append([]string(nil), c.flags...), more...)
	made := client{name: name, turn: with.turn}
	for _, b := range c.s.older {
		old := with
		old.brunt = b
		made.older = append(made.older, client{name: b.client(name), turn: old.turn})
	}
	return made
}

// client returns the name of a client that runs an older build: name, and the file name of the program.
func (b build) client(name string) string { return name + ", " + filepath.Base(b.program) }
