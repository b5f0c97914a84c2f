package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/cgroup"

	"golang.org/x/sys/unix"
)

// machine is what is known of the machine that this process runs on.
type machine struct {
	root    string // root directory; tests replace it
	linux   bool
	virtual bool
	cores   []int  // that this process may use
	group   string // control group for idle threads; "" if there is none
}

func thisMachine() *machine {
	m := &machine{root: "/", linux: true, cores: Cores()}
	m.virtual = m.runsVirtually()
	return m
}

// Cores returns the numbers of the cores that this process may use, or nil if they aren't known.
func Cores() (cores []int) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	for core := range len(set) * bits.UintSize {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores
}

// runsVirtually reports whether this is a virtual machine. x86 processors have a flag for it; otherwise the
// firmware names the hypervisor.
func (m *machine) runsVirtually() bool {
	for line := range strings.Lines(m.text("proc/cpuinfo")) {
		if name, flags, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			return strings.Contains(" "+strings.TrimSpace(flags)+" ", " hypervisor ")
		}
	}
	return m.exists("proc/device-tree/hypervisor") || strings.Contains(m.text("sys/class/dmi/id/sys_vendor"), "QEMU") ||
		strings.Contains(m.text("sys/class/dmi/id/sys_vendor"), "Amazon EC2")
}

func (m *machine) text(name string) string {
	b, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		return ""
	}
	return string(b)
}

func (m *machine) exists(name string) bool {
	_, err := os.Stat(filepath.Join(m.root, name))
	return err == nil
}

// idleForAll reports whether threads of idle priority yield to all other threads of the machine. The kernel shares
// CPU time among control groups first and then among the threads in each, so SCHED_IDLE has no effect on other
// groups. With autogroups, every session is such a group (sched(7)). A group that is itself idle (cpu.idle, Linux
// 5.15) solves this; idleForAll creates one if it has the rights. If neither groups nor autogroups are in use,
// SCHED_IDLE suffices.
func (m *machine) idleForAll() bool {
	if m.makeIdleGroup() {
		return true
	}
	autogroups := strings.TrimSpace(m.text("proc/sys/kernel/sched_autogroup_enabled"))
	return autogroups != "1" && !m.grouped()
}

// groupName is the control group for idle threads. All processes of this program share it.
const groupName = "brunt-awake"

// makeIdleGroup creates the control group for idle threads if it doesn't exist. It returns false if that isn't
// permitted or supported.
func (m *machine) makeIdleGroup() bool {
	for _, top := range m.tops() {
		dir := filepath.Join(top, groupName)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cpu.idle"), []byte("1"), 0o644); err != nil {
			os.Remove(dir)
			continue
		}
		m.group = dir
		return true
	}
	return false
}

// tops returns the folders of the machine's root group for the cpu controller, if this process can see them. In a
// container the group that looks like the root isn't.
func (m *machine) tops() (dirs []string) {
	for _, folder := range cgroup.Folders(m.text("proc/self/cgroup"), "cpu") {
		at := filepath.Join(cgroup.Root, folder)
		old := m.exists(filepath.Join(at, "release_agent")) && m.exists(filepath.Join(at, "cpu.shares"))
		unified := !m.exists(filepath.Join(at, "cgroup.type")) &&
			slices.Contains(strings.Fields(m.text(filepath.Join(at, "cgroup.subtree_control"))), "cpu")
		if old || unified {
			dirs = append(dirs, filepath.Join(m.root, at))
		}
	}
	return dirs
}

// grouped reports whether this process is in a control group that shares CPU time with other groups.
func (m *machine) grouped() bool {
	for _, folder := range cgroup.Folders(m.text("proc/self/cgroup"), "cpu") {
		at := filepath.Join(cgroup.Root, folder)
		old := m.exists(filepath.Join(at, "cpu.shares")) && !m.exists(filepath.Join(at, "release_agent"))
		if old || m.exists(filepath.Join(at, "cpu.weight")) {
			return true
		}
	}
	return false
}

// holdLatency asks the kernel for cores that wake up without delay, until release is called.
func (m *machine) holdLatency() (release func(), ok bool) {
	f, err := os.OpenFile(filepath.Join(m.root, "dev/cpu_dma_latency"), os.O_WRONLY, 0)
	if err != nil {
		return func() {}, false
	}
	if _, err := f.Write(make([]byte, 4)); err != nil {
		f.Close()
		return func() {}, false
	}
	return func() { f.Close() }, true
}

// raise sets the nice value of all threads of this process; new threads inherit it. restore sets it back to 0.
func (m *machine) raise(nice int) (restore func(), err error) {
	// The system call returns 20 − nice; see getpriority(2).
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || raw != 20 {
		return func() {}, errors.New("the priority that this process was started with is left as it is")
	}
	if err := setAll(nice); err != nil {
		_ = setAll(0)
		return func() {}, fmt.Errorf("not permitted: it takes CAP_SYS_NICE or a limit of nice (ulimit -e) of %d", 20-nice)
	}
	return func() { _ = setAll(0) }, nil
}

// setAll sets the nice value of all threads. It repeats this until no thread has another value (at most 10 times),
// since a thread that hasn't been changed yet may start others during a pass. Threads that end then are ignored.
func setAll(nice int) error {
	const passes = 10
	for range passes {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		changed := false
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				continue
			}
			if raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err != nil || raw == 20-nice {
				continue
			}
			if err := unix.Setpriority(unix.PRIO_PROCESS, tid, nice); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			changed = true
		}
		if !changed {
			return nil
		}
	}
	return nil
}
