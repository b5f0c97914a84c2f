package machine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited in vain", what)
		}
	}
}

// idleThreads returns the cores of a process's threads of idle priority that are bound to one core.
func idleThreads(t *testing.T, pid int) (cores []string) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("process %d has no threads (%v)", pid, err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // fields from number 3 on
		const policy = 41
		if fields[policy-3] != strconv.Itoa(unix.SCHED_IDLE) {
			continue
		}
		status, err := os.ReadFile(task + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "\nCpus_allowed_list:")
		core, _, _ := strings.Cut(rest, "\n")
		cores = append(cores, strings.TrimSpace(core))
	}
	slices.Sort(cores)
	return cores
}

func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// Its new parent may take a while to wait for it.
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

func TestThreadsOfIdlePriorityKeepCoresAwake(t *testing.T) {
	k := Start(context.Background(), Options{Mode: On})
	defer k.Stop()
	var want []string
	for _, core := range thisMachine().cores {
		want = append(want, strconv.Itoa(core))
	}
	slices.Sort(want)
	if s := k.State(); s.Mode != On || s.Threads != len(want) || s.ThreadsReason != "" || s.Nice != 0 ||
		s.NiceReason == "" {
		t.Fatalf("%+v", s)
	}
	pid := k.spinners.child.Pid
	if got := idleThreads(t, pid); !slices.Equal(got, want) {
		t.Errorf("threads of idle priority on cores %q, want one on each of %q", got, want)
	}
	until(t, "the threads compute", func() bool { return k.CPUNs() > 1e6 })
	k.Stop()
	if !gone(pid) {
		t.Error("they are still there")
	}
	if k.spinners.group != "" {
		if _, err := os.Stat(k.spinners.group); err == nil {
			if procs, _ := os.ReadFile(filepath.Join(k.spinners.group, "cgroup.procs")); len(procs) == 0 {
				t.Errorf("%s is left behind", k.spinners.group)
			}
		}
	}
	if after := k.State().CPUNs; after < 1e6 {
		t.Errorf("%d ns are remembered of them", after)
	}
}

// Only the cores that this process may use are kept awake.
func TestAffinityIsRespected(t *testing.T) {
	m := thisMachine()
	m.cores = m.cores[len(m.cores)-1:]
	s, err := m.spin()
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	if got, want := idleThreads(t, s.child.Pid), strconv.Itoa(m.cores[0]); !slices.Equal(got, []string{want}) {
		t.Errorf("threads on cores %q, want one on %s", got, want)
	}
}

func TestACoreThatIsNotThereIsSaid(t *testing.T) {
	m := thisMachine()
	m.cores = []int{1023}
	if s, err := m.spin(); err == nil || !strings.Contains(err.Error(), "stay on core 1023") {
		t.Errorf("%v", err)
		s.stop()
	}
}

const helperVariable = "BRUNT_TEST_AWAKE_HELPER"

// TestHelper is a process that keeps cores awake until it is killed.
func TestHelper(t *testing.T) {
	if os.Getenv(helperVariable) == "" {
		return
	}
	k := Start(context.Background(), Options{Mode: On})
	if k.spinners == nil {
		t.Fatalf("%+v", k.State())
	}
	fmt.Printf("child %d\n", k.spinners.child.Pid)
	select {}
}

// If this program is killed with SIGKILL, no spinning process remains.
func TestTheyDieWithTheirParent(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "-test.count=1")
		cmd.Env = append(os.Environ(), helperVariable+"=1")
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(output).ReadString('\n')
		pid, scanErr := 0, error(nil)
		if _, scanErr = fmt.Sscanf(line, "child %d", &pid); err != nil || scanErr != nil {
			cmd.Process.Kill()
			t.Fatalf("the helper says %q (%v)", line, err)
		}
		if gone(pid) || len(idleThreads(t, pid)) == 0 {
			t.Errorf("process %d doesn't keep cores awake", pid)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		until(t, fmt.Sprintf("after %v the threads end", signal), func() bool { return gone(pid) })
	}
}

// A signal to the whole process group, as from a terminal, doesn't end the spinning threads before the load ends.
func TestAnInterruptOfTheGroupLeavesThem(t *testing.T) {
	k := Start(context.Background(), Options{Mode: On})
	defer k.Stop()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := k.spinners.child.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	before := k.CPUNs()
	until(t, "they go on", func() bool { return k.CPUNs() > before })
	if gone(k.spinners.child.Pid) {
		t.Error("a signal ended them")
	}
}

func TestPriorityIsRaisedAndGivenBack(t *testing.T) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := Start(context.Background(), Options{Quota: "1", Scheduled: true})
	s := k.State()
	during := priorities(t)
	k.Stop()
	switch {
	case s.Nice == nice && s.NiceReason == "":
		if during[nice] == 0 || during[0] > 0 {
			t.Errorf("threads by priority: %v, want all at %d", during, nice)
		}
	case s.Nice == 0 && raw != 20 && strings.Contains(s.NiceReason, "left as it is"), s.Nice == 0 && os.Getuid() != 0 &&
		strings.Contains(s.NiceReason, "not permitted"):
	default:
		t.Errorf("%+v at a priority of %d", s, 20-raw)
	}
	if after := priorities(t); after[nice] > 0 {
		t.Errorf("threads by priority afterwards: %v", after)
	}
}

func priorities(t *testing.T) map[int]int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]int{}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		if raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil {
			out[20-raw]++
		}
	}
	return out
}
