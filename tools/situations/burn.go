//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// burnCommand is the argument with which this program starts itself as a burner.
const burnCommand = "burn"

// burner uses a core for the time busy of each period, or all the time if the two are equal.
type burner struct {
	realtime     bool // scheduled ahead of all ordinary processes (SCHED_FIFO)
	busy, period time.Duration
	nice         int
}

// start starts a burner process, which ends with ctx.
func (b burner) start(ctx context.Context, self string, core int) {
	cmd := exec.CommandContext(ctx, self, burnCommand, fmt.Sprint(core), fmt.Sprint(b.realtime), fmt.Sprint(int64(b.busy)),
		fmt.Sprint(int64(b.period)), fmt.Sprint(b.nice))
	cmd.Stderr = os.Stderr
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}

// burnerLife is the longest time that a burner runs if nothing ends it.
const burnerLife = time.Minute

// burn is the main function of the burner's process.
func burn(args []string) error {
	var b burner
	var core int
	if len(args) != 5 {
		return fmt.Errorf("%s needs core, realtime, busy and period in ns, and nice", burnCommand)
	}
	for i, v := range []any{&core, &b.realtime, &b.busy, &b.period, &b.nice} {
		if _, err := fmt.Sscan(args[i], v); err != nil {
			return err
		}
	}
	if err := takeCore(core, b.realtime, b.nice); err != nil {
		return err
	}
	for end := time.Now().Add(burnerLife); time.Now().Before(end); {
		for began := time.Now(); time.Since(began) < b.busy; {
		}
		time.Sleep(b.period - b.busy)
	}
	return nil
}

// takeCore locks the calling goroutine to its thread and binds the thread to a core, with real-time priority or a
// niceness.
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
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: int32(nice)},
		0)
}

// mayHurry reports whether this process may use real-time priority.
func mayHurry() bool {
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		done <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1},
			0) == nil
	}()
	return <-done
}
