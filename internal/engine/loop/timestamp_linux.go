package loop

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"brunt/internal/engine"
)

// kernelTime translates the kernel's receive timestamps, which are wall-clock time, to the run's
// clock. The wall clock may be stepped or slewed, so the difference of the two is measured again
// every stampEveryNs, and whenever a timestamp is impossible.
type kernelTime struct {
	clock  engine.Clock
	offset int64 // wall clock minus run clock
	at     int64 // when that was measured
}

// keepStamping returns a socket that makes the kernel put timestamps on packets while it is open, or −1 on failure.
// Without it the first answers after sockets ask for timestamps have none, because the kernel begins some milliseconds
// later.
func keepStamping() (fd int) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	stampSocket(fd, true)
	return fd
}

const stampEveryNs = 20_000_000

// calibrate measures the difference of the clocks. It makes several attempts and uses the one that took the least time.
// Half of this time is the largest error.
func (k *kernelTime) calibrate() {
	best := never
	for range 4 {
		var wall unix.Timespec
		before := k.clock.Now()
		unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
		after := k.clock.Now()
		if after-before < best {
			best = after - before
			k.offset = wall.Nano() - before - (after-before)/2
			k.at = after
		}
		if best < 500 {
			return
		}
	}
}

// refresh calibrates if it is due.
func (k *kernelTime) refresh(now int64) {
	if now-k.at > stampEveryNs {
		k.calibrate()
	}
}

// run converts a timestamp, which must lie between sent and now, to the run's clock. It returns now if it can't.
func (k *kernelTime) run(stamp, sent, now int64) int64 {
	if stamp == 0 {
		return now
	}
	t := stamp - k.offset
	if t < sent || t > now {
		k.calibrate()
		t = stamp - k.offset
	}
	return min(max(t, sent), now)
}

// receiver reads sockets, with or without kernel timestamps.
type receiver struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control [8]uint64
}

// read reads into b and returns the count, and when the kernel received the last of it (0 if
// stamped is false or the kernel didn't say).
func (r *receiver) read(fd int, b []byte, stamped bool) (n int, stamp int64, errno syscall.Errno) {
	if !stamped {
		c, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
		if e != 0 {
			return 0, 0, e
		}
		return int(c), 0, 0
	}
	r.vector.Base = &b[0]
	r.vector.SetLen(len(b))
	r.header.Iov = &r.vector
	r.header.SetIovlen(1)
	r.header.Control = (*byte)(unsafe.Pointer(&r.control[0]))
	r.header.SetControllen(8 * len(r.control))
	c, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.header)), 0)
	if e != 0 {
		return 0, 0, e
	}
	return int(c), r.stamp(), 0
}

// stamp finds the timestamp among the control messages.
func (r *receiver) stamp() int64 {
	const size = unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))
	if int(r.header.Controllen) < size {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&r.control[unix.SizeofCmsghdr/8])).Nano()
}

// write writes b, without a signal if the other side has closed.
func write(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// stampSocket turns receive timestamps of a socket on or off.
func stampSocket(fd int, on bool) {
	v := 0
	if on {
		v = 1
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, v)
}
