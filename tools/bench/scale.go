package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"brunt/internal/record"
	"brunt/test/testserver"
)

// The goals of loads over many workers.
const (
	goalCores  = 1.0  // cores that the coordinator uses
	goalMB     = 1024 // memory of the coordinator
	goalRatio  = 1.03 // CPU per request, relative to that of one process
	goalSkewMs = 5.0  // between the beginnings of workers on one machine
)

// scaling measures a coordinator with many simulated workers, and compares four workers with one process.
func scaling(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	sim := &simulation{}
	f.IntVar(&sim.workers, "workers", 1000, "how many workers are simulated")
	f.IntVar(&sim.rate, "rate", 10_000, "operations a second of each of them")
	f.IntVar(&sim.seconds, "seconds", 40, "length of the simulated load")
	turns := f.Int("rounds", 3, "rounds of one process and four workers")
	seconds := f.Int("turn", 8, "length of a turn, in seconds")
	part := f.String("only", "", "sim or workers: only that part")
	return withStand(ctx, f, args, func(s *stand) error {
		var lines [][]string
		if *part != "workers" {
			sim.dir = filepath.Join(s.dir, "simulation")
			out, err := s.simulate(sim)
			if err != nil {
				return fmt.Errorf("simulation: %w", err)
			}
			lines = out
		}
		if *part != "sim" {
			out, err := s.fourWorkers(*turns, time.Duration(*seconds)*time.Second)
			if err != nil {
				return fmt.Errorf("four workers: %w", err)
			}
			lines = append(lines, out...)
		}
		fmt.Print("\n| What | Measured | Goal | Met |\n|---|--:|--:|---|\n")
		for _, l := range lines {
			fmt.Printf("| %s |\n", strings.Join(l, " | "))
		}
		return nil
	})
}

// row returns a row of the table. Unless goal is 0, got must be less than goal.
func row(what, unit string, got, goal float64) []string {
	text := strconv.FormatFloat(got, 'f', max(0, 3-len(strconv.Itoa(int(got)))), 64)
	if goal == 0 {
		return []string{what, text + unit, "", ""}
	}
	met := "no"
	if got < goal || unit == "" && got <= goal {
		met = "yes"
	}
	return []string{what, text + unit, strconv.FormatFloat(goal, 'g', -1, 64) + unit, met}
}

