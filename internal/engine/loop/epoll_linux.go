package loop

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How the loop sleeps. A wait in RawSyscall avoids the bookkeeping with which the runtime lets other goroutines use
// this thread's P (34 instead of 65 µs of CPU per request at 1 000 requests a second). The runtime can't take the P
// away during the wait, but it isn't blocked either: to stop the world it sends the thread a signal, which ends the
// wait with EINTR, and the loop yields at its next function call. Others have enough Ps: see reserveProcs.
//
// In an open load, a loop without an event for idleNs sleeps in an ordinary system call. The runtime's monitor takes
// the P of a thread that is in one for 10 ms, and then looks 60 times within 5 ms for others like it, which took a
// third of all CPU of a load of 34 requests a second. In a closed load even long waits are raw. The monitor then
// signals the thread every 10 ms, and the loop gives its P to another thread and gets it back. Beside busy
// neighbours that takes time, in which a send may be due in an open load.
//
// While events come quickly, a wait ends after idleNs, which an event usually precedes, and has no timeout of its own.
// Otherwise the kernel would start and stop a timer for every wait. On a virtual machine each of these can mean an exit
// to the hypervisor, which costs a tenth of a closed load's CPU. A timerfd that is set once every idleNs ends these
// waits.
const idleNs = 2_000_000

// Tokens of the loop's own descriptors. Others are slots of sessions.
const (
	wakeupToken = -1
	timerToken  = -2
)

// eventsAtOnce is the largest number of sessions that one wait reports.
const eventsAtOnce = 256

// poller wraps epoll for a loop: its sockets and its wakeup.
type poller struct {
	set       int
	wakeup    int   // an eventfd that other threads write to
	timer     int   // a timerfd
	expiresNs int64 // when the timer ends a wait of idleNs, on the loop's clock
	timerOnly bool  // the kernel lacks epoll_pwait2 (before 5.11): the timer ends every wait
	events    [eventsAtOnce]unix.EpollEvent
	timeout   unix.Timespec
}

func newPoller() (*poller, error) {
	p := &poller{set: -1, wakeup: -1, timer: -1}
	var err error
	if p.set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		p.wakeup, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err == nil {
		err = p.addOwn(p.wakeup, wakeupToken, unix.EPOLLIN)
	}
	if err == nil {
		p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	}
	if err == nil { // edge-triggered, so it need not be read
		err = p.addOwn(p.timer, timerToken, unix.EPOLLIN|unix.EPOLLET&0xffffffff)
	}
	if err == nil {
		_, errno := p.wait(0, 0, false)
		p.timerOnly = errno == unix.ENOSYS
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("set up an event loop: %w (is the limit of open files reached? see ulimit -n)", err)
	}
	return p, nil
}

func (p *poller) addOwn(fd int, token int32, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: token}
	return unix.EpollCtl(p.set, unix.EPOLL_CTL_ADD, fd, &e)
}

// add registers a session's socket once, edge-triggered, so that no further call is needed when the session waits for
// something else.
func (p *poller) add(fd, slot int, generation int32) error {
	e := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff,
		Fd:     int32(slot), Pad: generation,
	}
	return unix.EpollCtl(p.set, unix.EPOLL_CTL_ADD, fd, &e)
}

// remove takes a socket out of the set. Closing it does so, too, unless it has duplicates.
func (p *poller) remove(fd int) error { return unix.EpollCtl(p.set, unix.EPOLL_CTL_DEL, fd, nil) }

// sleep sleeps for ns. Neither answers nor the wakeup end it. It may end early.
func (p *poller) sleep(ns int64) {
	p.timeout = unix.NsecToTimespec(ns)
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&p.timeout)), 0, 0)
}

// wait waits for events for at most ns, and returns their number. long means that the runtime may give the thread's P
// to others during the wait. A wait of idleNs that isn't long may end early.
func (p *poller) wait(now, ns int64, long bool) (int, syscall.Errno) {
	ns = max(ns, 0)
	if p.timerOnly {
		return p.waitTimer(ns)
	}
	p.timeout = unix.NsecToTimespec(ns)
	timeout := unsafe.Pointer(&p.timeout)
	if ns == idleNs && !long {
		if p.expiresNs <= now {
			p.setTimer(ns)
			p.expiresNs = now + ns
		}
		timeout = nil
	}
	var n uintptr
	var errno syscall.Errno
	if long {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.set), uintptr(unsafe.Pointer(&p.events[0])),
			eventsAtOnce, uintptr(timeout), 0, 0)
	} else {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.set), uintptr(unsafe.Pointer(&p.events[0])),
			eventsAtOnce, uintptr(timeout), 0, 0)
	}
	return p.waited(n, errno)
}

// waitTimer is wait for kernels with only epoll_pwait, whose timeout is in milliseconds. The timer ends it.
func (p *poller) waitTimer(ns int64) (int, syscall.Errno) {
	ms := 0
	if ns > 0 {
		ms = int(ns/1e6) + 2
		p.setTimer(ns)
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.set), uintptr(unsafe.Pointer(&p.events[0])),
		eventsAtOnce, uintptr(ms), 0, 0)
	return p.waited(n, errno)
}

// setTimer makes the timer expire after ns.
func (p *poller) setTimer(ns int64) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(ns)}
	unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(p.timer), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// waited returns the result of a wait. The timer alone is not an event.
func (p *poller) waited(n uintptr, errno syscall.Errno) (int, syscall.Errno) {
	switch {
	case errno == unix.EINTR, n == 1 && p.events[0].Fd == timerToken:
		return 0, 0
	case errno != 0:
		return 0, errno
	}
	return int(n), 0
}

// ring ends the loop's wait. It is safe for concurrent use until close.
func (p *poller) ring() {
	one := [8]byte{1}
	unix.Write(p.wakeup, one[:])
}

// resetWakeup resets the wakeup.
func (p *poller) resetWakeup() {
	var b [8]byte
	unix.Read(p.wakeup, b[:])
}

func (p *poller) close() {
	for _, fd := range []int{p.set, p.wakeup, p.timer} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
