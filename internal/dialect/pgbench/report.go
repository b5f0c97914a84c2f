package pgbench

import (
	"fmt"
	"io"
	"math"
	"time"

	"brunt/internal/dialect/pgbench/script"
)

// server is what pgbench finds out about the server before a load.
type server struct {
	version         string
	partitionMethod string // "": the table isn't partitioned
	partitions      int
}

// banner returns the line about the versions.
func (s *server) banner(o *Options) string {
	if s.version == release(o.Version) {
		return fmt.Sprintf("pgbench (%s)\n", s.version)
	}
	return fmt.Sprintf("pgbench (%s, server %s)\n", release(o.Version), s.version)
}

// summary is what the report at the end is made of.
type summary struct {
	o        *Options
	server   *server
	meter    *meter
	program  *script.Program
	duration time.Duration // of the load
	// connecting is, with -C, how long all connections took to open; otherwise until all were open.
	connecting time.Duration
}

// errWriter remembers the first error.
type errWriter struct {
	w   io.Writer
	err error
}

func (w *errWriter) line(format string, values ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format+"\n", values...)
	}
}

// write writes the report.
func (s *summary) write(to io.Writer) error {
	w, o, total := &errWriter{w: to}, s.o, s.meter.sum(-1)
	s.parameters(w, &total)
	if total.all() <= 0 {
		if o.Version < wideVersion {
			s.outcome(w, "", &total, total.all())
		}
		return w.err
	}
	s.outcome(w, "", &total, total.all())
	if o.RatePerS > 0 && o.LatencyLimitMs > 0 {
		w.line("number of transactions skipped: %d (%.3f%%)", total.skipped, percent(total.skipped, total.all()))
	}
	if o.LatencyLimitMs > 0 {
		share := 0.0
		if total.done > 0 {
			share = percent(total.late, total.done)
		}
		w.line("number of transactions above the %.1f ms latency limit: %d/%d (%.3f%%)",
			float64(o.latencyLimit().Microseconds())/1000, total.late, total.done, share)
	}
	if o.timed() {
		latency(w, "latency", &total.latency)
	} else {
		note := ""
		if total.failures() > 0 {
			note = " (including failures)"
		}
		w.line("latency average = %.3f ms%s",
			0.001*float64(s.duration.Microseconds())*float64(o.Clients)/float64(total.all()), note)
	}
	if o.RatePerS > 0 {
		w.line("rate limit schedule lag: avg %s (max %.3f) ms", number3(0.001*total.lag.sum/float64(total.done)),
			0.001*total.lag.most)
	}
	tps := float64(total.done) / s.duration.Seconds()
	if o.Connect {
		w.line("average connection time = %s ms",
			number3(0.001*float64(s.connecting.Microseconds())/float64(total.done+total.failures())))
		w.line("tps = %f (including reconnection times)", tps)
	} else {
		w.line("initial connection time = %.3f ms", 0.001*float64(s.connecting.Microseconds()))
		w.line("tps = %f (without initial connection time)", tps)
	}
	for i := range o.Scripts {
		s.script(w, i, &total)
	}
	return w.err
}

// number3 returns a number with three digits after the point, as PostgreSQL's own printf prints it.
func number3(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN" // whatever the sign
	case math.IsInf(x, 0):
		return "Infinity" // nothing that is printed is below 0
	}
	return fmt.Sprintf("%.3f", x)
}

func percent(part, whole int64) float64 { return 100 * float64(part) / float64(whole) }

// parameters writes what the load was.
func (s *summary) parameters(w *errWriter, total *counts) {
	o, name := s.o, "multiple scripts"
	if len(o.Scripts) == 1 {
		name = o.Scripts[0].Name
	}
	w.line("transaction type: %s", name)
	w.line("scaling factor: %d", o.Scale)
	if s.server.partitionMethod != "" {
		w.line("partition method: %s\npartitions: %d", s.server.partitionMethod, s.server.partitions)
	}
	w.line("query mode: %s", o.Mode)
	w.line("number of clients: %d", o.Clients)
	w.line("number of threads: %d", o.Threads)
	if o.MaxTries > 0 {
		w.line("maximum number of tries: %d", o.MaxTries)
	}
	if o.DurationS == 0 {
		w.line("number of transactions per client: %d", o.Transactions)
		w.line("number of transactions actually processed: %d/%d", total.done, o.Transactions*o.Clients)
	} else {
		w.line("duration: %d s", o.DurationS)
		w.line("number of transactions actually processed: %d", total.done)
	}
}

