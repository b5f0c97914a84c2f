package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The fields of /proc/PID/stat after the name: see proc(5).
const (
	statState = 0
	statGroup = 2
	statStart = 19
)

// statOf returns the fields of a /proc/PID/stat after the name, or nil if there is no such process or it is a zombie.
func statOf(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	// The name, in parentheses, may contain any character.
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= statStart || fields[statState] == "Z" {
		return nil
	}
	return fields
}

// beganAt returns when a process began, in ticks since boot, together with the boot ID. It returns "" if there is no
// such process, or it is a zombie.
func beganAt(pid int) string {
	fields := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if fields == nil || err != nil {
		return ""
	}
	return fields[statStart] + "@" + strings.TrimSpace(string(boot))
}

// groupThere reports whether any process of a group exists, not only its leader.
func groupThere(group int) bool {
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range found {
		if fields := statOf(path); fields != nil && fields[statGroup] == strconv.Itoa(group) {
			return true
		}
	}
	return false
}
