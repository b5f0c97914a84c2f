package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"brunt/internal/protocol/echo"

	"golang.org/x/sys/unix"
)

// echoReceiver answers echo frames and records when the kernel received each of them (SO_TIMESTAMPNS), so that the
// receiver's own wake-up delays don't count.
type echoReceiver struct {
	address  string
	listener int
	poll     int
	silent   bool // don't record times
	ended    atomic.Bool

	mu   sync.Mutex
	atNs []int64
}

func newEchoReceiver(silent bool) (*echoReceiver, error) {
	e := &echoReceiver{silent: silent}
	var err error
	if e.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	if err := unix.Bind(e.listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	if err := unix.SetsockoptInt(e.listener, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return nil, fmt.Errorf("ask for timestamps: %w", err)
	}
	if err := unix.Listen(e.listener, 1024); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	name, err := unix.Getsockname(e.listener)
	if err != nil {
		return nil, err
	}
	e.address = fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	if e.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("open epoll: %w", err)
	}
	return e, e.watch(e.listener)
}

func (e *echoReceiver) watch(fd int) error {
	return unix.EpollCtl(e.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// serve accepts and serves connections until the process ends.
func (e *echoReceiver) serve() {
	events := make([]unix.EpollEvent, 64)
	frames, control := make([]byte, 64<<10), make([]byte, 256)
	for !e.ended.Load() {
		n, err := unix.EpollWait(e.poll, events, -1)
		if err == unix.EINTR {
			continue
		}
		for i := range max(n, 0) {
			if fd := int(events[i].Fd); fd == e.listener {
				e.accept()
			} else {
				e.answer(fd, frames, control)
			}
		}
	}
}

func (e *echoReceiver) accept() {
	fd, _, err := unix.Accept4(e.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if e.watch(fd) != nil {
		unix.Close(fd)
	}
}

// answer echoes the frames that have been read. Each session has one request in flight, so the timestamp of a read is
// that of its frame.
func (e *echoReceiver) answer(fd int, frames, control []byte) {
	n, nc, _, _, err := unix.Recvmsg(fd, frames, control, 0)
	if n <= 0 || err != nil {
		if err != unix.EAGAIN {
			unix.Close(fd)
		}
		return
	}
	for rest := frames[:n]; len(rest) > 0; {
		written, err := unix.Write(fd, rest)
		if err != nil && err != unix.EAGAIN {
			return
		}
		rest = rest[max(written, 0):]
	}
	if e.silent {
		return
	}
	at := stampOf(control[:nc])
	if at == 0 {
		at = time.Now().UnixNano() // the first packet after enabling timestamps may have none
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for range n / echo.Size {
		e.atNs = append(e.atNs, at)
	}
}

// stampOf returns the timestamp in a message's control data.
func stampOf(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for i := range messages {
		m := &messages[i]
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS &&
			len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			return (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
		}
	}
	return 0
}

// stop returns the times at which requests arrived, in ns since the epoch.
func (e *echoReceiver) stop() []int64 {
	e.ended.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.atNs
}
