package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// soak runs a steady load on a web server for a long time and measures brunt's memory.
func soak(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	rate := f.Int("rate", 20_000, "requests a second; a multiple of 50")
	duration := f.Duration("duration", time.Hour, "how long")
	return withStand(ctx, f, args, func(s *stand) error { return s.soak(*rate, *duration) })
}

func (s *stand) soak(rate int, duration time.Duration) error {
	if rate < httpSessions || rate%httpSessions != 0 {
		return fmt.Errorf("-rate %d: it is shared by %d sessions, so it must be a multiple of that", rate, httpSessions)
	}
	_, address, err := s.nginx()
	if err != nil {
		return err
	}
	bundle := filepath.Join(s.dir, "soak")
	cmd := exec.CommandContext(s.ctx, s.brunt.program, "cook", "-qps", strconv.Itoa(rate/httpSessions), "-concurrency",
		strconv.Itoa(httpSessions),
		"-duration", duration.String(), "-bundle", bundle, "-noLatencySummary", "http://"+address+"/")
	var lines bytes.Buffer
	cmd.Stdout, cmd.Stderr = &lines, os.Stderr
	lost := stolen()
	run, seen, err := s.watched(cmd, bundle)
	if err != nil {
		return fmt.Errorf("%w: %s", err, tail(lines.String()))
	}
	seconds := float64(run.DurationNs) / 1e9
	lost = (stolen() - lost) / (seconds * float64(len(s.servers)+len(s.clients)))
	cpuUs := float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / float64(
		run.Total.Done)
	result := map[string]any{
		"requests": run.Total.Done, "failed": run.Total.Failed, "dropped": run.Total.Dropped, "duration_s": seconds,
		"cpu_us_per_request": cpuUs,
		"response_p50_us":    float64(run.Total.Response.P50Ns) / 1e3,
		"response_p99_us":    float64(run.Total.Response.P99Ns) / 1e3,
		"lag_p50_us":         float64(run.Total.Lag.P50Ns) / 1e3, "lag_p99_us": float64(run.Total.Lag.P99Ns) / 1e3,
		"rss_kb_after_1_min": seen[0], "verdict": run.Verdict, "report_lines": bytes.Count(lines.Bytes(), []byte("\n")),
		"bundle_bytes": sizeOf(bundle), "stolen_share": lost,
	}
	if err := s.raw.AppendJSON(result); err != nil {
		return err
	}
	fmt.Printf(
		"%d requests in %.0f s, %.1f a second of %d, %d failed, %d dropped\n%s\n%.1f µs of CPU a request; %.1f %% of all cores' time stolen; verdict: %s\n",
		run.Total.Done, seconds, float64(run.Total.Done)/seconds, rate, run.Total.Failed, run.Total.Dropped,
		flatness(seen, run.DurationNs, false),
		cpuUs, 100*lost, run.Verdict.Result)
	return nil
}

// sizeOf returns the total size of the files in a folder, in bytes.
func sizeOf(dir string) (total int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
