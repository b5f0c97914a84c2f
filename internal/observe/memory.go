package observe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryUnlimited is the least limit that means none: version 1 says so by a number near 2⁶³.
const memoryUnlimited = 1 << 60

// memoryLimit is what the process's memory can't exceed: the least limit of its control groups,
// or the machine's memory.
func (p *process) memoryLimit() (bytes float64, name string) {
	data, err := os.ReadFile(filepath.Join(p.path(p.pid), "cgroup"))
	if err == nil {
		for l := range strings.Lines(string(data)) {
			f := strings.SplitN(strings.TrimSpace(l), ":", 3)
			if len(f) != 3 {
				continue
			}
			root, file := p.cgroups, "memory.max"
			if f[1] != "" {
				if !strings.Contains(","+f[1]+",", ",memory,") {
					continue
				}
				root, file = filepath.Join(p.cgroups, "memory"), "memory.limit_in_bytes"
			}
			if n := leastLimit(root, f[2], file); n > 0 && (bytes == 0 || n < bytes) {
				bytes, name = n, "the control group's memory limit"
			}
		}
	}
	if total := memoryTotal(p.proc); total > 0 && (bytes == 0 || total < bytes) {
		return total, "the machine's memory"
	}
	return bytes, name
}

// leastLimit is the least limit of a control group and those above it, 0 if there is none.
func leastLimit(root, path, file string) (least float64) {
	for at := filepath.Clean("/" + path); ; at = filepath.Dir(at) {
		if n := readNumber(filepath.Join(root, at, file)); n > 0 && n < memoryUnlimited && (least == 0 || n < least) {
			least = n
		}
		if at == "/" {
			return least
		}
	}
}

func memoryTotal(proc string) float64 {
	data, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0
	}
	return totalOf(string(data))
}

// totalOf finds the machine's memory in the text of /proc/meminfo.
func totalOf(meminfo string) float64 {
	for l := range strings.Lines(meminfo) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n * 1024
		}
	}
	return 0
}

// readNumber reads a file that holds one number; 0 if it doesn't.
func readNumber(path string) float64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	if err != nil {
		return 0
	}
	return n
}
