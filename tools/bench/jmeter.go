package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/test/testserver"
)

// jmeterGoal is the goal for CPU and memory of a test plan, relative to JMeter's.
const jmeterGoal = 0.1

// jmeterBenching compares brunt jmeter with JMeter: the test plan of the book service at one rate, on one server.
func jmeterBenching(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("jmeter", flag.ContinueOnError)
	times := f.Int("rounds", 3, "how often each client has its turn")
	seconds := f.Int("seconds", 60, "length of a turn")
	return withStand(ctx, f, args, func(s *stand) error {
		server, err := s.started(testserver.Nginx(s.tb, testserver.Workers(len(s.servers)),
			testserver.Locations("location /books { return 200 '[]'; }")))
		if err != nil {
			return err
		}
		java, err := needed("java", "default-jre-headless")
		if err != nil {
			return err
		}
		peer := testserver.JMeter(s.tb, filepath.Join(s.dir, "jmeter-home"))
		for _, name := range []string{"book.jmx", "books.csv"} {
			text, err := os.ReadFile(filepath.Join("examples", "jmeter", name))
			if err == nil {
				err = os.WriteFile(filepath.Join(s.dir, name), text, 0o644)
			}
			if err != nil {
				return err
			}
		}
		j := &jmeterContest{s: s,
			arguments: map[string][]string{s.brunt.program: {"jmeter", "--awake", "off"}, java: peer}}
		j.options = []string{"-n", "-t", "book.jmx", "-Jhost=" + server.Host, fmt.Sprint("-Jport=", server.Port),
			fmt.Sprint("-Jduration=", *seconds)}
		c := &sysbenchContest{s: s, programs: [2]string{s.brunt.program, java}, rounds: *times, server: "nginx"}
		fmt.Println("| server | what | brunt | JMeter | ratio (each round) |\n|---|---|---|---|---|")
		for _, load := range []struct{ n, threads string }{{"1", "4"}, {"19", "16"}} {
			pairs, err := c.pairs(func(program string) (sample, error) { return j.turn(program, load.n, load.threads) })
			if err != nil {
				return err
			}
			what := fmt.Sprintf("book.jmx, N = %s, %s threads a group, %d s: ", load.n, load.threads, *seconds)
			c.row(what+"requests", 0, pairs, func(p *sample) float64 { return float64(p.Requests) })
			c.row(what+"CPU s", jmeterGoal, pairs, func(p *sample) float64 { return p.UserS + p.SysS })
			for _, m := range []struct {
				name   string
				goal   float64
				figure func(*footprint) uint64
			}{
				{"resident, MB", jmeterGoal, func(m *footprint) uint64 { return m.RSS }},
				{"of it anonymous, MB", 0, func(m *footprint) uint64 { return m.Anonymous }},
				{"of it mapped files, MB", 0, func(m *footprint) uint64 { return m.RSS - m.Anonymous }},
			} {
				c.row(what+m.name, m.goal, pairs, func(p *sample) float64 { return float64(m.figure(p.Memory)) / 1024 })
			}
		}
		return nil
	})
}

// jmeterContest has what turns of both programs share.
type jmeterContest struct {
	s         *stand
	arguments map[string][]string // by program, before JMeter's options
	options   []string
}

// turn runs a program with the number N of the test plan.
func (j *jmeterContest) turn(program, n, threads string) (sample, error) {
	results := filepath.Join(j.s.dir, "results.jtl")
	defer os.Remove(results)
	args := slices.Concat(j.arguments[program], j.options, []string{"-JN=" + n, "-Jthreads=" + threads, "-l", results})
	most := &footprint{}
	o, err := j.s.watch(nil, most.watch, program, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitcode.Invalid {
		err = nil // the machine was busy; the samples were sent nevertheless
	}
	p := sample{Command: j.s.plain(program, args), At: time.Now().UTC(), Group: "jmeter", Client: filepath.Base(program),
		Load1: load1(), Memory: most}
	if err == nil && most.RSS == 0 {
		err = fmt.Errorf("the memory of %s wasn't read", p.Client)
	}
	if err != nil {
		return p, err
	}
	if p.Requests, p.Failed, err = jmeterSummary(o.out); err != nil {
		return p, err
	}
	if err := p.charge(&o); err != nil {
		return p, err
	}
	return p, j.s.raw.AppendJSON(&p)
}

var summary = regexp.MustCompile(`(?m)^summary = +(\d+) in .* Err: +(\d+) `)

// jmeterSummary returns the number of samples and of failed ones by the last line of JMeter's summariser.
func jmeterSummary(out string) (all, failed uint64, err error) {
	lines := summary.FindAllStringSubmatch(out, -1)
	if len(lines) == 0 {
		return 0, 0, fmt.Errorf("no summary was printed: %s", tail(out))
	}
	last := lines[len(lines)-1]
	all, _ = strconv.ParseUint(last[1], 10, 64)
	failed, _ = strconv.ParseUint(last[2], 10, 64)
	if failed > 0 {
		err = fmt.Errorf("%d of %d samples failed", failed, all)
	}
	return all, failed, err
}

// footprint is a process's memory, in kB.
type footprint struct {
	RSS       uint64 `json:"rss_kb"`
	Anonymous uint64 `json:"anonymous_kb"` // heap and stacks; the rest of RSS is mapped files, such as the program itself
}

var mapped = regexp.MustCompile(`(?m)^(Rss|Anonymous): +(\d+) kB$`)

// footprintOf reads a process's smaps_rollup (proc_pid_smaps(5)).
func footprintOf(rollup []byte) (m footprint) {
	for _, f := range mapped.FindAllSubmatch(rollup, -1) {
		kB, _ := strconv.ParseUint(string(f[2]), 10, 64)
		if bytes.Equal(f[1], []byte("Rss")) {
			m.RSS = kB
		} else {
			m.Anonymous = kB
		}
	}
	return m
}

// watch keeps the reading of a process with the largest resident memory, of one each half second, until it has ended.
func (m *footprint) watch(pid int, ended <-chan struct{}) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue // it has ended, and isn't reaped yet
		}
		if now := footprintOf(text); now.RSS > m.RSS {
			*m = now
		}
	}
}
