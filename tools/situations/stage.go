//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// stage runs situations, one at a time. It has the servers, the cores, and the program under test.
type stage struct {
	tb      testserver.TB
	brunt   []string // the program and its first arguments
	self    string   // this program, which is also started as a server or burner
	cores   []int
	dir     string // folder for bundles
	servers map[kind]*testserver.Server
}

// running is a situation that is being run.
type running struct {
	*stage
	*situation
	server *testserver.Server
	proxy  *proxy
	pid    int
	began  time.Time // when the load began
}

// finished is the result of a situation: a line of the raw results.
type finished struct {
	At       time.Time `json:"at"`
	Name     string    `json:"name"`
	Family   string    `json:"family"`
	Truth    truth     `json:"truth"`
	Why      string    `json:"why"`
	Verdict  string    `json:"verdict"`
	Right    bool      `json:"right"`
	Reasons  []string  `json:"reasons,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Void     string    `json:"void,omitempty"` // why the truth is unknown: the run was disturbed
	Command  string    `json:"command"`
	Plan     string    `json:"plan"`
	Bundle   string    `json:"bundle"`
	Exit     int       `json:"exit"`
	Said     string    `json:"said,omitempty"` // the end of brunt's standard error
	Attempt  int       `json:"attempt"`
	WallS    float64   `json:"wall_s"`
	Figures  figures   `json:"figures"`
	Witness  witness   `json:"witness"`
}

// figures are the main figures of a run.
type figures struct {
	DurationS     float64         `json:"duration_s"`
	Done          uint64          `json:"done"`
	OK            uint64          `json:"ok"`
	Failed        uint64          `json:"failed"`
	Errors        measure.ByClass `json:"errors,omitzero"`
	PerS          float64         `json:"per_s"`
	ResponseP50Us float64         `json:"response_p50_us"`
	ResponseP99Us float64         `json:"response_p99_us"`
	ServiceP99Us  float64         `json:"service_p99_us"`
	OwnLagP99Us   float64         `json:"own_lag_p99_us"`
}

// server returns the running server of a kind. It starts the server if necessary.
func (st *stage) server(k kind) *testserver.Server {
	s := st.servers[k]
	if s == nil {
		s = k.start(st.tb, st.self)
		st.servers[k] = s
	}
	return s
}

// coresOf returns the cores of the server and of brunt.
func (st *stage) coresOf(s *situation) (server, brunt []int) {
	last := st.cores[len(st.cores)-1:]
	switch {
	case s.spread:
		return st.cores, st.cores
	case s.onBoth || len(st.cores) == 1:
		return last, last
	}
	return st.cores[:1], last
}

// do runs a situation. An error means that the situation could not be set up.
func (st *stage) do(ctx context.Context, s *situation, attempt int) (*finished, error) {
	r := &running{stage: st, situation: s, server: st.server(s.server)}
	serverCores, bruntCores := st.coresOf(s)
	if err := testserver.Pin(r.server.PID, serverCores); err != nil {
		return nil, err
	}
	address := r.server.Addr
	if s.far != nil {
		p, err := newProxy(r.server.Addr, *s.far)
		if err != nil {
			return nil, fmt.Errorf("start a proxy: %w", err)
		}
		defer p.refuse()
		r.proxy, address = p, p.address
	}
	if s.Truth == truthDown {
		address = "127.0.0.1:1" // nothing listens there
	}
	if s.also != "" {
		address += "," + st.server(s.also).Addr
	}
	f := &finished{At: time.Now().UTC(), Name: s.Name, Family: s.Family, Truth: s.Truth, Why: s.Why, Attempt: attempt,
		Plan: s.plan()}
	f.Bundle = filepath.Join(st.dir, strings.NewReplacer("/", "-", "#", "-").Replace(s.Name))
	os.RemoveAll(f.Bundle)
	args, err := r.arguments(f, address, bruntCores)
	if err != nil {
		return nil, err
	}
	f.Command = strings.Join(append(append([]string(nil), s.env...), args...), " ")
	if err := r.run(ctx, f, args); err != nil {
		return nil, err
	}
	if s.after != nil {
		if err := s.after(ctx, r, f, args); err != nil {
			return nil, err
		}
	}
	f.judge(s)
	return f, nil
}

// arguments returns the whole command line. If the command reads a plan, it writes the plan first.
func (r *running) arguments(f *finished, address string, cores []int) ([]string, error) {
	args := append([]string{"taskset", "-c", list(cores)}, r.wrap...)
	args = append(args, r.brunt...)
	a := &r.ask
	if a.command == "http" {
		args = append(args, "http", "http://"+address+"/", "--duration", a.load.String(), "--timeout", a.timeout.String())
		if a.sessions > 0 {
			args = append(args, "--sessions", strconv.Itoa(a.sessions))
		}
		if a.open {
			args = append(args, "--rate", fmt.Sprint(a.rate))
		}
		for _, t := range a.thresholds {
			args = append(args, "--threshold", t)
		}
	} else {
		plan := f.Bundle + ".yml"
		if err := os.WriteFile(plan, []byte(f.Plan), 0o644); err != nil {
			return nil, err
		}
		args = append(append(args, "run", plan, "--no-setup"), r.situation.server.flags(r.server, address)...)
	}
	args = append(args, r.situation.flags...)
	if a.faults != "" {
		args = append(args, "--allow-faults")
	}
	if r.fault != nil {
		args = append(args, "--interval", faultInterval.String())
	}
	return append(args, "--quiet", "--bundle", f.Bundle), nil
}

const (
	// faultInterval is the length of the record's intervals in a run with a fault, which waits for the first interval.
	faultInterval = 200 * time.Millisecond
	// patience is how much longer than its load a run may take before it is killed.
	patience = 45 * time.Second
)

func list(cores []int) string {
	text := make([]string, len(cores))
	for i, c := range cores {
		text[i] = strconv.Itoa(c)
	}
	return strings.Join(text, ",")
}

// run starts brunt, causes the fault, and records the end of the process and the measurements of the witness.
func (r *running) run(ctx context.Context, f *finished, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, r.ask.load+patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(r.situation.server.environment(r.server), r.situation.env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	watch := newWatch()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	r.pid = cmd.Process.Pid
	watch.follow(r.pid)
	ended, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if r.fault != nil {
		wg.Go(func() {
			if r.underWay(ended, f.Bundle) {
				r.fault.cause(ended, r)
			}
		})
	}
	err := cmd.Wait()
	stop()
	wg.Wait()
	f.Witness = watch.end(cmd.ProcessState)
	if r.fault != nil && r.fault.heal != nil {
		r.fault.heal(r)
	}
	f.WallS = time.Since(began).Seconds()
	f.Exit, f.Said = cmd.ProcessState.ExitCode(), tail(said.String())
	if ctx.Err() != nil {
		f.Said = "killed: it didn't end; " + f.Said
	} else if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return err
	}
	return nil
}

// underWay waits for the first interval of the record and sets when the load began. It returns false if ctx ended
// first.
func (r *running) underWay(ctx context.Context, bundle string) bool {
	for ctx.Err() == nil {
		ofWorkers, _ := filepath.Glob(filepath.Join(bundle, record.WorkersFolder, "*", record.IntervalsFile))
		for _, path := range append(ofWorkers, filepath.Join(bundle, record.IntervalsFile)) {
			text, _ := os.ReadFile(path)
			if bytes.IndexByte(text, '\n') >= 0 {
				r.began = time.Now().Add(-faultInterval)
				return true
			}
		}
		protocol.Sleep(ctx, 5*time.Millisecond)
	}
	return false
}

// until waits until the given time after the beginning of the load, or until the end of the run.
func (r *running) until(ctx context.Context, at time.Duration) {
	protocol.Sleep(ctx, time.Until(r.began.Add(at)))
}

func tail(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-600):]
}

// judge reads the record and compares the verdict with the truth.
func (f *finished) judge(s *situation) {
	f.Verdict = verdictError
	switch f.Exit {
	case 108:
		f.Verdict = verdictDown
	case 104:
		f.Verdict = verdictRefused
	}
	wrong := ""
	if run, err := recorded(f.Bundle); err == nil && f.Exit != 108 && run.Complete {
		f.read(run)
		if s.told != nil {
			wrong = s.told(run)
		}
	}
	if wrong != "" {
		f.Reasons = append(f.Reasons, "in the record: "+wrong)
	}
	f.Right = f.Truth.allows(f.Verdict) && wrong == "" && (s.warns == "" || slices.Contains(f.Warnings, s.warns))
	f.Void = f.Witness.disturbed()
	if s.holds != nil && f.Void == "" {
		f.Void = s.holds(&f.Witness)
	}
}

func recorded(bundle string) (*record.Run, error) {
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		return nil, err
	}
	run, _, err := b.Result()
	return run, err
}

func (f *finished) read(run *record.Run) {
	t := &run.Total
	f.Verdict, f.Reasons = run.Verdict.Result, run.Verdict.Texts()
	for _, w := range run.Warnings {
		f.Warnings = append(f.Warnings, w.ID)
	}
	f.Figures = figures{
		DurationS: float64(run.DurationNs) / 1e9, Done: t.Done, OK: t.OK, Failed: t.Failed, Errors: t.Errors,
		PerS:          t.RatePerS,
		ResponseP50Us: float64(t.Response.P50Ns) / 1e3, ResponseP99Us: float64(t.Response.P99Ns) / 1e3,
		ServiceP99Us: float64(t.Service.P99Ns) / 1e3, OwnLagP99Us: float64(run.Health.OwnLagP99Ns) / 1e3,
	}
}
