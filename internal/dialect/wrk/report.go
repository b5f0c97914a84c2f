package wrk

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/base/secret"
)

// Outcome is what wrk prints about a load.
type Outcome struct {
	Latency  *Stats // µs
	Requests *Stats // a second, of a thread
	Runtime  time.Duration
	Complete uint64 // answers
	Bytes    uint64
	Errors   Errors
}

// Errors are the counts of what went wrong.
type Errors struct{ Connect, Read, Write, Timeout, Status uint64 }

func (e *Errors) socket() bool { return e.Connect+e.Read+e.Write+e.Timeout > 0 }

// Header returns the lines at the beginning.
func (o *Options) Header() string {
	return fmt.Sprintf("Running %s test @ %s\n  %d threads and %d connections\n",
		seconds(o.Duration), secret.Text(o.URL), o.Threads, o.Asked)
}

// Report returns wrk's report.
func (o *Options) Report(r *Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  Thread Stats%6s%11s%8s%12s\n", "Avg", "Stdev", "Max", "+/- Stdev")
	line(&b, "Latency", r.Latency, formatUs)
	line(&b, "Req/Sec", r.Requests, formatMetric)
	if o.Latency {
		b.WriteString("  Latency Distribution\n")
		for _, p := range []float64{50, 75, 90, 99} {
			fmt.Fprintf(&b, "%7.0f%%", p)
			b.WriteString(padded(formatUs(float64(r.Latency.Percentile(p))), 10) + "\n")
		}
	}
	o.totals(&b, r)
	return b.String()
}

// totals writes the end of the report, which wrk and wrk2 have in common.
func (o *Options) totals(b *strings.Builder, r *Outcome) {
	s := max(r.Runtime.Seconds(), 1e-9)
	fmt.Fprintf(b, "  %d requests in %s, %sB read\n", r.Complete, formatUs(float64(r.Runtime.Microseconds())),
		formatBinary(float64(r.Bytes)))
	if e := &r.Errors; e.socket() {
		fmt.Fprintf(b, "  Socket errors: connect %d, read %d, write %d, timeout %d\n", e.Connect, e.Read, e.Write, e.Timeout)
	}
	if r.Errors.Status > 0 {
		fmt.Fprintf(b, "  Non-2xx or 3xx responses: %d\n", r.Errors.Status)
	}
	fmt.Fprintf(b, "Requests/sec: %9.2f\n", float64(r.Complete)/s)
	fmt.Fprintf(b, "Transfer/sec: %10sB\n", formatBinary(float64(r.Bytes)/s))
}

func line(b *strings.Builder, name string, s *Stats, format func(float64) string) {
	fmt.Fprintf(b, "    %-10s", name)
	b.WriteString(padded(format(s.Mean()), 8) + padded(format(s.Stdev()), 10) + padded(format(float64(s.Most)), 9))
	within := s.Within()
	if math.IsNaN(within) {
		b.WriteString("    -nan%\n") // as printf writes it
		return
	}
	fmt.Fprintf(b, "%8.2f%%\n", within)
}

// padded right-aligns a number with its unit so that numbers align, whatever the length of their units.
func padded(text string, width int) string {
	pad := 2
	for i := 1; i <= 2 && i <= len(text); i++ {
		if c := text[len(text)-i] | 0x20; c >= 'a' && c <= 'z' {
			pad--
		}
	}
	width -= pad
	if len(text) > width {
		text = text[:width]
	}
	return fmt.Sprintf("%*s%s", width, text, strings.Repeat(" ", pad))
}
