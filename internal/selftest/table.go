package selftest

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"brunt/internal/record"
)

// Print writes the rows and what they mean.
func Print(w io.Writer, all []Row, e *record.Environment, path string) error {
	fmt.Fprintf(w, "machine: %s, %d cores, %s %s, %s\n\n", e.CPU, e.Cores, e.OS, e.Kernel, e.Go)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "closed load\tsessions\tloops\trequests/s\tCPU a request\tp50\tp99\t")
	for i := range all {
		if r := &all[i]; !r.Open() {
			fmt.Fprintf(t, "%s\t%d\t%s\t%.0f\t%s\t%s\t%s\t\n", r.Protocol, r.Sessions, loops(r), r.PerS, short(r.CPUNs), short(float64(r.P50Ns)), short(float64(r.P99Ns)))
		}
	}
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "open load\trequests/s\tdone/s\tCPU a request\tlag p50\tlag p99\t")
	for i := range all {
		if r := &all[i]; r.Open() {
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%s\t%s\t%s\t\n", r.Protocol, r.OfferedPS, r.PerS, short(r.CPUNs), short(float64(r.LagP50Ns)), short(float64(r.LagP99Ns)))
		}
	}
	t.Flush()
	fmt.Fprint(w, `
noop is the engine without sockets: choosing operations, making values, keeping time, recording.
The other servers run beside the generator on this machine and answer at once, so the highest rate
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

// short writes nanoseconds with three digits or so.
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
