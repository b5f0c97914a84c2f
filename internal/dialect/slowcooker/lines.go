package slowcooker

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// Lines prints a report for every interval. Begin, Interval, Comment and Finish must be called from one goroutine;
// Timed is safe for concurrent use.
type Lines struct {
	o   *Options
	out io.Writer
	now func() time.Time

	iteration uint64
	beganNs   int64         // start of the first interval
	fromNs    int64         // start of the current interval
	toNs      int64         // end of the current interval so far
	planned   time.Duration // length of the intervals before, as they were meant to be
	offered   uint64
	counts    measure.Counts
	pausedNs  int64
	answers   *measure.Histogram // good and bad answers of the current interval
	total     *measure.Histogram
	change    changeColumn
	comments  []string
	unsaid    int // number of comments beyond mostComments
	broken    bool

	mu  sync.Mutex
	bad *measure.Histogram // bad answers that aren't in answers yet
}

var _ measure.Sink = (*Lines)(nil)

// mostComments is the most comments between two reports.
const mostComments = 20

// NewLines returns a printer. now returns the current time in the time zone to print.
func NewLines(o *Options, out io.Writer, now func() time.Time) *Lines {
	return &Lines{
		o: o, out: out, now: now, change: changeColumn{zeros: o.Compat},
		answers: measure.NewHistogram(), total: measure.NewHistogram(), bad: measure.NewHistogram(),
	}
}

// Begin prints the headings.
func (l *Lines) Begin() error {
	return l.write(l.o.Layout.Headings(l.o, l.now()))
}

// Timed records the time of an answer with a bad status. It is a workload.Workload's Timed. The record can't be used
// for that, since it mixes these times with those of requests without an answer.
func (l *Lines) Timed(t workload.Timing) {
	if t.Class != protocol.Server {
		return
	}
	from := t.IntendedNs
	if l.o.ServiceTime {
		from = t.SentNs
	}
	l.mu.Lock()
	l.bad.Record(t.EndNs - from)
	l.mu.Unlock()
}

// Interval implements measure.Sink. It adds a slice of the record, and prints a report at the end of an interval. The
// last report of a limited load is left to Finish, so that it includes the last answers.
func (l *Lines) Interval(iv *measure.Interval) error {
	if iv.WarmUp {
		l.mu.Lock()
		l.bad.Reset()
		l.mu.Unlock()
		return nil
	}
	if l.toNs == 0 {
		l.beganNs, l.fromNs = iv.StartNs, iv.StartNs
	}
	for i := range iv.Operations {
		op := &iv.Operations[i]
		l.counts.Add(&op.Counts)
		times := op.Response
		if l.o.ServiceTime {
			times = op.Service
		}
		l.answers.Merge(times)
	}
	l.mu.Lock()
	l.answers.Merge(l.bad)
	l.bad.Reset()
	l.mu.Unlock()
	l.offered += iv.Offered
	l.pausedNs += iv.Health.PausedNs
	l.toNs = iv.EndNs
	// A slice may end slightly before or after its time.
	interval, slack := int64(l.o.Interval), int64(l.o.Slice)/10
	if (l.toNs-l.beganNs+slack)/interval == (l.fromNs-l.beganNs+slack)/interval || l.last() {
		return nil
	}
	return l.print()
}

// last reports whether the load has sent everything.
func (l *Lines) last() bool {
	o := l.o
	return o.Iterations > 0 && l.iteration+1 >= o.Iterations ||
		o.TotalRequests > 0 && l.offered >= o.TotalRequests ||
		o.Duration > 0 && l.toNs-l.beganNs >= int64(o.Duration)
}

// Comment adds a line with the current time after the next report.
func (l *Lines) Comment(text string) {
	if len(l.comments) == mostComments {
		l.unsaid++
		return
	}
	l.comments = append(l.comments, "# "+l.now().Format(time.RFC3339)+" "+text)
}

// Finish prints the rest after the end of the load.
func (l *Lines) Finish() error {
	if l.counts.Done == 0 && len(l.comments) == 0 && l.pausedNs == 0 {
		return nil
	}
	return l.print()
}

