// Package selftest measures what the generator can do on this machine: the cost of the engine without sockets, the
// highest rate by protocol, and how late requests are sent. It uses servers of its own that answer every request with
// the same bytes.
package selftest

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/record"
	"brunt/internal/run/runner"
)

// Options are the inputs of a self-test.
type Options struct {
	Addresses map[string]string // of Servers, by protocol
	Duration  time.Duration     // of each measurement
	Cores     int               // that the process may use
	Version   string            // of brunt
	Done      func(Row)         // receives each row as it is measured; may be nil
}

// Row is one measurement.
type Row struct {
	Protocol  string
	Sessions  int
	Loops     int     // event loops; 0 if there are none
	OfferedPS float64 // target rate of an open load, in requests a second; 0 for a closed one
	PerS      float64 // completed requests a second
	CPUNs     float64 // CPU time of this process for each request
	P50Ns     int64   // service time
	P99Ns     int64
	LagP50Ns  int64 // open loads only
	LagP99Ns  int64
	Failed    uint64
}

// Open reports whether the row's load was open.
func (r *Row) Open() bool { return r.OfferedPS > 0 }

// The self-test has two protocols that no server speaks.
const (
	engineOnly = "noop" // answers without sockets
	reference  = "echo" // shows what sockets add, at several numbers of sessions and rates
)

// rows returns the measurements in the order of the table.
func rows(cores int) []Row {
	all := []Row{{Protocol: engineOnly, Sessions: 1}}
	for _, n := range []int{1, 16, 50} {
		all = append(all, Row{Protocol: reference, Sessions: n, Loops: 1})
	}
	for _, p := range Protocols() {
		if p != reference {
			all = append(all, Row{Protocol: p, Sessions: 50, Loops: 1})
		}
		if half := cores / 2; half > 1 { // the servers need the other half
			all = append(all, Row{Protocol: p, Sessions: 50 * half, Loops: half})
		}
	}
	for _, perS := range []float64{1_000, 10_000, 50_000} {
		all = append(all, Row{Protocol: reference, Sessions: 50, Loops: 1, OfferedPS: perS})
	}
	return all
}

// Count returns how many measurements Run makes.
func Count(cores int) int { return len(rows(cores)) }

// Run makes all measurements. It stops with an error if ctx is cancelled or a measurement fails; the rows measured so
// far are returned.
func Run(ctx context.Context, o Options) ([]Row, error) {
	all := rows(o.Cores)
	for i := range all {
		r := &all[i]
		run, err := runner.Run(ctx, nil, planOf(r, &o), runner.Options{
			Recording: runner.Recording{None: true, Version: o.Version}, NoSetup: true,
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return all[:i], fmt.Errorf("measure %s: %w", r.Protocol, err)
		}
		r.fill(run)
		if r.Failed > 0 {
			return all[:i], fmt.Errorf("measure %s: %d of %d requests to the program's own server failed", r.Protocol, r.Failed,
				run.Total.Done)
		}
		if o.Done != nil {
			o.Done(*r)
		}
	}
	return all, nil
}

func (r *Row) fill(run *record.Run) {
	t := &run.Total
	r.PerS, r.Failed = t.RatePerS, t.Failed
	r.CPUNs = run.Health.CPUNsPerOperation
	r.P50Ns, r.P99Ns = int64(t.Service.P50Ns), int64(t.Service.P99Ns)
	if r.Open() {
		r.LagP50Ns, r.LagP99Ns = int64(t.Lag.P50Ns), int64(t.Lag.P99Ns)
	}
}

// planOf returns the load of a row: the same request, with a random number as its parameter.
func planOf(r *Row, o *Options) *plan.Plan {
	request, address := protocol.Request{Verb: protocol.Call, Text: "request"}, "none"
	if of := protocols.Of(r.Protocol).SelfTest; of != nil {
		request, address = of.Request, o.Addresses[r.Protocol]
	}
	request.Name, request.Params = "request", []gen.Kind{gen.Int}
	p := &plan.Plan{
		Name: "selftest", Seed: 1,
		Target: plan.Target{Protocol: r.Protocol, Addresses: []string{address}},
		Operations: []plan.Operation{{Name: "request", Weight: 1, Steps: []plan.Step{{
			Request: request,
			Params: []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: 1,
				IntHi: 1_000_000}}}},
		}}}},
		Settings: plan.Settings{Sessions: r.Sessions, Loops: r.Loops,
			Interval: min(time.Second, max(o.Duration/4, 10*time.Millisecond))},
	}
	load := plan.ClosedLoad(0, o.Duration)
	if r.Open() {
		load = plan.RateLoad(r.OfferedPS, o.Duration)
	}
	p.Load = load.Phases
	return p
}

// Print writes the rows and an explanation. path is the file of the ceilings, "" if they weren't saved.
func Print(w io.Writer, all []Row, e *record.Environment, path string) error {
	fmt.Fprintf(w, "machine: %s, %d cores, %s %s, %s\n\n", e.CPU, e.Cores, e.OS, e.Kernel, e.Go)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "closed load\tsessions\tloops\trequests/s\tCPU a request\tp50\tp99\t")
	for i := range all {
		if r := &all[i]; !r.Open() {
			fmt.Fprintf(t, "%s\t%d\t%s\t%.0f\t%s\t%s\t%s\t\n", r.Protocol, r.Sessions, loops(r), r.PerS, short(r.CPUNs),
				short(float64(r.P50Ns)), short(float64(r.P99Ns)))
		}
	}
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "open load\trequests/s\tdone/s\tCPU a request\tlag p50\tlag p99\t")
	for i := range all {
		if r := &all[i]; r.Open() {
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%s\t%s\t%s\t\n", r.Protocol, r.OfferedPS, r.PerS, short(r.CPUNs),
				short(float64(r.LagP50Ns)), short(float64(r.LagP99Ns)))
		}
	}
	t.Flush()
	fmt.Fprint(w, `
noop is the engine without sockets: choosing operations, making values, keeping time, recording.
The other servers run on the same machine as the generator and answer at once, so the highest rate
of a protocol is its ceiling here: a result near it says as much of this machine as of the server.
Lag is how much later than intended a request was sent; what a server's answers are charged with
can't be finer than that. CPU is all of this process, kernel included.
`)
	if path != "" {
		fmt.Fprintf(w, "\nThe ceilings are kept in %s; reports of runs on this machine show how near they came.\n", path)
	}
	return nil
}

func loops(r *Row) string {
	if r.Loops == 0 {
		return "–"
	}
	return fmt.Sprint(r.Loops)
}

// short formats nanoseconds with about three digits.
func short(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ms", ns/1e6)
}
