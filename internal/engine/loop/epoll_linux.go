package loop

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How the loop sleeps. A wait in RawSyscall spares the bookkeeping with which the runtime lets
// others use this thread's place (34 instead of 65 µs of CPU a request at 1 000 requests a
// second). The runtime can't take the place away in the meantime, but it isn't held up either: to stop
// the world it sends the thread a signal, which ends the wait with EINTR, and the loop yields at
// its next function call.
//
// Only a loop for which nothing has happened for idleNs sleeps in an ordinary system call. A
// thread that is in one again and again is what the runtime's monitor looks for: it wakes up to
// 50 000 times a second to take the place away, at a tenth of the loop's own CPU.
//
// A wait of idleNs, which an event usually ends, has no timeout of its own: the kernel would start a timer
// and stop it again for every one. On a virtual machine that can mean leaving it twice, which costs a tenth
// of a closed load's CPU. A timerfd that is set once every idleNs ends these waits.
const idleNs = 2_000_000

// Tokens that stand for the loop's own descriptors in place of a session's slot.
const (
	wakeupToken = -1
	timerToken  = -2
)

// eventsAtOnce is how many sessions one wait can report.
const eventsAtOnce = 256

// poller is the loop's view of epoll: its sockets and its wakeup.
type poller struct {
	set       int
	wakeup    int   // an eventfd that others write to
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
	if err == nil { // edge-triggered, so that nobody needs to read it
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

// add watches a session's socket, for good: edge-triggered, so that no further call is needed
// whatever the session waits for.
func (p *poller) add(fd, slot int, generation int32) error {
	e := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff,
		Fd:     int32(slot), Pad: generation,
	}
	return unix.EpollCtl(p.set, unix.EPOLL_CTL_ADD, fd, &e)
}

// sleep sleeps for ns, whatever happens: neither answers nor the wakeup end it. It may end early.
func (p *poller) sleep(ns int64) {
	p.timeout = unix.NsecToTimespec(ns)
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&p.timeout)), 0, 0)
}

// wait waits for events from now on for at most ns, and returns how many there are. long says that the thread's
// place may be given to others in the meantime. A wait of idleNs that isn't long may end early.
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

// waitTimer is wait by epoll_pwait, whose timeout is in milliseconds: the timer ends it.
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

// waited is what a wait came to. The timer alone is no event.
func (p *poller) waited(n uintptr, errno syscall.Errno) (int, syscall.Errno) {
	switch {
	case errno == unix.EINTR, n == 1 && p.events[0].Fd == timerToken:
		return 0, 0
	case errno != 0:
		return 0, errno
	}
	return int(n), 0
}

// ring makes the loop's wait end. It may be called from anywhere until close.
func (p *poller) ring() {
	one := [8]byte{1}
	unix.Write(p.wakeup, one[:])
}

// hush makes the wakeup quiet again.
func (p *poller) hush() {
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