// outcome writes failures and retries.
func (s *summary) outcome(w *errWriter, prefix string, c *counts, all int64) {
	w.line("%snumber of failed transactions: %d (%.3f%%)", prefix, c.failures(), percent(c.failures(), all))
	if s.o.FailuresDetailed {
		w.line("%snumber of serialization failures: %d (%.3f%%)", prefix, c.serialization, percent(c.serialization, all))
		w.line("%snumber of deadlock failures: %d (%.3f%%)", prefix, c.deadlock, percent(c.deadlock, all))
	}
	if s.o.MaxTries != 1 {
		w.line("%snumber of transactions retried: %d (%.3f%%)", prefix, c.retried, percent(c.retried, all))
		w.line("%stotal number of retries: %d", prefix, c.retries)
	}
}

func latency(w *errWriter, prefix string, l *simple) {
	if l.count > 0 {
		w.line("%s average = %.3f ms", prefix, l.meanMs())
		w.line("%s stddev = %s ms", prefix, number3(l.deviationMs()))
	}
}

// script writes what is reported of a script.
func (s *summary) script(w *errWriter, i int, total *counts) {
	o, prefix := s.o, ""
	if o.perScript() {
		prefix = " - "
		c := s.meter.sum(i)
		w.line("SQL script %d: %s", i+1, o.Scripts[i].Name)
		w.line(" - weight: %d (targets %.1f%% of total)", o.Scripts[i].Weight, percent(o.Scripts[i].Weight, o.totalWeight()))
		s.shares(w, &c, total)
		latency(w, " - latency", &c.latency)
	}
	if !o.PerCommand {
		return
	}
	what := " and failures"
	if o.MaxTries != 1 {
		what = ", failures and retries"
	}
	w.line("%sstatement latencies in milliseconds%s:", prefix, what)
	for k, command := range s.program.Commands(i) {
		ms := 0.0
		if t := s.meter.ofCommand(i, k); t.count > 0 {
			ms = t.meanMs()
		}
		failures, retries := s.program.Counts(i, k)
		gap := ""
		if o.Version < wideVersion {
			gap = " "
		}
		if o.MaxTries == 1 {
			w.line("   %11.3f  %10d %s%s", ms, failures, gap, command.Text)
		} else {
			w.line("   %11.3f  %10d %s%10d %s%s", ms, failures, gap, retries, gap, command.Text)
		}
	}
}

// wideVersion is the first version that reports how many transactions of each script were processed, ends the report of
// a load without transactions early, and has single blanks between the columns of commands.
const wideVersion = 18

// shares writes how many transactions a script had.
func (s *summary) shares(w *errWriter, c, total *counts) {
	all, tps := c.all(), float64(c.done)/s.duration.Seconds()
	if s.o.Version < wideVersion {
		w.line(" - %d transactions (%.1f%% of total, tps = %f)", c.done, percent(c.done, total.done), tps)
		s.outcome(w, " - ", c, all)
	} else {
		w.line(" - %d transactions (%.1f%% of total)", all, percent(all, total.all()))
		if all == 0 {
			return
		}
		w.line(" - number of transactions actually processed: %d (tps = %f)", c.done, tps)
		s.outcome(w, " - ", c, all)
	}
	if s.o.RatePerS > 0 && s.o.LatencyLimitMs > 0 && all > 0 {
		w.line(" - number of transactions skipped: %d (%.3f%%)", c.skipped, percent(c.skipped, all))
	}
}

// progressText returns a line of --progress: what changed since the last one.
func progressText(o *Options, cur, last *counts, run, interval time.Duration, now time.Time) string {
	done := cur.done - last.done
	tps := float64(done) / interval.Seconds()
	var average, deviation, lag float64
	if done > 0 {
		average = 0.001 * (cur.latency.sum - last.latency.sum) / float64(done)
		square := (cur.latency.sum2 - last.latency.sum2) / float64(done)
		deviation = 0.001 * math.Sqrt(square-1e6*average*average)
		lag = 0.001 * (cur.lag.sum - last.lag.sum) / float64(done)
	}
	at := fmt.Sprintf("%.1f s", run.Seconds())
	if o.Timestamps {
		at = fmt.Sprintf("%.3f s", float64(now.UnixMicro())/1e6)
	}
	line := fmt.Sprintf("progress: %s, %.1f tps, lat %.3f ms stddev %s, %d failed", at, tps, average, number3(deviation),
		cur.failures()-last.failures())
	if o.RatePerS > 0 {
		line += fmt.Sprintf(", lag %.3f ms", lag)
		if o.LatencyLimitMs > 0 {
			line += fmt.Sprintf(", %d skipped", cur.skipped-last.skipped)
		}
	}
	if o.MaxTries != 1 {
		line += fmt.Sprintf(", %d retried, %d retries", cur.retried-last.retried, cur.retries-last.retries)
	}
	return line + "\n"
}
