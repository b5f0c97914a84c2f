package cassandrastress

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"brunt/internal/measure"
)

// Lines prints a line for each interval and operation, and the results at the end, in the form of cassandra-stress
// (class StressMetrics of its sources). What it knows of the server's garbage collection is left at 0, since brunt
// doesn't ask Java's management interface.
type Lines struct {
	out     io.Writer
	names   []string                  // of the operations
	fixed   bool                      // times count from when operations were due
	program *program                  // counts partitions and rows; nil if others send the load
	before  func(phase string) string // what is printed before a phase; may be nil

	phase  string
	sums   []interval
	total  interval
	last   [][2]int64 // partitions and rows of each operation at the end of the last interval
	rates  uncertainty
	failed uint64
	// Runs are the results of the phases so far.
	Runs []Run
}

// Run is the result of a phase.
type Run struct {
	Phase   string
	OpsPerS float64
	lines   []string
}

// interval is what happened in a time.
type interval struct {
	from, to         int64 // ns
	times            *measure.Histogram
	partitions, rows int64
	errors           uint64
}

func newInterval() interval { return interval{from: math.MaxInt64, times: measure.NewHistogram()} }

func (v *interval) add(o *interval) {
	v.from, v.to = min(v.from, o.from), max(v.to, o.to)
	v.times.Merge(o.times)
	v.partitions, v.rows, v.errors = v.partitions+o.partitions, v.rows+o.rows, v.errors+o.errors
}

func (v *interval) seconds() float64      { return float64(v.to-v.from) / 1e9 }
func (v *interval) rate(n int64) float64  { return float64(n) / v.seconds() }
func (v *interval) ms(ns float64) float64 { return ns / 1e6 }
func (v *interval) at(q float64) float64  { return v.ms(float64(v.times.Quantile(q))) }
func (v *interval) count() int64          { return int64(v.times.Count() + v.errors) }

// uncertainty is the relative standard error of the mean of the rates of rows.
type uncertainty struct {
	n            int
	sum, squares float64
}

func (u *uncertainty) add(x float64) {
	u.n++
	u.sum += x
	u.squares += x * x
}

func (u *uncertainty) value() float64 {
	mean := u.sum / float64(u.n)
	if u.n == 0 || mean == 0 {
		return 0
	}
	return math.Sqrt(max(0, u.squares/float64(u.n)-mean*mean)) / mean / math.Sqrt(float64(u.n))
}

var _ measure.Sink = (*Lines)(nil)

const (
	headForm = "%-50s%10s,%8s,%8s,%8s,%8s,%8s,%8s,%8s,%8s,%8s,%7s,%9s,%7s,%7s,%8s,%8s,%8s,%8s\n"
	rowForm  = "%-50s%10d,%8.0f,%8.0f,%8.0f,%8.1f,%8.1f,%8.1f,%8.1f,%8.1f,%8.1f,%7.1f,%9.5f,%7d,%7.0f,%8.0f,%8.0f," +
		"%8.0f,%8.0f\n"
)

func heading() string {
	return fmt.Sprintf(headForm, "type", "total ops", "op/s", "pk/s", "row/s", "mean", "med", ".95", ".99", ".999", "max",
		"time", "stderr", "errors", "gc: #", "max ms", "sum ms", "sdv ms", "mb")
}

// Interval implements measure.Sink.
func (l *Lines) Interval(iv *measure.Interval) error {
	parts := l.parts(iv)
	if iv.WarmUp {
		return nil
	}
	var text strings.Builder
	if iv.Phase != l.phase {
		text.WriteString(l.endPhase())
		l.begin(iv.Phase)
		if l.before != nil {
			text.WriteString(l.before(iv.Phase))
		}
		text.WriteString(heading())
	}
	all := newInterval()
	for i := range parts {
		l.sums[i].add(&parts[i])
		all.add(&parts[i])
	}
	if all.to > all.from && all.count() > 0 {
		l.rates.add(float64(all.rows) / math.Max(all.seconds()-all.ms(float64(all.times.Max()))/1e3, 1e-9))
		l.total.add(&all)
		for i := range parts {
			if len(parts) > 1 && parts[i].count() > 0 {
				text.WriteString(l.row(l.names[i], &parts[i], &l.sums[i]))
			}
		}
		text.WriteString(l.row("total", &all, &l.total))
	}
	_, err := io.WriteString(l.out, text.String())
	return err
}

// parts returns what an interval holds of each operation.
func (l *Lines) parts(iv *measure.Interval) []interval {
	parts := make([]interval, len(l.names))
	if l.last == nil {
		l.last = make([][2]int64, len(l.names))
	}
	for i := range parts {
		parts[i] = newInterval()
		v := &parts[i]
		v.from, v.to = iv.StartNs, iv.EndNs
		if i >= len(iv.Operations) {
			continue
		}
		times := iv.Operations[i].Service
		if l.fixed {
			times = iv.Operations[i].Response
		}
		v.times.Merge(times)
		v.errors = iv.Operations[i].Failed()
		if l.program != nil {
			done := &l.program.Done[i]
			now := [2]int64{done.Partitions.Load(), done.Rows.Load()}
			v.partitions, v.rows = now[0]-l.last[i][0], now[1]-l.last[i][1]
			l.last[i] = now
		}
	}
	return parts
}

func (l *Lines) begin(phase string) {
	l.phase, l.total, l.rates, l.sums = phase, newInterval(), uncertainty{}, make([]interval, len(l.names))
	for i := range l.sums {
		l.sums[i] = newInterval()
	}
}

