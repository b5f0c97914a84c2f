package main

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the kernel's include/uapi/linux/io_uring.h defines and this program uses.
const (
	sysSetup, sysEnter, sysRegister = 425, 426, 427

	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	setupNoSQArray    = 1 << 16

	offsetSQEs = 0x10000000

	opSend, opRecv  = 26, 27
	flagFixedFile   = 1 << 0
	flagBuffer      = 1 << 5
	flagSkipSuccess = 1 << 6
	recvMultishot   = 1 << 1

	enterGetEvents      = 1
	registerFiles       = 2
	registerBuffersRing = 22

	cqeBuffer, cqeMore = 1, 2
)

// entry is struct io_uring_sqe.
type entry struct {
	opcode, flags    uint8
	ioprio           uint16
	fd               int32
	offset, address  uint64
	length, msgFlags uint32
	userData         uint64
	group            uint16
	personality      uint16
	file             int32
	_                [2]uint64
}

// completion is struct io_uring_cqe.
type completion struct {
	userData uint64
	result   int32
	flags    uint32
}

// setup is struct io_uring_params.
type setup struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, wq uint32
	_                                                                [3]uint32
	sq, cq                                                           struct {
		head, tail, mask, entries, a, b, c, d uint32
		address                               uint64
	}
}

// provided is struct io_uring_buf. The tail of the ring lies in the last field of the first one.
type provided struct {
	address uint64
	length  uint32
	id      uint16
	tail    uint16
}

const (
	ringEntries    = 1024
	buffers        = 512 // a power of two
	bytesOfABuffer = 8 << 10
)

// ring is an io_uring that one thread uses.
type ring struct {
	fd        int
	entries   []entry
	tail      uint32
	sqTail    *uint32
	sqMask    uint32
	cqHead    *uint32
	cqTail    *uint32
	cqMask    uint32
	completed []completion
	room      []byte // the provided buffers
	given     []provided
	givenTail uint16
	unentered uint32
}

func newRing(files []int32) (*ring, error) {
	p := setup{flags: setupSingleIssuer | setupDeferTaskrun | setupNoSQArray}
	fd, _, errno := unix.Syscall(sysSetup, ringEntries, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w (Linux 6.6 or later is needed)", errno)
	}
	r := &ring{fd: int(fd)}
	size := int(p.cq.b) + int(p.cqEntries)*int(unsafe.Sizeof(completion{})) // cqes begin at cq.b
	shared, err := unix.Mmap(r.fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	entries, err := unix.Mmap(r.fd, offsetSQEs, int(p.sqEntries)*int(unsafe.Sizeof(entry{})),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	word := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&shared[offset])) }
	r.entries = unsafe.Slice((*entry)(unsafe.Pointer(&entries[0])), p.sqEntries)
	r.sqTail, r.sqMask = word(p.sq.tail), *word(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = word(p.cq.head), word(p.cq.tail), *word(p.cq.mask)
	r.completed = unsafe.Slice((*completion)(unsafe.Pointer(&shared[p.cq.b])), p.cqEntries)
	if err := r.register(registerFiles, unsafe.Pointer(&files[0]), len(files)); err != nil {
		return nil, fmt.Errorf("register sockets: %w", err)
	}
	return r, r.provide()
}

