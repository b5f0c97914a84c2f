package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The fields of /proc/PID/stat behind the name: see proc(5).
const (
	statState = 0
	statGroup = 2
	statStart = 19
)

// statOf are the fields of a /proc/PID/stat behind the name, nil if there is no such process, or it has ended and
// waits to be reaped.
func statOf(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	// The name, in brackets, may hold anything.
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= statStart || fields[statState] == "Z" {
		return nil
	}
	return fields
}

// beganAt is when a process began, in ticks since the machine's start, with the machine's start; "" if there
// is none of that number, or it has ended and waits to be reaped.
func beganAt(pid int) string {
	fields := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if fields == nil || err != nil {
		return ""
	}
	return fields[statStart] + "@" + strings.TrimSpace(string(boot))
}

// groupThere reports whether a process of a group is there, which need not be the one that leads it.
func groupThere(group int) bool {
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range found {
		if fields := statOf(path); fields != nil && fields[statGroup] == strconv.Itoa(group) {
			return true
		}
	}
	return false
}