// row returns a line about an interval, and about all of the phase so far.
func (l *Lines) row(name string, v, all *interval) string {
	return fmt.Sprintf(rowForm, name+",", all.count(), v.rate(v.count()), v.rate(v.partitions), v.rate(v.rows),
		v.ms(v.times.Mean()), v.at(0.5), v.at(0.95), v.at(0.99), v.at(0.999), v.ms(float64(v.times.Max())), all.seconds(),
		l.rates.value(), v.errors, 0.0, 0.0, 0.0, 0.0, 0.0)
}

// endPhase ends a phase, and returns its results.
func (l *Lines) endPhase() string {
	if l.phase == "" || l.total.count() == 0 {
		return ""
	}
	run := Run{Phase: l.phase, OpsPerS: l.total.rate(l.total.count())}
	for i := range l.sums {
		if len(l.sums) > 1 && l.sums[i].count() > 0 {
			run.lines = append(run.lines, l.row(l.names[i], &l.sums[i], &l.sums[i]))
		}
	}
	run.lines = append(run.lines, l.row("total", &l.total, &l.total))
	l.failed += l.total.errors
	l.Runs = append(l.Runs, run)
	text := l.results()
	if n := len(l.Runs); n > 1 && l.Runs[n-2].OpsPerS > 0 {
		before := &l.Runs[n-2]
		text += fmt.Sprintf("Improvement over %s threadCount: %.0f%%\n", strings.TrimSuffix(before.Phase, " threads"),
			100*(run.OpsPerS-before.OpsPerS)/before.OpsPerS)
	}
	return text
}

// thousands formats a number with commas between groups of three digits.
func thousands(x float64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, x)
	whole, rest, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if digits > 0 {
		whole += "." + rest
	}
	return sign + whole
}

// results returns the results of a phase.
func (l *Lines) results() string {
	var b strings.Builder
	b.WriteString("\n\nResults:\n")
	line := func(name, form, unit string, digits int, value func(*interval) float64) {
		var parts []string
		for i := range l.sums {
			if l.sums[i].count() == 0 {
				continue
			}
			text := l.names[i] + ": " + thousands(value(&l.sums[i]), digits)
			if unit != "" {
				text += " " + strings.TrimSpace(unit)
			}
			parts = append(parts, text)
		}
		if unit != "" {
			unit = " " + unit
		}
		fmt.Fprintf(&b, "%-26s: "+form+"%s [%s]\n", name, thousands(value(&l.total), digits), unit, strings.Join(parts, ", "))
	}
	line("Op rate", "%8s", "op/s ", 0, func(v *interval) float64 { return v.rate(v.count()) })
	line("Partition rate", "%8s", "pk/s ", 0, func(v *interval) float64 { return v.rate(v.partitions) })
	line("Row rate", "%8s", "row/s", 0, func(v *interval) float64 { return v.rate(v.rows) })
	line("Latency mean", "%6s", "ms", 1, func(v *interval) float64 { return v.ms(v.times.Mean()) })
	for _, q := range []struct {
		name string
		q    float64
	}{{"Latency median", 0.5}, {"Latency 95th percentile", 0.95}, {"Latency 99th percentile", 0.99},
		{"Latency 99.9th percentile", 0.999}} {
		line(q.name, "%6s", "ms", 1, func(v *interval) float64 { return v.at(q.q) })
	}
	line("Latency max", "%6s", "ms", 1, func(v *interval) float64 { return v.ms(float64(v.times.Max())) })
	line("Total partitions", "%10s", "", 0, func(v *interval) float64 { return float64(v.partitions) })
	line("Total errors", "%10s", "", 0, func(v *interval) float64 { return float64(v.errors) })
	b.WriteString("Total GC count            : 0\nTotal GC memory           : 0.000KiB\n")
	b.WriteString("Total GC time             :    0.0 seconds\nAvg GC time               :    NaN ms\n")
	b.WriteString("StdDev GC time            :    0.0 ms\n")
	d := time.Duration(l.total.to - l.total.from).Truncate(time.Second)
	fmt.Fprintf(&b, "Total operation time      : %02d:%02d:%02d\n\n", int(d.Hours()), int(d.Minutes())%60,
		int(d.Seconds())%60)
	return b.String()
}

// Finish ends the last phase, and prints how it went on with more threads.
func (l *Lines) Finish() error {
	text := l.endPhase()
	l.phase = ""
	if len(l.Runs) > 1 {
		text += l.summary()
	}
	_, err := io.WriteString(l.out, text)
	return err
}

// summary compares the phases of a range of threads.
func (l *Lines) summary() string {
	width := 0
	id := func(r *Run) string { return strings.TrimSuffix(r.Phase, " threads") + " threadCount" }
	for i := range l.Runs {
		width = max(width, len(id(&l.Runs[i])))
	}
	text := fmt.Sprintf("%*s, ", width, "id") + heading()
	for i := range l.Runs {
		for _, line := range l.Runs[i].lines {
			text += fmt.Sprintf("%*s, ", width, id(&l.Runs[i])) + line
		}
	}
	return text
}

// improvement returns the mean growth of the rate over the last runs.
func improvement(rates []float64, count int) float64 {
	sum := 0.0
	for i := len(rates) - count; i < len(rates); i++ {
		sum += (rates[i] - rates[i-1]) / rates[i-1]
	}
	return sum / float64(count)
}

// saturated reports whether more threads bring nothing: the last three steps, or the last five less than least each.
func saturated(rates []float64, least float64) bool {
	return len(rates) >= 4 && improvement(rates, 3) < 0 || len(rates) >= 6 && improvement(rates, 5) < least
}

// certainty returns the growth of the rate, over five steps, below which more threads bring nothing: that of err<. A
// load that n= or duration= ends has none.
func (o *Options) certainty() float64 {
	if o.Until == nil {
		return -1
	}
	return o.Until.Below
}
