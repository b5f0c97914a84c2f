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
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// stage runs rows, one at a time, and has the servers.
type stage struct {
	tb      testserver.TB
	program string
	self    string // this program, which is also started as a helper
	out     string
	seed    uint64
	length  time.Duration
	servers map[string]*testserver.Server
	groups  map[string][]*testserver.Server // the members of a row's cluster, by the name of its server
}

// scene is a row that is being run.
type scene struct {
	*stage
	*row
	server *testserver.Server
	bundle string
	more   []string // further flags that Prepare decided on
}

// group returns the members of the row's cluster.
func (sc *scene) group() []*testserver.Server { return sc.groups[sc.Server] }

// othersThan returns the members of the row's cluster except for one.
func (sc *scene) othersThan(one *testserver.Server) (all []*testserver.Server) {
	for _, m := range sc.group() {
		if m != one {
			all = append(all, m)
		}
	}
	return all
}

// outcome is the result of a row: a line of the raw results.
type outcome struct {
	Name     string   `json:"name"`
	Planted  string   `json:"planted"`
	Healthy  bool     `json:"healthy"`
	Want     []string `json:"want,omitempty"`
	First    string   `json:"first"` // id of the first finding; "" for unknown
	Severity string   `json:"severity,omitempty"`
	Right    bool     `json:"right"`
	Evidence string   `json:"evidence,omitempty"`
	Others   []string `json:"others,omitempty"` // the other findings
	Sum      string   `json:"sum,omitempty"`    // of the response of the operation with the longest
	Verdict  string   `json:"verdict"`
	P50Us    float64  `json:"p50_us"`
	P99Us    float64  `json:"p99_us"`
	PerS     float64  `json:"per_s"`
	Observe  float64  `json:"observe"` // share of a core that observing the server's process took
	Load1    string   `json:"load_1m"` // of the machine, at the end
	Command  string   `json:"command"`
	Said     string   `json:"said,omitempty"`
}

// patience is how much longer than its load a run may take before it is killed.
const patience = 2 * time.Minute

// do runs a row. An error means that it couldn't be set up.
func (st *stage) do(ctx context.Context, r *row) (*outcome, error) {
	sc := &scene{stage: st, row: r, server: st.servers[r.Server]}
	if sc.server == nil && r.Start != nil {
		sc.server = r.Start(st)
		st.servers[r.Server] = sc.server
	}
	sc.bundle = filepath.Join(st.out, strings.ReplaceAll(r.name(), "/", "-"))
	if err := os.RemoveAll(sc.bundle); err != nil {
		return nil, err
	}
	if r.Prepare != nil {
		undo, err := r.Prepare(sc)
		if undo != nil {
			defer undo()
		}
		if err != nil {
			return nil, err
		}
	}
	plan := sc.bundle + ".yml"
	text := fmt.Sprintf("config_name: %s\nseed: %d\n", r.Cause, st.seed) +
		strings.ReplaceAll(r.Plan, "{length}", st.length.String())
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		return nil, err
	}
	args := append([]string{"run", plan, "--no-setup"}, r.Flags(sc)...)
	args = append(append(args, sc.more...), "--quiet", "--bundle", sc.bundle)
	o := &outcome{Name: r.name(), Planted: r.Planted, Healthy: r.healthy(), Want: r.Want}
	if err := sc.send(ctx, o, args); err != nil {
		return nil, err
	}
	return o, sc.judge(o)
}

// send runs brunt, with what happens during its load.
func (sc *scene) send(ctx context.Context, o *outcome, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, sc.length+patience)
	defer cancel()
	o.Command = "brunt " + strings.Join(args, " ")
	cmd := exec.CommandContext(ctx, sc.program, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = os.Environ()
	if sc.server != nil && sc.server.Password != "" {
		cmd.Env = append(cmd.Env, "BRUNT_PASSWORD="+sc.server.Password)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	during, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if sc.During != nil {
		wg.Go(func() { sc.During(during, sc) })
	}
	err := cmd.Wait()
	stop()
	wg.Wait()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 98 && code != 99 {
		o.Said = fmt.Sprintf("exit %d: %s", code, tail(said.String()))
	}
	return nil
}

func tail(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-600):]
}

// judge reads the record and compares the first finding with what was planted.
func (sc *scene) judge(o *outcome) error {
	load, _ := os.ReadFile("/proc/loadavg")
	o.Load1, _, _ = strings.Cut(string(load), " ")
	b, err := record.Open(record.OS{}, sc.bundle)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, o.Said)
	}
	run, _, err := b.Result()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, o.Said)
	}
	o.Verdict, o.PerS = run.Verdict.Result, run.Total.RatePerS
	o.P50Us, o.P99Us = float64(run.Total.Response.P50Ns)/1e3, float64(run.Total.Response.P99Ns)/1e3
	for i := range run.Processes {
		o.Observe += run.Processes[i].CostShare
	}
	causes := run.Causes()
	for i := range causes {
		c := &causes[i]
		text := fmt.Sprintf("%s (%s): %s: %s", c.ID, c.Severity, c.Subject, c.Evidence.String())
		if i > 0 {
			o.Others = append(o.Others, text)
			continue
		}
		o.First, o.Severity, o.Evidence = c.ID, c.Severity, text
	}
	for i := range run.Inspections {
		for _, m := range run.Inspections[i].Missing {
			o.Others = append(o.Others, "missing: "+m.Text.String())
		}
	}
	o.Sum = longestSum(run)
	if o.Healthy {
		if o.Severity == record.Minor { // worth knowing, but no cause
			o.First = ""
		}
		o.Right = o.First == ""
		return nil
	}
	o.Right = slices.Contains(o.Want, o.First) && strings.Contains(o.Evidence, sc.Says)
	return nil
}

// longestSum describes the sum of the response of the operation with the longest mean response time.
func longestSum(run *record.Run) string {
	var worst record.ResponseSum
	for _, s := range run.ResponseSums() {
		if s.MeanNs > worst.MeanNs {
			worst = s
		}
	}
	if worst.MeanNs == 0 {
		return ""
	}
	text := fmt.Sprintf("%s: mean %v", worst.Operation, time.Duration(worst.MeanNs).Round(time.Microsecond))
	for _, p := range worst.Parts {
		text += fmt.Sprintf(", %s %.0f %%", p.Kind, 100*p.Ns/worst.MeanNs)
	}
	return text
}

// underWay waits until the load has begun, which is when the record exists. It returns false if ctx ended first.
func (sc *scene) underWay(ctx context.Context) bool { return sc.recorded(ctx, 0) }

// recorded waits until the intervals of the record have a size, in bytes. It returns false if ctx ended first.
func (sc *scene) recorded(ctx context.Context, size int64) bool {
	for ctx.Err() == nil {
		if f, err := os.Stat(filepath.Join(sc.bundle, record.IntervalsFile)); err == nil && f.Size() >= size {
			return true
		}
		protocol.Sleep(ctx, 5*time.Millisecond)
	}
	return false
}