// simulate runs the two processes of a simulation, each on one half of the cores, and then merges the bundles.
func (s *stand) simulate(sim *simulation) ([][]string, error) {
	if err := os.MkdirAll(sim.dir, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(sim.dir)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(sim.seconds)*time.Second+4*time.Minute)
	defer cancel()
	workers, err := begin(ctx, self, sim.args(workersCommand))
	if err != nil {
		return nil, err
	}
	defer workers.end()
	if _, err := workers.line(); err != nil { // the workers have prepared their intervals
		return nil, err
	}
	coordinator, err := begin(ctx, self, sim.args(coordinatorCommand))
	if err != nil {
		return nil, err
	}
	defer coordinator.end()
	if err := testserver.Pin(coordinator.cmd.Process.Pid, s.servers); err != nil {
		return nil, err
	}
	ticket, err := coordinator.line()
	if err != nil {
		return nil, err
	}
	if _, err := workers.in.Write(ticket); err != nil {
		return nil, err
	}
	lost := stolen()
	var led ledResult
	if err := coordinator.result(&led); err != nil {
		return nil, err
	}
	var worked workedResult
	if err := workers.result(&worked); err != nil {
		return nil, err
	}
	lost = (stolen() - lost) / (float64(sim.seconds) * float64(len(s.servers)+len(s.clients)))
	if err := s.raw.AppendJSON(map[string]any{
		"group": "simulation", "workers": sim.workers, "rate": sim.rate, "seconds": sim.seconds, "coordinator": led,
		"simulated": worked, "load1": load1(), "stolen_share": lost,
	}); err != nil {
		return nil, err
	}
	merged, err := s.mergeAll(sim)
	if err != nil {
		return nil, err
	}
	if want := uint64(sim.workers-worked.Failed) * uint64(sim.rate*sim.seconds); merged.Done != want {
		return nil, fmt.Errorf("the merged record holds %d operations, want %d", merged.Done, want)
	}
	err = s.raw.AppendJSON(map[string]any{
		"group": "merge", "workers": sim.workers, "seconds": sim.seconds, "merge": merged, "load1": load1(),
	})
	n := fmt.Sprintf("%d workers of %d/s", sim.workers, sim.rate)
	seconds := float64(sim.seconds)
	return [][]string{
		row(n+": coordinator's CPU for a second of the load, cores", "", led.LoadCPUS/seconds, goalCores),
		row(n+": coordinator's peak memory", " MB", led.RSSMB, goalMB),
		row(n+": sum of an interval after its end, p50", " ms", led.AfterMs.P50, 0),
		row(n+": sum of an interval after its end, p99", " ms", led.AfterMs.P99, 1000),
		row(n+": a worker's interval", " KB", float64(worked.LineBytes)/1e3, 0),
		row(n+": network to the coordinator, a second", " MB", (led.ReadMB-led.LinesMB)/seconds, 0),
		row(n+": network from the coordinator, a second", " MB", (led.WrittenMB-led.LinesMB)/seconds, 0),
		row(n+": gathered", " s", led.GatherS, 0),
		row(n+": start heard, from the first to the last", " ms", worked.HeardMs.Max, 0),
		row(n+": start heard by the last, ahead of it", " ms", worked.LeadMs, 0),
		row(n+": begin of simulated workers, from the median, p99", " ms", worked.SkewMs.P99, 0),
		row(n+": bundles at home", " s", led.HomeS, 0),
		row(n+": lost workers", "", float64(led.Lost+worked.Failed), 0),
		row(n+": intervals written late by the simulation, p99", " ms", worked.BehindMs.P99, 0),
		row(n+": brunt merge", " s", merged.WallS, 0),
		row(n+": brunt merge, CPU", " s", merged.CPUS, 0),
		row(n+": brunt merge, peak memory", " MB", merged.RSSMB, goalMB),
		row(n+": brunt merge, most open files", "", float64(merged.Files), 100),
	}, err
}

// merging contains the measurements of brunt merge.
type merging struct {
	WallS float64 `json:"wall_s"`
	CPUS  float64 `json:"cpu_s"`
	RSSMB float64 `json:"rss_mb"`
	Files int     `json:"files"` // most files open at a time, read ten times a second
	Done  uint64  `json:"done"`
}

func (s *stand) mergeAll(sim *simulation) (*merging, error) {
	whole := filepath.Join(sim.dir, "whole")
	args := []string{"merge", "--bundle", whole, "--output", "json"}
	for k := range sim.workers {
		args = append(args, filepath.Join(sim.dir, strconv.Itoa(k+1)))
	}
	cmd := exec.CommandContext(s.ctx, s.brunt.program, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m, over := &merging{}, make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-over:
				tick.Stop()
				return
			case <-tick.C:
				open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid)) // fails once the process has ended
				m.Files = max(m.Files, len(open))
			}
		}
	}()
	err := cmd.Wait()
	close(over)
	<-watched
	m.WallS = time.Since(began).Seconds()
	b, failure := record.Open(record.OS{}, whole)
	if failure != nil { // a merge exits with the code of its verdict
		return nil, fmt.Errorf("%w (%v): %s", failure, err, tail(complaints.String()))
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	m.CPUS = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	m.RSSMB, m.Done = float64(u.Maxrss)/1024, b.Run.Total.Done
	return m, nil
}

// child is a process of a simulation.
type child struct {
	cmd *exec.Cmd
	in  interface{ Write([]byte) (int, error) }
	out *bufio.Reader
}

func begin(ctx context.Context, self string, args []string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	return c, c.cmd.Start()
}