// Total returns the distribution of all answers, in ns.
func (l *Lines) Total() *measure.Histogram { return l.total }

func (l *Lines) print() error {
	line := l.line()
	text := l.o.Layout.Format(&line) + "\n"
	if l.pausedNs > 0 {
		text += fmt.Sprintf(
			"# the generator itself stood still for %s in this interval (suspended, stopped or starved): its latencies are not the server's\n",
			time.Duration(l.pausedNs).Round(10*time.Millisecond))
	}
	for _, c := range l.comments {
		text += c + "\n"
	}
	if l.unsaid > 0 {
		text += fmt.Sprintf("# and %d more\n", l.unsaid)
	}
	l.total.Merge(l.answers)
	l.answers.Reset()
	l.counts, l.pausedNs, l.comments, l.unsaid = measure.Counts{}, 0, l.comments[:0], 0
	l.fromNs = l.toNs
	l.iteration++
	return l.write(text)
}

// write returns only the first of several errors in a row, since a full disk may last for days.
func (l *Lines) write(text string) error {
	_, err := io.WriteString(l.out, text)
	told := l.broken
	if l.broken = err != nil; told {
		return nil
	}
	return err
}

func (l *Lines) line() Line {
	o, h, c := l.o, l.answers, &l.counts
	unit := func(ns int64) int64 { return ns / int64(o.Unit) }
	length := time.Duration(l.toNs - l.fromNs)
	// Intervals are cut on a grid, so deviations of up to 1 % are ignored. The last interval of a load that ends on
	// time waits for its last answers.
	if off := length - o.Interval; off.Abs() <= max(o.Interval/100, o.Slice/10) || o.Iterations > 0 &&
		l.iteration+1 == o.Iterations && off > 0 {
		length = o.Interval
	}
	line := Line{
		Time: l.now(), Iteration: l.iteration, Interval: l.length(length),
		Good: c.OK(), Bad: c.Errors[protocol.Server], Target: l.due(l.planned+length) - l.due(l.planned),
		BadHash: c.BadHash,
		Min:     unit(h.Min()), P50: unit(h.Quantile(0.5)), P95: unit(h.Quantile(0.95)), P99: unit(h.Quantile(0.99)),
		P999: unit(h.Quantile(0.999)), Max: unit(h.Max()),
	}
	l.planned += length
	line.Failed = c.Failed() - line.Bad
	if o.Compat {
		line.P999 = line.Max
	}
	// A stall of the generator, or a partial interval, says nothing about a change of the server.
	if l.pausedNs == 0 && 2*length >= o.Interval {
		line.Change = l.change.next(line.P99)
	}
	return line
}

// due returns how many requests fall due before a time since the beginning of the load. A target that was computed for
// each interval by itself would not add up to that, since requests of 2.5 intervals are not 2.5 requests.
func (l *Lines) due(after time.Duration) uint64 {
	return uint64(math.Ceil(math.Round(l.o.RatePerS()*after.Seconds()*1e6) / 1e6))
}

// length formats an interval's length. A partial interval is padded or rounded to the usual width if possible.
func (l *Lines) length(d time.Duration) string {
	whole := l.o.Interval.String()
	if d == l.o.Interval {
		return whole
	}
	for _, digit := range []time.Duration{100 * time.Millisecond, time.Second} {
		if s := d.Round(digit).String(); d >= digit && len(s) <= len(whole) {
			return fmt.Sprintf("%*s", len(whole), s)
		}
	}
	return d.Round(time.Millisecond).String()
}

// history is how many intervals the change column compares with.
const history = 5

// changeColumn compares an interval's p99 with the mean of the previous intervals'. It prints a sign for each power of
// ten between them, at most three.
type changeColumn struct {
	last []int64 // at most history values, the oldest first
	// zeros says that the history begins with zeros, like slow_cooker's. A load that starts up then looks like a
	// change.
	zeros bool
}

// next returns the mark for the next interval.
func (c *changeColumn) next(p99 int64) string {
	if c.zeros && c.last == nil {
		c.last = make([]int64, history)
	}
	mark := markOf(c.last, p99)
	if len(c.last) == history {
		c.last = append(c.last[:0], c.last[1:]...)
	}
	c.last = append(c.last, p99)
	return mark
}

