package processes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// filling fills the table of cars from the examples, on a PostgreSQL server of its own.
type filling struct {
	t          *testing.T
	pg         *testserver.Server
	checkpoint string
	args       []string
	env        []string
	part       func(k int) string // pattern of the checkpoint of worker k, from 0
}

func newFilling(t *testing.T) *filling {
	t.Helper()
	pg := testserver.Postgres(t, testserver.Settings("max_prepared_transactions = 2"))
	plan, err := filepath.Abs("../../../examples/cars.yml")
	if err != nil {
		t.Fatal(err)
	}
	f := &filling{t: t, pg: pg, checkpoint: filepath.Join(t.TempDir(), "cars.load")}
	f.part = func(k int) string { return fmt.Sprintf("%s.%d-of-3", f.checkpoint, k+1) }
	f.args = []string{plan, "--proto", "pg", "-a", pg.Addr, "-u", pg.User, "--database", pg.Database,
		"--checkpoint", f.checkpoint}
	return f
}

// schema runs a schema command and returns its exit code and its output on standard error.
func (f *filling) schema(what string, more ...string) (code int, said string) {
	f.t.Helper()
	cmd, output := shell.Start(f.t, f.env, append(append([]string{"brunt", "schema", what}, f.args...), more...)...)
	_ = cmd.Wait()
	text, _ := os.ReadFile(output)
	return cmd.ProcessState.ExitCode(), string(text)
}

// full runs schema up, which must fill the table, and returns the checksum.
func (f *filling) full(more ...string) string {
	f.t.Helper()
	code, said := f.schema("up", append(more, "--check", "full")...)
	sum := regexp.MustCompile(`20000 rows.*, checksum ([0-9a-f]+), checked by full, analyzed`).FindStringSubmatch(said)
	if code != exitcode.Pass || sum == nil {
		f.t.Fatalf("exit %d\n%s", code, said)
	}
	if left, _ := filepath.Glob(f.checkpoint + "*"); len(left) > 0 {
		f.t.Errorf("checkpoints are left: %v", left)
	}
	if n := f.pg.Psql(f.t, "SELECT count(DISTINCT id) FROM cars"); n != "20000" {
		f.t.Errorf("%s rows", n)
	}
	return sum[1]
}

// blocked starts to fill the table by three processes whose inserts block until release is called. It returns when all
// three have begun.
func (f *filling) blocked() (cmd *exec.Cmd, output string, release func()) {
	f.t.Helper()
	f.pg.Psql(f.t, "TRUNCATE cars")
	f.pg.Psql(f.t, "DROP TABLE brunt_tables")
	f.pg.Psql(f.t, "BEGIN; LOCK TABLE cars IN SHARE MODE; PREPARE TRANSACTION 'blocks'")
	cmd, output = shell.Start(f.t, nil, append(append([]string{"brunt", "schema", "up"}, f.args...),
		"--processes", "3", "--force")...)
	shell.Until(f.t, "all workers have begun", func() bool {
		for k := range 3 {
			found, _ := filepath.Glob(f.part(k))
			if len(found) != 1 {
				return false
			}
			if text, _ := os.ReadFile(found[0]); strings.Count(string(text), "\n") < 2 {
				return false
			}
		}
		return true
	})
	return cmd, output, func() { f.pg.Psql(f.t, "ROLLBACK PREPARED 'blocks'") }
}

