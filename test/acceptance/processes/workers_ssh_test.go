package processes_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// queuePlan writes a plan of 60 operations without a server.
func queuePlan(t *testing.T) string {
	t.Helper()
	text := "target: {protocol: noop, addresses: [none]}\nsessions: 4\nqueries: [{name: one, command: [PING], count: 60}]\n"
	return shell.Plan(t, text)
}

// Hosts that have only an sshd receive the program once and send the whole load.
func TestWorkersOverSSH(t *testing.T) {
	t.Parallel()
	servers, config := testserver.SSH(t, 2)
	hosts := servers[0].Addr + "," + servers[1].Addr
	plan := queuePlan(t)
	var copied []os.FileInfo
	for round := range 3 {
		if round == 2 { // a file that isn't the program, or only its beginning, is replaced
			shell.Put(t, programOf(t, servers[0].Dir), "#!/bin/sh\nexit 0\n")
			if err := os.Truncate(programOf(t, servers[1].Dir), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		dir := filepath.Join(t.TempDir(), "bundle")
		out, err := exec.Command("brunt", "run", plan, "--quiet", "--workers", "3", "--on", "ssh", "--hosts", hosts,
			"--ssh-config", config, "--bundle", dir).CombinedOutput()
		if err != nil && !strings.Contains(err.Error(), "98") {
			t.Fatalf("%v\n%s", err, out)
		}
		run := shell.WholeRun(t, dir, "")
		if run.Total.Done != 60 || len(run.Parts) != 3 || len(shell.Lost(run)) > 0 {
			t.Errorf("%d operations of %d parts, lost %q", run.Total.Done, len(run.Parts), shell.Lost(run))
		}
		for i, s := range servers {
			info, err := os.Stat(programOf(t, s.Dir))
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				copied = append(copied, info)
			} else if again := round == 2; os.SameFile(copied[i], info) == again {
				t.Errorf("round %d: host %d got the program again: %v", round, i, !again)
			}
		}
		grep, _ := exec.Command("grep", "-rl", "PRIVATE KEY", dir).Output()
		if len(grep) > 0 {
			t.Errorf("a key of the run is kept in %s", grep)
		}
	}
}

// programOf returns the path of the program that was copied to a host.
func programOf(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "cache", "brunt", "*", "brunt"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the host has the programs %q", found)
	}
	return found[0]
}

// When a local ssh client is killed, its worker goes on and is not lost: its own connections tell.
func TestAKilledClientOfSSHLosesNoWorker(t *testing.T) {
	t.Parallel()
	servers, config := testserver.SSH(t, 2)
	cmd, dir, _ := leadingProcess(t, endingPlan(t), 2, "--on", "ssh", "--hosts", servers[0].Addr+","+servers[1].Addr,
		"--ssh-config", config)
	isClient := func(pid int) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return bytes.HasPrefix(line, []byte("ssh\x00")) && bytes.HasSuffix(line, []byte(" worker\x00"))
	}
	client := 0
	shell.Until(t, "an ssh client runs a worker", func() bool {
		for _, pid := range testserver.Descendants(cmd.Process.Pid) {
			if isClient(pid) {
				client = pid
			}
		}
		return client != 0
	})
	if err := syscall.Kill(client, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if run := shell.WholeRun(t, dir, ""); run.Total.Arrivals() != 1200 || len(shell.Lost(run)) > 0 {
		t.Errorf("%d operations, lost %q", run.Total.Arrivals(), shell.Lost(run))
	}
}

// If ssh fails, the error is one line with the host's name and what to do, before anything is sent or kept.
func TestWorkersOverSSHThatCantBeReached(t *testing.T) {
	t.Parallel()
	servers, config := testserver.SSH(t, 2)
	known := filepath.Join(filepath.Dir(config), "known_hosts")
	keys, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(keys), "\n")
	of := func(i int) string { return strings.SplitN(lines[i], " ", 2)[0] }
	swapped := of(0) + " " + strings.SplitN(lines[1], " ", 2)[1] + "\n"
	bad := map[string]struct{ known, host, want string }{
		"changed key": {swapped, servers[0].Addr, "its host key is not the one that ssh knows"},
		"unknown key": {"", servers[0].Addr, "ssh doesn't know its host key"},
		"no sshd":     {string(keys), "127.0.0.1:1", "ssh: connect to host 127.0.0.1 port 1: Connection refused"},
		"no account":  {string(keys), "nobody-here@" + servers[0].Addr, "none of your keys is accepted there"},
	}
	for name, row := range bad {
		t.Run(name, func(t *testing.T) {
			shell.Put(t, known, row.known)
			dir := filepath.Join(t.TempDir(), "bundle")
			cmd := exec.Command("brunt", "run", queuePlan(t), "--workers", "2", "--on", "ssh", "--hosts", row.host,
				"--ssh-config", config, "--bundle", dir)
			out, _ := cmd.CombinedOutput()
			want := fmt.Sprintf("brunt: host %s: %s", row.host, row.want)
			if !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("want one line with %q, got\n%s", want, out)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitcode.Unreachable {
				t.Errorf("exit %d", code)
			}
			if _, err := os.Stat(filepath.Join(dir, record.WorkersFolder)); err == nil {
				t.Error("a bundle is left")
			}
		})
	}
}

// The runs of a series are sent by workers on other hosts, too.
func TestSeriesOverSSH(t *testing.T) {
	t.Parallel()
	servers, config := testserver.SSH(t, 2)
	runsSeries(t, nil, "--on", "ssh", "--hosts", servers[0].Addr+","+servers[1].Addr, "--ssh-config", config)
}