func (r *ring) register(what uintptr, argument unsafe.Pointer, n int) error {
	if _, _, errno := unix.Syscall6(sysRegister, uintptr(r.fd), what, uintptr(argument), uintptr(n), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// provide registers the buffers that the kernel reads into.
func (r *ring) provide() error {
	memory, err := unix.Mmap(-1, 0, buffers*(int(unsafe.Sizeof(provided{}))+bytesOfABuffer),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	r.given = unsafe.Slice((*provided)(unsafe.Pointer(&memory[0])), buffers)
	r.room = memory[buffers*int(unsafe.Sizeof(provided{})):]
	argument := struct {
		address uint64
		entries uint32
		group   uint16
		flags   uint16
		_       [3]uint64
	}{address: uint64(uintptr(unsafe.Pointer(&memory[0]))), entries: buffers}
	if err := r.register(registerBuffersRing, unsafe.Pointer(&argument), 1); err != nil {
		return fmt.Errorf("register buffers: %w", err)
	}
	for i := range uint16(buffers) {
		r.giveBack(i)
	}
	return nil
}

// giveBack lets the kernel use a buffer again.
func (r *ring) giveBack(id uint16) {
	b := &r.given[r.givenTail%buffers]
	b.address = uint64(uintptr(unsafe.Pointer(&r.room[int(id)*bytesOfABuffer])))
	b.length, b.id = bytesOfABuffer, id
	r.givenTail++
	// The tail shares a word with the identifier of the first entry. Only the kernel reads it, at the next entry.
	r.given[0].tail = r.givenTail
}

// next returns a cleared entry to submit.
func (r *ring) next() *entry {
	e := &r.entries[r.tail&r.sqMask]
	*e = entry{flags: flagFixedFile}
	r.tail++
	r.unentered++
	return e
}

// receive asks for all that arrives at a socket.
func (r *ring) receive(socket int) {
	e := r.next()
	e.opcode, e.fd, e.ioprio, e.userData = opRecv, int32(socket), recvMultishot, uint64(socket)
	e.flags |= flagBuffer
}

// send sends bytes, which must not change until they are sent. Only a failure is reported.
func (r *ring) send(socket int, b []byte) {
	e := r.next()
	e.opcode, e.fd, e.userData = opSend, int32(socket), uint64(socket)|1<<32
	e.address, e.length = uint64(uintptr(unsafe.Pointer(&b[0]))), uint32(len(b))
	e.msgFlags = unix.MSG_NOSIGNAL
	e.flags |= flagSkipSuccess
}

// enter submits what was added and waits for a completion.
func (r *ring) enter() syscall.Errno {
	atomic.StoreUint32(r.sqTail, r.tail)
	n, _, errno := unix.RawSyscall6(sysEnter, uintptr(r.fd), uintptr(r.unentered), 1, enterGetEvents, 0, 0)
	if errno == 0 {
		r.unentered -= uint32(n)
	}
	return errno
}

// loadByRing is the loop of load with io_uring instead of epoll: registered sockets, one standing read a socket into
// buffers of the kernel's choice, and one system call a turn for all sends and all that has arrived.
func loadByRing(sockets []int, answer, pipeline int, duration time.Duration, next func([]byte) []byte) (done uint64,
	err error) {
	files, requests, missing := make([]int32, len(sockets)), make([][]byte, len(sockets)), make([]int, len(sockets))
	for i, fd := range sockets {
		files[i], requests[i] = int32(fd), make([]byte, 0, 16<<10)
	}
	r, err := newRing(files)
	if err != nil {
		return 0, err
	}
	send := func(i int) {
		requests[i] = requests[i][:0]
		for range pipeline {
			requests[i] = next(requests[i])
		}
		missing[i] = pipeline * answer
		r.send(i, requests[i])
	}
	for i := range sockets {
		r.receive(i)
		send(i)
	}
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if errno := r.enter(); errno != 0 && errno != unix.EINTR {
			return 0, fmt.Errorf("io_uring_enter: %w", errno)
		}
		head := *r.cqHead
		for tail := atomic.LoadUint32(r.cqTail); head != tail; head++ {
			c := &r.completed[head&r.cqMask]
			i := int(uint32(c.userData))
			if c.result <= 0 && c.result != -int32(unix.ENOBUFS) {
				return 0, fmt.Errorf("a connection was lost: %d", c.result)
			}
			if c.flags&cqeBuffer != 0 {
				r.giveBack(uint16(c.flags >> 16))
				if missing[i] -= int(c.result); missing[i] <= 0 {
					done += uint64(pipeline)
					send(i)
				}
			}
			if c.userData>>32 == 0 && c.flags&cqeMore == 0 {
				r.receive(i)
			}
		}
		atomic.StoreUint32(r.cqHead, head)
	}
	return done, nil
}
