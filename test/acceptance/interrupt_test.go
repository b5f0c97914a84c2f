package acceptance_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
)

const longRun = "queries: [{name: one, sql: select 1, weight: 1}]\n"

// The load ends on Ctrl-C, when the terminal is closed, and when a supervisor stops it, and the record is complete.
func TestInterruptedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := shell.File(t, "plan.yml", longRun)
	// Children of tests that were begun with nohup would ignore it too.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
	for _, ending := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(ending.String(), func(t *testing.T) {
			t.Parallel()
			bundle := filepath.Join(dir, "bundle-"+ending.String())
			c := spawn(t, dir, postgres(t).with("rate", "-c", plan, "--rate", "100", "--duration", "1h", "--interval", "100ms",
				"--bundle", bundle)...)
			shell.UntilIntervals(t, bundle, 5)
			c.cmd.Process.Signal(ending)
			o := c.wait()
			if o.code != 105 {
				t.Errorf("exit %d, want 105", o.code)
			}
			if !strings.Contains(o.err, "stopping") || !strings.Contains(o.out, "LATENCY") {
				t.Errorf("no word of it, or no report:\n%s%s", o.err, o.out)
			}
			run := readRun(t, bundle)
			if !run.Complete || !run.Interrupted || run.Total.Done == 0 || run.Total.Failed != 0 {
				t.Errorf("complete %v, interrupted %v, %d done, %d failed", run.Complete, run.Interrupted, run.Total.Done,
					run.Total.Failed)
			}
			if report := brunt(t, "report", bundle); report.code != 105 || !strings.Contains(report.out, "LATENCY") {
				t.Errorf("report: exit %d, want 105", report.code)
			}
		})
	}
}

// A run that was started with nohup continues after its terminal is closed.
func TestHangUpIsIgnoredUnderNohup(t *testing.T) {
	dir := t.TempDir()
	plan, bundle := shell.File(t, "plan.yml", longRun), filepath.Join(dir, "bundle")
	signal.Ignore(syscall.SIGHUP)
	c := spawn(t, dir, "rate", "-c", plan, "--proto", "sqlite", "--rate", "100", "--duration", "1h", "--interval", "100ms",
		"--bundle", bundle)
	signal.Reset(syscall.SIGHUP)
	shell.UntilIntervals(t, bundle, 2)
	c.cmd.Process.Signal(syscall.SIGHUP)
	shell.UntilIntervals(t, bundle, 6)
	c.cmd.Process.Signal(syscall.SIGTERM)
	if o := c.wait(); o.code != 105 || strings.Count(o.err, "stopping") != 1 {
		t.Errorf("exit %d, want 105\n%s", o.code, o.err)
	}
}

// A second Ctrl-C ends the run without waiting for answers.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := shell.File(t, "plan.yml", "queries: [{name: hang, sql: select pg_sleep(3600), weight: 1}]\n")
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			bundle := filepath.Join(dir, tier)
			c := spawn(t, dir, postgres(t).with("rate", "-c", plan, "--rate", "10", "--duration", "1h", "--timeout", "1h",
				"--tier", tier, "--interval", "100ms", "--bundle", bundle)...)
			shell.UntilIntervals(t, bundle, 5)
			c.cmd.Process.Signal(os.Interrupt)
			shell.Until(t, "brunt has said that it waits", func() bool {
				b, _ := os.ReadFile(filepath.Join(bundle, record.IntervalsFile))
				return strings.Contains(c.err.String(), "stopping") && len(b) > 0
			})
			select {
			case <-c.done:
				t.Fatal("it didn't wait for answers after the first interrupt")
			default:
			}
			c.cmd.Process.Signal(os.Interrupt)
			if o := c.wait(); o.code != 105 {
				t.Errorf("exit %d, want 105", o.code)
			}
			if report := brunt(t, "report", bundle); report.code != 105 && report.code != 98 {
				t.Errorf("report: exit %d\n%s", report.code, report.err)
			}
		})
	}
}

// After a process was killed, everything up to its last interval can be reported.
func TestKilledRunIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bundle := filepath.Join(dir, "bundle")
	plan := shell.File(t, "plan.yml", longRun)
	c := spawn(t, dir, postgres(t).with("rate", "-c", plan, "--rate", "100", "--duration", "1h", "--interval", "100ms",
		"--bundle", bundle)...)
	shell.UntilIntervals(t, bundle, 10)
	if live := brunt(t, "report", bundle); live.code != 0 || !strings.Contains(live.out, "the run is live") ||
		strings.Contains(live.out, "INVALID") {
		t.Errorf("report of a run under way: exit %d\n%s%s", live.code, live.out, live.err)
	}
	c.cmd.Process.Kill()
	if o := c.wait(); o.code != -1 {
		t.Fatalf("exit %d, want death by a signal", o.code)
	}
	var done uint64
	all := recordtest.Intervals(t, bundle)
	for _, iv := range all {
		totals := iv.Totals()
		done += totals.Done
	}
	if len(all) < 10 || done == 0 {
		t.Fatalf("%d intervals with %d operations", len(all), done)
	}
	o := brunt(t, "report", bundle, "--output", "json")
	if got := doneIn(t, o.out); got != done {
		t.Errorf("the report has %d operations, the intervals %d", got, done)
	}
	text := brunt(t, "report", bundle)
	if text.code != 98 || !strings.Contains(text.out, "INVALID") || !strings.Contains(text.out, "incomplete") {
		t.Errorf("exit %d, want 98\n%s", text.code, text.out)
	}
	// A torn last line, as a crash in the middle of a write leaves it, changes nothing.
	f, err := os.OpenFile(filepath.Join(bundle, record.IntervalsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"index":99,"operations":[{"op":0,"do`)
	f.Close()
	if again := brunt(t, "report", bundle, "--output", "json"); doneIn(t, again.out) != done {
		t.Error("a torn line changed the report")
	}
}
