package processes_test

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
)

// The stop button ends a run like an interrupt, with a complete record and its report.
func TestThePageEndsTheRun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	plan := filepath.Join(home, "plan.yml")
	shell.Put(t, plan, "queries: [{name: one, sql: select 1, weight: 1, think: 1ms}]\n")
	dir := filepath.Join(home, "bundle")
	cmd := exec.Command("brunt", "rate", plan, "--proto", "sqlite", "--rate", "50", "--duration", "10m", "--ui",
		"--bundle", dir, "--quiet")
	cmd.Dir = home
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	url := ""
	lines := bufio.NewScanner(errs)
	for url == "" && lines.Scan() {
		if found := regexp.MustCompile(`follow the run at (http://\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	get := func(path string) []byte {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	token := regexp.MustCompile(`"token":"([0-9a-f]{32})"`).FindSubmatch(get(""))
	if token == nil {
		t.Fatal("no token on the page")
	}
	// A run that is stopped before its load begins leaves no record.
	for deadline := time.Now().Add(5 * time.Minute); !regexp.MustCompile(`"start":\[\d`).Match(get("data")); time.Sleep(
		10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no interval")
		}
	}
	req, err := http.NewRequest(http.MethodPost, url+"stop", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Brunt-Token", string(token[1]))
	answer, err := http.DefaultClient.Do(req)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
	said, _ := io.ReadAll(errs)
	cmd.Wait()
	run, _, _ := shell.Recorded(t, dir)
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted || !run.Complete || !run.Interrupted {
		t.Errorf("exit %d, complete %v, interrupted %v: %s", code, run.Complete, run.Interrupted, said)
	}
}
