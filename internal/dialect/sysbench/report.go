package sysbench

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Figures are what a report of sysbench's says.
type Figures struct {
	Totals
	TotalTime time.Duration // since the start of what is counted
	Interval  time.Duration // of the figures; rates are per second of it
	LeastNs   int64
	MostNs    int64
	SumNs     float64
	Threads   []Totals // of each thread
	// With Debug, the least and the greatest latency of each thread.
	LeastNsOf, MostNsOf []int64
	Unfinished          int // events given up by --forced-shutdown

	histogram histogram
}

// printer writes lines at levels of verbosity.
type printer struct {
	w io.Writer
	s *Settings
}

func (p printer) line(level int, format string, args ...any) {
	if level > p.s.Verbosity {
		return
	}
	prefix := [...]string{"FATAL: ", "ALERT: ", "WARNING: ", "", "", "DEBUG: "}[level]
	fmt.Fprintf(p.w, prefix+format+"\n", args...)
}

func (p printer) notice(format string, args ...any) { p.line(noticeLevel, format, args...) }

// mode writes what is about to be run.
func (p printer) mode() {
	s := p.s
	p.notice("Running the test with following options:")
	p.notice("Number of threads: %d", s.Threads)
	if s.WarmUp > 0 {
		p.notice("Warmup time: %ds", int(s.WarmUp.Seconds()))
	}
	if s.Rate > 0 {
		p.notice("Target transaction rate: %d/sec", s.Rate)
	}
	if s.Interval > 0 {
		p.notice("Report intermediate results every %d second(s)", int(s.Interval.Seconds()))
	}
	if len(s.Checkpoints) > 0 {
		list := ""
		for i, c := range s.Checkpoints {
			if i > 0 {
				list += ", "
			}
			list += fmt.Sprint(int(c.Seconds()))
		}
		p.notice("Report checkpoint(s) at %s seconds", list)
	}
	if s.Debug {
		p.notice("Debug mode enabled.\n")
	}
	if s.Validate {
		p.notice("Validation checks: on.\n")
	}
	if s.SeedGiven {
		p.notice("Initializing random number generator from seed (%d).\n", int32(s.Seed))
	} else {
		p.notice("Initializing random number generator from current time\n")
	}
	if s.Forced {
		p.notice("Forcing shutdown in %d seconds", int((s.Time + s.WarmUp + s.ForcedAfter).Seconds()))
	}
	p.notice("")
	p.notice("Initializing worker threads...\n")
}

// interval writes the line of --report-interval, and with --rate that of the queue.
func (p printer) interval(f *Figures, queued, running uint64) {
	seconds := f.Interval.Seconds()
	per := func(n uint64) float64 { return float64(n) / seconds }
	at := f.TotalTime.Seconds()
	p.notice("[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%d%%): %4.2f err/s: %4.2f "+
		"reconn/s: %4.2f", at, p.s.Threads, per(f.Events), per(f.queries()), per(f.Reads), per(f.Writes), per(f.Other),
		p.s.Percentile, f.histogram.percentile(p.s.Percentile), per(f.Errors), per(f.Reconnects))
	if p.s.Rate > 0 {
		p.notice("[ %.0fs ] queue length: %d, concurrency: %d", at, queued, running)
	}
}

// report writes the whole report.
func (p printer) report(f *Figures) {
	p.statements(f)
	if f.Unfinished > 0 {
		p.notice("")
		p.notice("Number of unfinished transactions on forced shutdown: %d", f.Unfinished)
	}
	p.notice("")
	if p.s.Version == Version11 {
		p.notice("Throughput:")
		p.notice("    events/s (eps):                      %.4f", float64(f.Events)/f.Interval.Seconds())
		p.notice("    time elapsed:                        %.4fs", f.TotalTime.Seconds())
	} else {
		p.notice("General statistics:")
		p.notice("    total time:                          %.4fs", f.TotalTime.Seconds())
	}
	p.notice("    total number of events:              %d", f.Events)
	p.notice("")
	p.latency(f)
	p.fairness(f)
	if p.s.Debug {
		p.threads(f)
	}
}

// statements writes the section on statements.
func (p printer) statements(f *Figures) {
	seconds := f.Interval.Seconds()
	rated := func(label string, n uint64) {
		p.notice("    %-36s %-6d (%.2f per sec.)", label+":", n, float64(n)/seconds)
	}
	p.notice("SQL statistics:")
	p.notice("    queries performed:")
	p.notice("        read:                            %d", f.Reads)
	p.notice("        write:                           %d", f.Writes)
	p.notice("        other:                           %d", f.Other)
	p.notice("        total:                           %d", f.queries())
	rated("transactions", f.Events)
	rated("queries", f.queries())
	rated("ignored errors", f.Errors)
	rated("reconnects", f.Reconnects)
	if !p.s.DriverDebug {
		return
	}
	// sysbench declares these timers and never starts them.
	p.line(debugLevel, "")
	for _, title := range []string{"Query execution statistics:", "Results fetching statistics:"} {
		p.line(debugLevel, "%s", title)
		for _, label := range []string{"    min:", "    avg:", "    max:", "  total:"} {
			p.line(debugLevel, "%s                                0.0000s", label)
		}
	}
}

// latency writes the section on latencies.
func (p printer) latency(f *Figures) {
	average := 0.0
	if f.Events > 0 {
		average = f.SumNs / float64(f.Events)
	}
	p.notice("Latency (ms):")
	p.notice("         min: %39.2f", float64(f.LeastNs)/1e6)
	p.notice("         avg: %39.2f", average/1e6)
	p.notice("         max: %39.2f", float64(f.MostNs)/1e6)
	if p.s.Percentile > 0 {
		p.notice("        %3dth percentile: %27.2f", p.s.Percentile, f.histogram.percentile(p.s.Percentile))
	} else {
		p.notice("         percentile stats:               disabled")
	}
	p.notice("         sum: %39.2f", f.SumNs/1e6)
	p.notice("")
}

// fairness writes the section on threads.
func (p printer) fairness(f *Figures) {
	n := float64(max(len(f.Threads), 1))
	events, seconds := float64(f.Events)/n, f.SumNs/1e9/n
	var eventsOff, secondsOff float64
	for i := range f.Threads {
		t := &f.Threads[i]
		eventsOff += math.Pow(float64(t.Events)-events, 2)
		secondsOff += math.Pow(float64(t.BusyNs)/1e9-seconds, 2)
	}
	p.notice("Threads fairness:")
	p.notice("    events (avg/stddev):           %.4f/%3.2f", events, math.Sqrt(eventsOff/n))
	p.notice("    execution time (avg/stddev):   %.4f/%3.2f", seconds, math.Sqrt(secondsOff/n))
	p.notice("")
}

// threads writes the times of each thread.
func (p printer) threads(f *Figures) {
	p.line(debugLevel, "Verbose per-thread statistics:\n")
	for i := range f.Threads {
		t := &f.Threads[i]
		least, most, average := int64(0), int64(0), 0.0
		if i < len(f.LeastNsOf) {
			least, most = f.LeastNsOf[i], f.MostNsOf[i]
		}
		if t.Events > 0 {
			average = float64(t.BusyNs) / 1e9 / float64(t.Events)
		}
		p.line(debugLevel, "    thread #%3d: min: %.4fs  avg: %.4fs  max: %.4fs  events: %d", i, float64(least)/1e9, average,
			float64(most)/1e9, t.Events)
		p.line(debugLevel, "                 total time taken by event execution: %.4fs", float64(t.BusyNs)/1e9)
	}
	p.notice("")
}
