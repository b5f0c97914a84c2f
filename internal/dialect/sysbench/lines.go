package sysbench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// longestQueue is the number of waiting events at which sysbench gives up.
const longestQueue = 131072

// lines prints sysbench's lines while a load runs, and its report at the end.
type lines struct {
	s       *Settings
	p       printer
	program *program
	abort   func(why message.Message) // ends the load at once
	end     func(why message.Message) // ends the load, and waits for answers

	mu      sync.Mutex // guards what follows, for the timer of --forced-shutdown
	started bool
	ctx     context.Context // of the load, once it has started
	failed  bool            // the load was ended by an error
	forced  bool            // … by --forced-shutdown
	over    bool

	beganNs  int64 // of what is counted, on the run's clock
	nowNs    int64
	printed  int64 // lines of --report-interval
	line     span
	section  span // since the last checkpoint
	reported int  // checkpoints
}

// span is a part of the load whose figures are printed together.
type span struct {
	fromNs  int64
	before  []Totals // of the threads, at its start
	latency *measure.Histogram
}

var _ measure.Sink = (*lines)(nil)

func newLines(s *Settings, w io.Writer) *lines {
	return &lines{s: s, p: printer{w, s}, line: span{latency: measure.NewHistogram()},
		section: span{latency: measure.NewHistogram()}}
}

// attach takes the compiled test.
func (l *lines) attach(w *workload.Workload) {
	l.program, _ = w.ScriptProgram().(*program)
	if l.program != nil {
		l.program.onFatal = func(e *fatalError) { l.fail(e.failure.Text, func() { l.p.failure(e, l.s.mysql()) }) }
	}
}

// fail ends the load because of an error, which say prints.
func (l *lines) fail(why string, say func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.failed || l.ctx != nil && l.ctx.Err() != nil { // answers are no longer awaited
		return
	}
	l.failed = true
	say()
	l.end(message.New("stop.error", message.Text("text", why)))
}

// ready says that all sessions are connected. ctx ends when the load is ended.
func (l *lines) ready(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started, l.ctx = true, ctx
	l.p.notice("Threads started!\n")
	if l.s.WarmUp > 0 {
		l.p.notice("Warming up for %d seconds...\n", int(l.s.WarmUp.Seconds()))
	}
	if l.s.Forced {
		time.AfterFunc(l.s.Time+l.s.WarmUp+l.s.ForcedAfter, l.force)
	}
	l.restart(0)
}

// force is --forced-shutdown.
func (l *lines) force() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.failed {
		return
	}
	l.forced = true
	if l.program != nil {
		l.program.leaving.Store(true)
	}
	l.p.line(fatalLevel, "The --max-time limit has expired, forcing shutdown...")
	l.abort(message.New("stop.forced"))
}

// totals returns the counters of all threads.
func (l *lines) totals() []Totals {
	all := make([]Totals, l.s.Threads)
	for i := range all {
		if l.program != nil && i < len(l.program.counters) {
			all[i] = l.program.counters[i].totals()
		}
	}
	return all
}

// restart begins to count at a time.
func (l *lines) restart(atNs int64) {
	all := l.totals()
	l.beganNs, l.nowNs = atNs, atNs
	l.line.restart(atNs, all)
	l.section.restart(atNs, all)
}

func (s *span) restart(atNs int64, all []Totals) {
	s.fromNs, s.before = atNs, all
	s.latency.Reset()
}

// Interval implements measure.Sink.
func (l *lines) Interval(iv *measure.Interval) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case iv.WarmUp:
		l.restart(iv.EndNs)
		return nil
	case l.nowNs == 0:
		l.beganNs, l.line.fromNs, l.section.fromNs = iv.StartNs, iv.StartNs, iv.StartNs
	}
	for i := range iv.Operations {
		l.line.latency.Merge(iv.Operations[i].Response)
		l.section.latency.Merge(iv.Operations[i].Response)
	}
	l.nowNs = iv.EndNs
	if iv.Backlog >= longestQueue && !l.failed {
		l.failed = true
		l.p.line(fatalLevel, "The event queue is full. This means the worker threads are unable to keep up with the "+
			"specified event generation rate")
		l.end(message.New("stop.queue", message.Count("n", iv.Backlog)))
	}
	const slackNs = int64(50 * time.Millisecond) // an interval may end slightly before its time
	passed := l.nowNs - l.beganNs + slackNs
	if every := int64(l.s.Interval); every > 0 && passed/every > l.printed && !l.failed {
		l.printed = passed / every
		f := l.figures(&l.line)
		l.p.interval(&f, iv.Backlog, uint64(iv.Busy))
		l.line.restart(l.nowNs, l.totals())
	}
	for ; l.reported < len(l.s.Checkpoints) && passed >= int64(l.s.Checkpoints[l.reported]); l.reported++ {
		if l.s.Checkpoints[l.reported] == 0 {
			continue
		}
		f := l.figures(&l.section)
		l.p.notice("[ %.0fs ] Checkpoint report:", f.TotalTime.Seconds())
		l.p.report(&f)
		l.section.restart(l.nowNs, l.totals())
	}
	return nil
}

