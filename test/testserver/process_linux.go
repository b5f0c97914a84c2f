package testserver

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// attributes puts a server into its own process group, and makes the kernel signal it when the thread that started it
// ends, so that a crashed test leaves no processes behind.
func attributes(cred *syscall.Credential, death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred, Pdeathsig: death}
}

// Descendants returns the PIDs of the processes below pid in the order in which they were started, parents before
// children. The process group isn't enough, because workers can leave it, as PostgreSQL's backends do.
func Descendants(pid int) []int {
	children := make(map[int][]int)
	for _, id := range processes() {
		if parent, ok := parentOf(id); ok {
			children[parent] = append(children[parent], id)
		}
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return byStart(all)
}

// Having returns the PIDs of the processes that were started with an environment variable, given as NAME=value, in the
// order in which they were started. Processes that have ended and are not reaped yet are not among them. It needs
// Linux, and sees the processes of other users only as root.
func Having(variable string) (pids []int) {
	for _, id := range processes() {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/environ")
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), variable) {
			pids = append(pids, id)
		}
	}
	return byStart(pids)
}

// processes returns the PIDs of all processes.
func processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, id)
		}
	}
	return pids
}

// byStart sorts processes by the time at which they were started. PIDs don't have this order once the kernel has used
// the highest.
func byStart(pids []int) []int {
	started := make(map[int]uint64)
	for _, id := range pids {
		const startTime = 22 - 3 // its place in /proc/PID/stat, and that of the first field of stat
		if f := stat(id); len(f) > startTime {
			started[id], _ = strconv.ParseUint(string(f[startTime]), 10, 64)
		}
	}
	slices.SortStableFunc(pids, func(a, b int) int { return cmp.Compare(started[a], started[b]) })
	return pids
}

// standsStill reports whether every thread of a process is stopped, or has ended.
func standsStill(pid int) bool {
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return true
	}
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name())
		f := stat(id)
		if len(f) > 0 && !bytes.Contains([]byte("TtZX"), f[0]) {
			return false
		}
	}
	return true
}

func parentOf(pid int) (parent int, ok bool) {
	f := stat(pid)
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	return parent, err == nil
}

// stat returns the fields of /proc/PID/stat (proc(5)) from the third, the state, on; nil if the process is gone. The
// second field may contain spaces and parentheses, so fields are split after its last closing parenthesis.
func stat(pid int) [][]byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
}
