package loop

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"brunt/internal/engine/machine"
)

// thread is the state of a loop's OS thread: how much it sleeps, and why it ends.
type thread struct {
	id       atomic.Int32
	asleepNs int64 // since the last gauges
	gaugesAt int64
	idle     bool // nothing happened for idleNs
	quick    int  // how many sleeps in a row were shorter than idleNs
	quitting bool
	failure  atomic.Pointer[error] // why the loop had to end
}

// begin prepares the calling thread, which must be locked, for a loop.
func (t *thread) begin(now int64) {
	t.id.Store(int32(unix.Gettid()))
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	_ = os.WriteFile("/proc/thread-self/comm", []byte(machine.LoopThread), 0)
	t.gaugesAt = now
}

// quickAfter is after how many short sleeps the next one is taken to be short, too. A single request with its answer
// is two.
const quickAfter = 4

// wait returns how long to sleep of a time of ns, and in which way: see idleNs.
func (t *thread) wait(ns int64, open bool) (sleepNs int64, long bool) {
	if ns <= idleNs || open && t.idle || !open && t.quick < quickAfter {
		return ns, open && ns > idleNs
	}
	return idleNs, false
}

// slept records a sleep that a number of events ended.
func (t *thread) slept(ns int64, events int) {
	t.asleepNs += ns
	t.idle = events == 0 && ns >= idleNs
	if t.quick++; ns >= idleNs {
		t.quick = 0
	}
}

// busy returns the share of the time since the last call in which the thread did not sleep.
func (t *thread) busy(now int64) float64 {
	busy := 1.0
	if span := now - t.gaugesAt; span > 0 {
		busy = 1 - float64(min(t.asleepNs, span))/float64(span)
	}
	t.asleepNs, t.gaugesAt = 0, now
	return busy
}

// fail ends the loop because of an error.
func (t *thread) fail(err error) {
	t.failure.Store(&err)
	t.quitting = true
}