// Three processes fill a table with the same rows as one process. If one of them is killed, it is named, the others
// fill their parts, and the same command completes the table.
func TestProcessesFillTables(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	want := f.full()
	if code, said := f.schema("down"); code != exitcode.Pass {
		t.Fatalf("exit %d\n%s", code, said)
	}
	if got := f.full("--processes", "3"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
	cmd, output, release := f.blocked()
	pids := shell.WorkersOf(cmd.Process.Pid)
	if len(pids) != 3 {
		t.Fatalf("workers %v", pids)
	}
	shell.Send(t, pids[1], syscall.SIGKILL)
	shell.Until(t, "the lost worker is named", func() bool {
		return strings.Contains(shell.Said(t, output),
			"worker 2 (")
	})
	release()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d, want 1\n%s", code, shell.Said(t, output))
	}
	named := regexp.MustCompile(`lost worker 2 \(.*\): the tables aren't full; the same command goes on`)
	if text := shell.Said(t, output); !named.MatchString(text) {
		t.Errorf("said\n%s", text)
	}
	if n := f.pg.Psql(t, "SELECT count(*) FROM cars"); n != "13750" {
		t.Errorf("the other workers have filled %s rows, want 13750", n)
	}
	if code, text := f.schema("up", "--processes", "2"); code != exitcode.BadPlan ||
		!strings.Contains(text, "--processes 3") {
		t.Errorf("with another number of processes: exit %d\n%s", code, text)
	}
	if got := f.full("--processes", "3"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
}

// If no worker comes, nothing is left of the tables: the command created them empty.
func TestAFillingThatDoesntBegin(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	none := []string{"--processes", "2", "--on", "external", "--listen", "127.0.0.1:0", "--join-timeout", "100ms",
		"--ticket", filepath.Join(t.TempDir(), "ticket")}
	tables := func() string {
		return f.pg.Psql(t, "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables "+
			"WHERE schemaname = 'public'")
	}
	code, said := f.schema("up", none...)
	if code != exitcode.Unreachable || !strings.Contains(said, "didn't join within") {
		t.Errorf("exit %d\n%s", code, said)
	}
	if left := tables(); left != "" {
		t.Errorf("tables %q are left", left)
	}
	if left, _ := filepath.Glob(f.checkpoint + "*"); len(left) > 0 {
		t.Errorf("checkpoints are left: %v", left)
	}
	want := f.full()
	f.pg.Psql(t, "TRUNCATE cars")
	if code, said := f.schema("up", none...); code != exitcode.Unreachable {
		t.Errorf("an empty table is there: exit %d\n%s", code, said)
	}
	if left := tables(); left != "brunt_tables cars" {
		t.Errorf("tables %q are left of those that were there", left)
	}
	if got := f.full("--processes", "2"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
}

// A worker that stops responding is named and killed, even if it has not yet reported that it fills.
func TestAFillingWorkerStandsStill(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	want := f.full()
	cmd, output, release := f.blocked()
	pids := shell.WorkersOf(cmd.Process.Pid)
	shell.Send(t, pids[2], syscall.SIGSTOP)
	release()
	_ = cmd.Wait()
	text, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(text), "lost worker 3 (") {
		t.Errorf("exit %d, want 1\n%s", code, text)
	}
	if got := f.full("--processes", "3"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
}

// If the command is killed, running it again completes the table, whether or not its workers still run, and without the
// checkpoint of one of them.
func TestAKilledFillingGoesOn(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	want := f.full()
	cmd, _, release := f.blocked()
	pids := shell.WorkersOf(cmd.Process.Pid)
	shell.Kill(t, cmd)
	release()
	shell.Until(t, "the workers end", func() bool {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
	if err := os.Remove(f.part(2)); err != nil {
		t.Fatal(err)
	}
	if got := f.full("--processes", "3"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
}

// An interrupt stops the workers, and running the command again completes the table.
func TestAnInterruptedFillingGoesOn(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	want := f.full()
	cmd, output, release := f.blocked()
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	text, _ := os.ReadFile(output)
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
		t.Errorf("exit %d, want %d", code, exitcode.Interrupted)
	}
	if !strings.Contains(string(text), "the same command goes on") {
		t.Errorf("said\n%s", text)
	}
	release()
	if got := f.full("--processes", "3"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
}

// Workers on other hosts keep their checkpoints there until all parts are filled.
func TestHostsFillTables(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	servers, config := testserver.SSH(t, 2)
	want := f.full()
	f.args = append(f.args, "--on", "ssh", "--hosts", servers[0].Addr+","+servers[1].Addr, "--ssh-config", config)
	f.part = func(k int) string {
		return filepath.Join(servers[k%2].Dir, "cache", "brunt", "fill", fmt.Sprintf("*.%d-of-3", k+1))
	}
	cmd, output, release := f.blocked()
	shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
		text, _ := os.ReadFile(output)
		t.Errorf("exit %d, want %d\n%s", code, exitcode.Interrupted, text)
	}
	release()
	for k := range 3 {
		if found, _ := filepath.Glob(f.part(k)); len(found) != 1 {
			t.Errorf("the checkpoint of worker %d isn't kept", k+1)
		}
	}
	if got := f.full("--processes", "3"); got != want {
		t.Errorf("the checksum is %s, that of one process %s", got, want)
	}
	for k := range 3 {
		if found, _ := filepath.Glob(f.part(k)); len(found) > 0 {
			t.Errorf("the checkpoint of worker %d is left", k+1)
		}
	}
}
