package observe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brunt/internal/cgroup"
)

// memoryUnlimited is the least limit that means none: version 1 says so by a number near 2⁶³.
const memoryUnlimited = 1 << 60

// memoryLimit is what the process's memory can't exceed: the least limit of its control groups,
// or the machine's memory.
func (p *process) memoryLimit() (bytes float64, name string) {
	data, err := os.ReadFile(filepath.Join(p.path(p.pid), "cgroup"))
	if err == nil {
		for _, folder := range cgroup.Folders(string(data), "memory") {
			for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
				n := readNumber(filepath.Join(p.cgroups, folder, file))
				if n > 0 && n < memoryUnlimited && (bytes == 0 || n < bytes) {
					bytes, name = n, "the control group's memory limit"
				}
			}
		}
	}
	if total := memoryTotal(p.proc); total > 0 && (bytes == 0 || total < bytes) {
		return total, "the machine's memory"
	}
	return bytes, name
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
