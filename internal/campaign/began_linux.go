package campaign

import (
	"fmt"
	"os"
	"strings"
)

// beganAt is when a process began, in ticks since the machine's start, with the machine's start; "" if there
// is none of that number, or it has ended and waits to be reaped.
func beganAt(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in brackets, may hold anything.
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start || fields[state] == "Z" {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return fields[start] + "@" + strings.TrimSpace(string(boot))
}
