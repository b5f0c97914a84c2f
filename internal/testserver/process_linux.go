package testserver

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// attributes put a server into a process group of its own and have the kernel end it when the
// thread that started it is gone, so that a crashed test leaves nothing behind.
func attributes(cred *syscall.Credential, death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred, Pdeathsig: death}
}

// Descendants lists the processes below pid, parents before children. Servers' workers may have
// left the process group (PostgreSQL's backends do), so the group isn't enough.
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

// stat reads the fields of /proc/PID/stat (proc(5)) from the third on, the state; none if the process
// is gone. The second may hold spaces and parentheses, so the others are found from its closing one.
func stat(pid int) [][]byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
}
