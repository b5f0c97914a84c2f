package processes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// storeAt returns the environment variables for an object store.
func storeAt(address string) []string {
	return []string{"AWS_ACCESS_KEY_ID=somebody", "AWS_SECRET_ACCESS_KEY=topsecret", "AWS_ENDPOINT_URL=http://" + address,
		"AWS_CONFIG_FILE=/none", "AWS_SHARED_CREDENTIALS_FILE=/none"}
}

func withStore(cmd *exec.Cmd, address string) *exec.Cmd {
	cmd.Env = append(os.Environ(), storeAt(address)...)
	return cmd
}

// Parts of a load that several machines upload are merged from the object store.
func TestPartsComeFromAnObjectStore(t *testing.T) {
	t.Parallel()
	server := testserver.ObjectStore(t)
	place := "s3://" + server.Database + "/monday"
	plan := queuePlan(t)
	for _, k := range []string{"1", "2"} {
		cmd := withStore(exec.Command("brunt", "run", plan, "--quiet", "--part", k+"/2", "--upload", place, "--bundle",
			filepath.Join(t.TempDir(), "bundle")), server.Addr)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitcode.Pass && code != exitcode.Invalid {
			t.Fatalf("part %s: %v\n%s", k, err, out)
		}
		if !strings.Contains(string(out), "brunt: the bundle is at "+place+"/bundle-") {
			t.Errorf("part %s doesn't say where its bundle is:\n%s", k, out)
		}
		if strings.Contains(string(out), "topsecret") {
			t.Errorf("a secret is printed:\n%s", out)
		}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	out, _ := withStore(exec.Command("brunt", "merge", place+"/*", "--bundle", whole), server.Addr).CombinedOutput()
	run := shell.WholeRun(t, whole, "")
	if run.Total.Done != 60 || len(run.Parts) != 2 {
		t.Errorf("%d operations of %d parts\n%s", run.Total.Done, len(run.Parts), out)
	}
	if found, _ := exec.Command("grep", "-rl", "topsecret", whole).Output(); len(found) > 0 {
		t.Errorf("a secret is in %s", found)
	}
	empty := withStore(exec.Command("brunt", "merge", place+"/none/*", "--bundle", whole+"2"), server.Addr)
	out, _ = empty.CombinedOutput()
	if code := empty.ProcessState.ExitCode(); code != exitcode.BadPlan ||
		!strings.Contains(string(out), "there is no bundle") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// A failed upload loses nothing, and an upload that can't succeed is refused before the load.
func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	for name, row := range map[string]struct {
		place string
		env   []string
		want  string
		code  int
	}{
		"nobody there": {"s3://bench/x", storeAt("127.0.0.1:1"), "it stays in ", exitcode.Other},
		"no credentials": {"s3://bench/x", append(storeAt("127.0.0.1:1"), "AWS_ACCESS_KEY_ID="),
			"no credentials", exitcode.BadPlan},
		"no place": {"bench/x", storeAt("127.0.0.1:1"), "write s3://BUCKET/PREFIX", exitcode.BadPlan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bundle")
			cmd := exec.Command("brunt", "run", queuePlan(t), "--quiet", "--threshold", "errors < 1%", "--upload", row.place,
				"--bundle", dir)
			cmd.Env = append(os.Environ(), row.env...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != row.code &&
				(row.code != exitcode.Other || code != exitcode.Invalid) {
				t.Errorf("exit %d, want %d", code, row.code)
			}
			if !strings.Contains(string(out), row.want) || strings.Contains(string(out), "topsecret") {
				t.Errorf("want %q and no secret, got\n%s", row.want, out)
			}
			if _, err := record.Open(record.OS{}, dir); (err == nil) != (row.code == exitcode.Other) {
				t.Errorf("the bundle: %v", err)
			}
		})
	}
}

// If the coordinator is gone, the workers upload their bundles to the object store, from which they can be merged.
func TestWorkersUploadWithoutACoordinator(t *testing.T) {
	t.Parallel()
	server := testserver.ObjectStore(t)
	place := "s3://" + server.Database + "/lost"
	dir, ticket := filepath.Join(t.TempDir(), "bundle"), filepath.Join(t.TempDir(), "ticket")
	lead, _ := shell.Start(t, nil, "brunt", "run", workerPlan(t, ""), "--quiet", "--workers", "2", "--on", "external",
		"--ticket", ticket, "--listen", "127.0.0.1:0", "--bundle", dir)
	shell.Until(t, "the ticket is there", func() bool {
		_, err := os.Stat(ticket)
		return err == nil
	})
	var workers []*exec.Cmd
	var outputs []string
	for k := range 2 {
		cmd, output := shell.Start(t, storeAt(server.Addr), "brunt", "worker", "--ticket", ticket, "--index",
			strconv.Itoa(k),
			"--upload", place)
		workers, outputs = append(workers, cmd), append(outputs, output)
	}
	shell.UnderWay(t, dir, 2)
	shell.Send(t, lead.Process.Pid, syscall.SIGKILL)
	_ = lead.Wait()
	for k, w := range workers {
		shell.Send(t, w.Process.Pid, syscall.SIGTERM)
		if err := w.Wait(); err != nil {
			out, _ := os.ReadFile(outputs[k])
			t.Errorf("worker %d: %v\n%s", k+1, err, out)
		}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	out, _ := withStore(exec.Command("brunt", "merge", place+"/*", "--bundle", whole), server.Addr).CombinedOutput()
	run := shell.WholeRun(t, whole, "")
	if len(run.Parts) != 2 || run.Total.Done == 0 || run.Parts[0].Done+run.Parts[1].Done != run.Total.Done {
		t.Errorf("%d operations, parts %+v\n%s", run.Total.Done, run.Parts, out)
	}
}
