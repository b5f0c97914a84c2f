package main

import (
	"bytes"
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

// A closed load is also measured with a loop that does nothing but write and read: what that costs of a
// peer is the least that any client of the same design can.
const (
	bareLoop      = "a bare loop"
	besideBare    = 1.05 // of the bare loop's CPU a request, for a closed load without pipelining
	leastPossible = "the least possible: write, read, epoll and no more"
)

func (s *stand) bare(kind, where string, sessions, pipeline, keys int) client {
	return s.own(bareLoop, "bare", nil, "-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions), "-pipeline",
		strconv.Itoa(pipeline), "-keys", strconv.Itoa(keys))
}

// library is a load as a Go program usually makes it: see peer/library.
func (s *stand) library(name string, env []string, kind, where string, sessions, rows int, more ...string) client {
	args := []string{"-kind", kind, "-where", where, "-sessions", strconv.Itoa(sessions), "-rows", strconv.Itoa(rows)}
	return s.own(name, "library", env, append(args, more...)...)
}

// own is one of the project's own peers, for the table by a name.
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

// plan writes a plan of the folder plans, by its name, with a load of another length unless that is "".
func (s *stand) plan(name, length string) (file string, err error) {
	text, err := plans.ReadFile("plans/" + name + ".yml")
	if err == nil && length != "" {
		text = bytes.Replace(text, []byte("duration: 5s"), []byte(length), 1)
	}
	file = filepath.Join(s.dir, name+".yml")
	return file, errors.Join(err, os.WriteFile(file, text, 0o644))
}

// ours is brunt as a client: one event loop over the codec.
type ours struct {
	s     *stand
	plan  string   // name of a file in plans, without its ending
	where []string // flags that say where the server is
	flags []string
	env   []string
	rate  float64           // open load, operations a second; 0 means closed
	look  func(*record.Run) // is shown each turn's record; may be nil
}

// turn runs the plan for d and reads what the record says of it.
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
	args = append(append(args, c.where...), "--tier", "codec", "--loops", "1", "--awake", "off", "--bundle", bundle,
		"--quiet", "--output", "json", "--no-setup")
	args = append(args, c.flags...)
	o, failure := c.s.do(c.env, c.s.brunt, args...)
	p := sample{Command: c.s.plain(c.s.brunt, args)}
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		return p, fmt.Errorf("%w (%v)", err, failure)
	}
	run, _, err := b.Result()
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
	// A closed load from one loop keeps the loop busy when the server is fast: the verdict says so,
	// and that is what is measured here.
	if run.Verdict.Result == "fail" {
		return p, fmt.Errorf("the run failed: %s", strings.Join(run.Verdict.Texts(), "; "))
	}
	return p, p.charge(&o)
}

// client is c with a name for the table.
func (c *ours) client(name string, more ...string) client {
	with := *c
	with.flags = append(append([]string(nil), c.flags...), more...)
	return client{name: name, turn: with.turn}
}