func markOf(before []int64, p99 int64) string {
	if len(before) == 0 {
		return ""
	}
	var mean int64
	for _, v := range before {
		mean += v
	}
	mean /= int64(len(before))
	switch {
	case mean == 0 && p99 == 0:
		return ""
	case mean == 0:
		return "+"
	case p99 == 0:
		return "-"
	}
	powers := int(math.Log10(float64(p99)) - math.Log10(float64(mean)))
	if powers < 0 {
		return strings.Repeat("-", min(-powers, 3))
	}
	return strings.Repeat("+", min(powers, 3))
}

// Layout is the output format of a release.
type Layout struct {
	iteration bool   // there is a column that numbers the lines from 0
	badHash   bool   // there is a column that counts wrong hashes
	method    bool   // the first header line has the HTTP method
	goodOnly  bool   // the share only counts good answers
	share     string // heading of the share
	pad       int    // how many columns the heading of the time is shorter than the time
	summary   string
}

// layoutOf returns the layout of a release, nil if it is unknown. "1.2" is that of the project's latest commit, "1.2.0"
// that of the release.
func layoutOf(release string) *Layout {
	switch release {
	case "1.0":
		return &Layout{goodOnly: true, share: "good%", summary: "1.0"}
	case "1.2.0":
		return &Layout{badHash: true, method: true, share: "goal%", summary: "1.2"}
	case "1.2":
		return &Layout{iteration: true, badHash: true, method: true, share: "goal%", pad: 2, summary: "1.2"}
	}
	return nil
}

// Line is the data of one report.
type Line struct {
	Time                          time.Time
	Iteration                     uint64
	Good, Bad, Failed             uint64
	Target                        uint64 // requests planned for the interval
	Interval                      string
	Min, P50, P95, P99, P999, Max int64 // in the unit of latencies
	BadHash                       uint64
	Change                        string
}

// Share returns the percentage of the target that was reached, rounded down, at most 100.
func (y *Layout) Share(l *Line) int {
	n := l.Good + l.Bad
	if y.goodOnly {
		n = l.Good
	}
	if n >= l.Target {
		if n == 0 {
			return 0
		}
		return 100
	}
	return int(float64(n) / float64(l.Target) * 100)
}

// Format returns the line without a line end.
func (y *Layout) Format(l *Line) string {
	var b strings.Builder
	b.WriteString(l.Time.Format(time.RFC3339))
	if y.iteration {
		fmt.Fprintf(&b, " %4d", l.Iteration)
	}
	fmt.Fprintf(&b, " %6d/%1d/%1d %d %3d%% %s %3d [%3d %3d %3d %4d ] %4d",
		l.Good, l.Bad, l.Failed, l.Target, y.Share(l), l.Interval, l.Min, l.P50, l.P95, l.P99, l.P999, l.Max)
	if y.badHash {
		fmt.Fprintf(&b, " %6d", l.BadHash)
	}
	return b.String() + " " + l.Change
}

// Headings returns the two lines before the first report. now determines the width of the time.
func (y *Layout) Headings(o *Options, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# sending %d ", o.QPS*o.Concurrency)
	if y.method {
		b.WriteString(o.Method + " ")
	}
	fmt.Fprintf(&b, "req/s with concurrency=%d ", o.Concurrency)
	if strings.HasPrefix(o.Target, "@") {
		fmt.Fprintf(&b, "using url list %s ...\n", o.Target[1:])
	} else {
		fmt.Fprintf(&b, "to %s ...\n", endpoints.Redacted(o.URLs[0]))
	}
	times := strings.Repeat(" ", len(now.Format(time.RFC3339))-y.pad)
	intervals := strings.Repeat(" ", len(o.Interval.String())-2)
	b.WriteString("# " + times)
	if y.iteration {
		b.WriteString(" iter  ")
	}
	fmt.Fprintf(&b, " good/b/f t   %s %s min [p50 p95 p99  p999]  max ", y.share, intervals)
	if y.badHash {
		b.WriteString("bhash ")
	}
	return b.String() + "change\n"
}
