//go:build linux

package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// takeCore binds the calling goroutine to a thread and that to a core, ahead of others if asked and
// permitted.
func takeCore(core int, realtime bool, nice int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("take core %d: %w", core, err)
	}
	if realtime {
		return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 50}, 0)
	}
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: int32(nice)}, 0)
}

// mayHurry reports whether processes may be put ahead of all others here.
func mayHurry() bool {
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		done <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) == nil
	}()
	return <-done
}