// figures returns the figures of a span up to now.
func (l *lines) figures(s *span) Figures {
	f := Figures{TotalTime: time.Duration(l.nowNs - l.beganNs), Interval: max(time.Duration(l.nowNs-s.fromNs), 1),
		LeastNs: s.latency.Min(), MostNs: s.latency.Max(), SumNs: s.latency.Sum()}
	f.Threads = l.totals()
	for i := range f.Threads {
		if i < len(s.before) {
			f.Threads[i] = f.Threads[i].minus(s.before[i])
		}
		f.Totals = f.Totals.plus(f.Threads[i])
		if l.program != nil && i < len(l.program.counters) {
			c := &l.program.counters[i]
			f.LeastNsOf, f.MostNsOf = append(f.LeastNsOf, c.leastNs.Load()), append(f.MostNsOf, c.mostNs.Load())
		}
	}
	f.addQueue()
	f.histogram.merge(s.latency)
	if l.s.test.isBulk() && f.Events > f.histogram.total { // rows that only fill the statement take no time
		f.histogram.add(0, f.Events-f.histogram.total)
		f.LeastNs = 0
	}
	return f
}

// addQueue adds to the threads' times what events have waited in the queue, which threads don't measure: the same for
// each event.
func (f *Figures) addQueue() {
	if rest := f.SumNs - float64(f.BusyNs); rest > 0 && f.Events > 0 {
		for i := range f.Threads {
			f.Threads[i].BusyNs += int64(rest * float64(f.Threads[i].Events) / float64(f.Events))
		}
	}
}

// finish prints the report at the end of a load that no error has ended.
func (l *lines) finish(run *record.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.failed {
		return
	}
	l.p.line(infoLevel, "Done.\n")
	f := l.figures(&l.section)
	if l.forced {
		f.Unfinished = int(run.Total.Unfinished)
	}
	if l.s.Histogram {
		l.p.notice("Latency histogram (values are in milliseconds)")
		f.histogram.write(l.p.w)
		l.p.notice(" ")
	}
	l.p.report(&f)
}

// failure prints the error that ends the load.
func (p printer) failure(e *fatalError, mysql bool) {
	f := &e.failure
	text := ""
	if e.request != nil {
		text = e.request.Text
	}
	if mysql {
		name := "mysql_stmt_execute()"
		if e.simple {
			name = "mysql_drv_query()"
		}
		code := f.Code
		if code == "" {
			code = "2013"
		}
		p.line(fatalLevel, "%s returned error %s (%s) for query '%s'", name, code, f.Text, questionMarks(text))
		p.line(fatalLevel, "`thread_run' function failed: SQL error, errno = %s: %s", code, f.Text)
		return
	}
	name := "PQexecPrepared"
	if e.simple {
		name = "PQexec"
	}
	p.line(fatalLevel, "%s() failed: 7 %s", name, f.Text)
	if e.simple {
		p.line(fatalLevel, "failed query was: %s", text)
	}
	p.line(fatalLevel, "`thread_run' function failed: SQL error, errno = 0, state = '%s': %s", f.Code, f.Text)
}

// questionMarks writes the parameters of a statement of sysbench's as mysql does.
func questionMarks(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		if text[i] != '$' {
			continue
		}
		for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
			i++
		}
	}
	return strings.ReplaceAll(b.String(), "$", "?")
}

// unconnected says why no load was sent.
func (p printer) unconnected(err error) {
	p.line(fatalLevel, "%s", protocol.Line(err.Error(), ""))
	p.line(fatalLevel, "Thread initialization failed!")
}

// greeting is the first line.
func greeting(version, brunt string) string {
	return fmt.Sprintf("sysbench %s (using brunt %s)\n\n", programs[version], brunt)
}
