package processes_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// Arrivals that fell due while the generator itself was stopped are given up and counted in the interval that reports
// the stop, and none of them is attributed to the server.
func TestDroppingAfterTheGeneratorStoodStill(t *testing.T) {
	t.Parallel()
	const total, rate = 800, 100
	const stopped = 2 * time.Second
	web := "http://" + testserver.Nginx(t).Addr + "/"
	plan := shell.Plan(t, "queries: [{name: one, command: [PING], weight: 1}]\n")
	for name, args := range map[string][]string{
		"cook": {"cook", "-qps", "50", "-concurrency", "2", "-interval", "500ms", "-totalRequests", "800", "-late",
			"drop", web},
		"cook, library": {"cook", "-qps", "50", "-concurrency", "2", "-interval", "500ms", "-totalRequests", "800", "-late",
			"drop", "-noreuse", web},
		"http": {"http", "--rate", "100", "--sessions", "2", "--interval", "500ms", "--duration", "8s", "--late",
			"drop", web},
		"rate": {"rate", "-c", plan, "--proto", "redis", "-a", testserver.Redis(t).Addr, "--rate", "100", "--vu",
			"2", "--interval", "500ms", "--duration", "8s", "--late", "drop"},
		"http, library": {"http", "--rate", "100", "--sessions", "1", "--noreuse", "--interval", "500ms", "--duration",
			"8s",
			"--late", "drop", web},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bundle")
			cmd, output := shell.Start(t, nil, append([]string{"brunt"}, append(args, "--bundle", dir)...)...)
			shell.Until(t, "the load is recorded", func() bool {
				b, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
				return bytes.Count(b, []byte("\n")) >= 3
			})
			testserver.Freeze(cmd.Process.Pid)
			time.Sleep(stopped)
			testserver.Thaw(cmd.Process.Pid)
			cmd.Wait()
			out, _ := os.ReadFile(output)
			run, _, _ := shell.Recorded(t, dir)
			checkDropped(t, run, total, uint64(stopped.Seconds()*rate), string(out))
			var paused, all uint64
			for _, iv := range recordtest.Intervals(t, dir) {
				counts := iv.Totals()
				all += counts.Dropped()
				if iv.Health.PausedNs > 0 {
					paused += counts.Dropped()
				}
			}
			if all != run.Total.Dropped || 2*paused < all {
				t.Errorf("%d of %d were given up where the generator stood still", paused, all)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitcode.Invalid {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}

// checkDropped checks the record of a run with total arrivals, of which missed fell due while the process was stopped.
func checkDropped(t *testing.T, run *record.Run, total, missed uint64, out string) {
	t.Helper()
	if n := run.Total.Done + run.Total.Dropped; n != total {
		t.Errorf("%d done and %d dropped are not %d\n%s", run.Total.Done, run.Total.Dropped, total, out)
	}
	// Each free session takes one request, however late it is, and takes more while other arrivals are given up.
	if run.Total.Dropped < missed*3/4 {
		t.Errorf("%d dropped, %d were missed\n%s", run.Total.Dropped, missed, out)
	}
	own := false
	for _, h := range run.Hints {
		own = own || h.Metric == "generator"
		if h.Kind == "pause" && h.Metric != "generator" {
			t.Errorf("a hint blames the server: %+v", h)
		}
	}
	// Otherwise the two seconds would count as a standstill of the server.
	if !own || run.Verdict.Result != "invalid" || run.Health.PausedNs < 1e9 ||
		time.Duration(run.Standstill.LongestNs) > time.Second {
		t.Errorf("hints %+v, verdict %+v, the generator stood still for %d ns, the server for %d\n%s",
			run.Hints, run.Verdict, run.Health.PausedNs, run.Standstill.TotalNs, out)
	}
	said := false
	for _, w := range run.Warnings {
		said = said || w.ID == verdict.WarnDropped &&
			strings.Contains(w.Text.String(), " fell due while the generator itself stood still")
	}
	if !said {
		t.Errorf("the report doesn't say why:\n%s", out)
	}
}
