package testserver

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// attributes puts a server into its own process group, and makes the kernel signal it when the thread that started it
// ends, so that a crashed test leaves no processes behind.
func attributes(cred *syscall.Credential, death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred, Pdeathsig: death}
}

// Descendants returns the PIDs of the processes below pid, parents before children. The process group isn't enough,
// because workers can leave it, as PostgreSQL's backends do.
func Descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := make(map[int][]int)
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(id); ok {
			children[parent] = append(children[parent], id)
		}
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
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
