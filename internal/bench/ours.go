package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brunt/internal/record"
)

//go:embed plans/*.yml
var plans embed.FS

// ours is brunt as a client: one event loop over the codec.
type ours struct {
	s     *stand
	plan  string   // name of a file in plans, without its ending
	where []string // flags that say where the server is
	flags []string
	env   []string
	rate  float64 // open load, operations a second; 0 means closed
}

// turn runs the plan for d and reads what the record says of it.
func (c *ours) turn(d time.Duration) (sample, error) {
	text, err := plans.ReadFile("plans/" + c.plan + ".yml")
	if err != nil {
		return sample{}, err
	}
	file, bundle := filepath.Join(c.s.dir, c.plan+".yml"), filepath.Join(c.s.dir, "bundle")
	timed := strings.Replace(string(text), "duration: 5s", "duration: "+d.String(), 1)
	if err := os.WriteFile(file, []byte(timed), 0o644); err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(bundle)
	args := []string{"run", file}
	if c.rate > 0 {
		args = []string{"rate", "-c", file, "--rate", fmt.Sprint(c.rate), "--duration", d.String()}
	}
	args = append(append(args, c.where...), "--tier", "codec", "--loops", "1", "--awake", "off", "--bundle", bundle, "--quiet", "--output", "json", "--no-setup")
	args = append(args, c.flags...)
	o, failure := c.s.doWith(c.env, c.s.brunt, args...)
	p := sample{Command: c.s.plain(c.s.brunt, args)}
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		return p, fmt.Errorf("%w (%v)", err, failure)
	}
	run, _, err := b.Result()
	if err != nil {
		return p, err
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
		return p, fmt.Errorf("the run failed: %s", strings.Join(run.Verdict.Reasons, "; "))
	}
	return p, p.charge(&o)
}

// client is c with a name for the table.
func (c *ours) client(name string, more ...string) client {
	with := *c
	with.flags = append(append([]string(nil), c.flags...), more...)
	return client{name: name, turn: with.turn}
}
