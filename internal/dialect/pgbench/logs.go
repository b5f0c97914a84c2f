package pgbench

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// logs are the files with the times of transactions, one for each thread of pgbench.
type logs struct {
	o     *Options
	files []logFile
}

// logFile is the log of a thread.
type logFile struct {
	mu     sync.Mutex
	file   *os.File
	out    *bufio.Writer
	draw   *rand.Rand // of the sample
	from   int64      // µs since the epoch: start of the interval
	counts counts     // of the interval
}

// openLogs creates the files. process is the number of this process.
func openLogs(o *Options, process int) (*logs, error) {
	l := &logs{o: o, files: make([]logFile, o.Threads)}
	for i := range l.files {
		name := fmt.Sprintf("%s.%d", o.LogPrefix, process)
		if i > 0 {
			name += fmt.Sprintf(".%d", i)
		}
		file, err := os.Create(name)
		if err != nil {
			return nil, errors.Join(fault(`could not open logfile "%s": %s`, name, reason(err)), l.close(time.Now()))
		}
		f := &l.files[i]
		f.file, f.out = file, bufio.NewWriterSize(file, 64<<10)
		f.draw = rand.New(rand.NewPCG(o.Seed, uint64(i)))
	}
	return l, nil
}

// begin begins the first interval.
func (l *logs) begin(now time.Time) {
	for i := range l.files {
		l.files[i].from = now.Unix() * 1e6
	}
}

// add writes down a transaction. number is its number among those of its client.
func (l *logs) add(x *transaction, number int64, now time.Time) {
	f := &l.files[l.o.thread(x.client)]
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case l.o.SamplingRate > 0 && f.draw.Float64() > l.o.SamplingRate:
	case l.o.AggregateS > 0:
		f.advance(l.o, now)
		f.counts.add(x, l.o.RatePerS > 0)
	default:
		f.out.WriteString(l.line(x, number, now))
	}
}

// line returns the line of a transaction.
func (l *logs) line(x *transaction, number int64, now time.Time) string {
	what := fmt.Sprintf("%.0f", x.latency)
	switch {
	case x.fate == skipped:
		what = "skipped"
	case x.fate == succeeded:
	case !l.o.FailuresDetailed:
		what = "failed"
	case x.fate == serializationError:
		what = "serialization"
	default:
		what = "deadlock"
	}
	micros := now.UnixMicro()
	line := fmt.Sprintf("%d %d %s %d %d %d", x.client, number, what, x.script, micros/1e6, micros%1e6)
	if l.o.RatePerS > 0 {
		line += fmt.Sprintf(" %.0f", x.lag)
	}
	if l.o.MaxTries != 1 {
		line += fmt.Sprintf(" %d", x.tries-1)
	}
	return line + "\n"
}

// advance writes the intervals that have ended.
func (f *logFile) advance(o *Options, now time.Time) {
	length := int64(o.AggregateS) * 1e6
	for ; f.from+length <= now.UnixMicro(); f.from += length {
		f.out.WriteString(interval(o, f.from/1e6, &f.counts))
		f.counts = counts{}
	}
}

// interval returns the line of an interval that begins at a second since the epoch.
func interval(o *Options, second int64, c *counts) string {
	if o.LatencyLimitMs == 0 {
		c.skipped = 0
	}
	if o.MaxTries == 1 {
		c.retried, c.retries = 0, 0
	}
	if !o.FailuresDetailed {
		c.serialization, c.deadlock = 0, 0
	}
	return fmt.Sprintf("%d %d %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %d %d %d %d %d\n", second, c.done, c.latency.sum,
		c.latency.sum2, c.latency.least, c.latency.most, c.lag.sum, c.lag.sum2, c.lag.least, c.lag.most, c.skipped,
		c.retried, c.retries, c.serialization, c.deadlock)
}

// close ends the files.
func (l *logs) close(now time.Time) (err error) {
	for i := range l.files {
		f := &l.files[i]
		f.mu.Lock()
		if f.file != nil {
			if l.o.AggregateS > 0 && f.from > 0 {
				f.advance(l.o, now)
			}
			err = errors.Join(err, f.out.Flush(), f.file.Close())
			f.file = nil
		}
		f.mu.Unlock()
	}
	return err
}