func (c *child) line() ([]byte, error) {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		err = fmt.Errorf("%s: %w", c.cmd.Args[1], errors.Join(err, c.cmd.Wait()))
	}
	return line, err
}

func (c *child) result(into any) error {
	line, err := c.line()
	if err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(line, into), c.cmd.Wait())
}

// end kills the process if it is still running.
func (c *child) end() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill() // the process may just have ended
		_ = c.cmd.Wait()
	}
}

// fourRate is the rate of each of four workers, and of the process that they are compared with, in requests per second.
// Four of these rates leave one core of this machine partly idle.
const fourRate = 5_000

// turnNames are the names of a round's turns.
var turnNames = [...]string{"one process", "four workers"}

// fourWorkers compares four workers, each of which sends the load of one process, with that process, in turns.
func (s *stand) fourWorkers(rounds int, d time.Duration) ([][]string, error) {
	var out [][]string
	var skews []time.Duration
	for _, t := range []struct {
		name string
		open func() (*ours, error)
	}{
		{"HTTP (nginx)", func() (*ours, error) {
			mine, _, err := s.nginx()
			return mine, err
		}},
		{"Redis GET", func() (*ours, error) {
			r, err := s.started(testserver.Redis(s.tb))
			if err != nil {
				return nil, err
			}
			return s.redis(r, "redis-get"), evalRedis(r.Addr, fillRedis)
		}},
	} {
		mine, err := t.open()
		if err != nil {
			return nil, err
		}
		one, four := *mine, *mine
		one.rate, four.rate = fourRate, 4*fourRate
		four.flags = append(slices.Clone(mine.flags), "--workers", "4")
		four.look = func(run *record.Run) { skews = append(skews, beganApart(run)...) }
		ratios, all := []float64{}, [2][]float64{}
		for round := range rounds {
			var costs [2]float64
			for i, c := range []*ours{&one, &four} {
				p, err := c.turn(d)
				p.At, p.Group, p.Client, p.Round = time.Now().UTC(), "workers "+t.name, turnNames[i], round
				p.Load1 = load1()
				if costs[i] = p.CPUUs; err != nil { // fails if the machine is too busy
					p.Fault, costs[i] = err.Error(), 0
					fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.name, turnNames[i], err)
				}
				if err := s.raw.AppendJSON(&p); err != nil {
					return nil, err
				}
			}
			if costs[0] > 0 && costs[1] > 0 {
				all[0], all[1] = append(all[0], costs[0]), append(all[1], costs[1])
				ratios = append(ratios, costs[1]/costs[0])
			}
		}
		if len(ratios) == 0 {
			out = append(out, []string{t.name + ": ratio", "no round went well", fmt.Sprint(goalRatio), "no"})
			continue
		}
		slices.Sort(ratios)
		slices.Sort(all[0])
		slices.Sort(all[1])
		out = append(out, row(fmt.Sprintf("%s: CPU of a request, one process of %d/s, median", t.name, fourRate), " µs",
			all[0][len(all[0])/2], 0), row(fmt.Sprintf("%s: CPU of a request, four workers of %d/s each, and their coordinator",
			t.name, fourRate), " µs", all[1][len(all[1])/2], 0),
			row(t.name+": ratio, median of the rounds", "", ratios[len(ratios)/2], goalRatio))
	}
	return append(out, row("four workers: begin, from the first of them, p99", " ms", quantilesOf(skews).P99, goalSkewMs)), nil
}

// beganApart returns how much later each worker of a run began than the first one, plus the uncertainty of the worker's
// clock.
func beganApart(run *record.Run) (out []time.Duration) {
	first := int64(0)
	for i := range run.Parts {
		if w := run.Parts[i].Worker; w != nil && (i == 0 || w.StartLateNs < first) {
			first = w.StartLateNs
		}
	}
	for i := range run.Parts {
		if w := run.Parts[i].Worker; w != nil {
			out = append(out, time.Duration(w.StartLateNs-first+w.ClockUncertaintyNs))
		}
	}
	return out
}
