package processes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// If the limit of open files is too low for the sessions, brunt refuses the load before anything is sent. A load that
// fits runs, including its record.
func TestFewFileDescriptors(t *testing.T) {
	t.Parallel()
	web := "http://" + testserver.Nginx(t).Addr + "/"
	redis, other := testserver.Redis(t).Addr, testserver.Redis(t).Addr
	plan := shell.Plan(t, "queries: [{name: one, command: [PING], weight: 1}]\n")
	spread := filepath.Join(t.TempDir(), "spread.yml")
	if err := os.WriteFile(spread, fmt.Appendf(nil, `target: {protocol: redis, addresses: ["%s", "%s"], balance: {per: request}}
sessions: 60
queries: [{name: one, command: [PING]}]
load: [{constant: {rate: 50, duration: 2s}}]
`, redis, other), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		limit string
		args  []string
		code  int
		says  string
	}{
		{"too many for the limit", "64", []string{"http", web, "-c", "58", "-z", "2s"}, exitcode.BadPlan,
			"58 sessions need 58 file descriptors"},
		{"far too many", "64", []string{"http", web, "-c", "1000", "-z", "2s"}, exitcode.BadPlan,
			"raise the limit (ulimit -n 1"},
		{"the flag that says how many", "64", []string{"rate", "-c", plan, "--proto", "redis", "-a", redis, "--rate", "50",
			"--duration", "2s", "--vu", "60"}, exitcode.BadPlan, "or give --vu "},
		{"a connection to each address", "128", []string{"run", spread}, exitcode.BadPlan,
			"60 sessions need 120 file descriptors"},
		{"as many as fit", "64", []string{"http", web, "-c", "8", "-n", "100"}, 0, "100 operations"},
		{"as many as fit, library", "64", []string{"http", web, "-c", "8", "-n", "100", "--noreuse"}, 0, "100 operations"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bundle")
			args := append([]string{"sh", "-c", "ulimit -n " + c.limit + ` && exec "$0" "$@"`, "brunt"}, c.args...)
			cmd, output := shell.Start(t, nil, append(args, "--bundle", dir)...)
			cmd.Wait()
			out, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != c.code && (c.code != 0 || code != exitcode.Invalid) {
				t.Errorf("exit code %d, want %d: %s", code, c.code, out)
			}
			if !strings.Contains(string(out), c.says) {
				t.Errorf("it doesn't say %q: %s", c.says, out)
			}
			if c.code == 0 {
				if run, _, done := shell.Recorded(t, dir); !run.Complete || done != 100 {
					t.Errorf("the record is complete: %v, with %d of 100 operations", run.Complete, done)
				}
				return
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a load that couldn't begin left a folder behind")
			}
		})
	}
}
