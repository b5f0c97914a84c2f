package wire

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The parts of the io_uring interface that are used here; see io_uring_enter(2),
// io_uring_setup(2), io_uring_register(2) and include/uapi/linux/io_uring.h.
const (
	sysUringSetup, sysUringEnter, sysUringRegister = 425, 426, 427

	setupCQSize, setupSingleIssuer, setupDeferTaskrun = 1 << 3, 1 << 12, 1 << 13
	featureSingleMmap, featureNoDrop, featureExtArg   = 1 << 0, 1 << 1, 1 << 8
	enterGetEvents, enterExtArg                       = 1 << 0, 1 << 3
	offsetSQEs                                        = 0x10000000
	registerBufferRing                                = 22

	opPollAdd, opRecvMsg, opSend, opRecv = 6, 10, 26, 27
	sqeBufferSelect                      = 1 << 5
	recvMultishot                        = 1 << 1
	pollMulti                            = 1 << 0
	cqeBuffer, cqeMore                   = 1 << 0, 1 << 1

	ringEntries  = 1024
	ringBuffers  = 512      // a power of two
	bufferBytes  = 16 << 10 // each
	controlBytes = 32       // room for a timestamp
	headerBytes  = 16       // struct io_uring_recvmsg_out
)

type uringParams struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32
	_                                                                      [3]uint32
	sq                                                                     struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

type sqe struct {
	opcode, flags uint8
	ioprio        uint16
	fd            int32
	off, addr     uint64
	len, opFlags  uint32
	userData      uint64
	bufGroup      uint16
	_             [22]byte
}

type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

type bufferEntry struct {
	addr uint64
	len  uint32
	id   uint16
	tail uint16 // of the ring, in its first entry only
}

// ring is an io_uring of one thread. Receives are multishot into buffers that the ring hands out,
// so that a session costs no request of its own to be listened to.
type ring struct {
	fd      int
	memory  []byte
	entries []byte
	buffers []byte
	offers  []byte // the ring of free buffers

	sqHead, sqTail, cqHead, cqTail *uint32
	sqMask, cqMask                 uint32
	sqArray, cqes                  unsafe.Pointer
	tail                           uint32 // of the submission queue
	pending                        uint32 // queued and not submitted
	offered                        uint16

	template unix.Msghdr // of receives
	timeout  unix.Timespec
	argument struct {
		sigmask     uint64
		sigmaskSize uint32
		minWait     uint32
		timeout     uint64
	}
}

// newRing makes a ring for the calling thread. Linux 6.1 or later is needed.
func newRing() (*ring, error) {
	p := uringParams{flags: setupCQSize | setupSingleIssuer | setupDeferTaskrun, cqEntries: 8 * ringEntries}
	fd, _, errno := unix.Syscall(sysUringSetup, ringEntries, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	r := &ring{fd: int(fd)}
	if err := r.prepare(&p); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *ring) prepare(p *uringParams) (err error) {
	if need := uint32(featureSingleMmap | featureNoDrop | featureExtArg); p.features&need != need {
		return fmt.Errorf("io_uring: the kernel lacks features (has %#x)", p.features)
	}
	size := max(p.sq.array+4*p.sqEntries, p.cq.cqes+uint32(unsafe.Sizeof(cqe{}))*p.cqEntries)
	const prot, shared = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.memory, err = unix.Mmap(r.fd, 0, int(size), prot, shared); err != nil {
		return fmt.Errorf("map io_uring: %w", err)
	}
	if r.entries, err = unix.Mmap(r.fd, offsetSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), prot, shared); err != nil {
		return fmt.Errorf("map io_uring: %w", err)
	}
	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.memory[off])) }
	r.sqHead, r.sqTail, r.sqMask = word(p.sq.head), word(p.sq.tail), *word(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = word(p.cq.head), word(p.cq.tail), *word(p.cq.mask)
	r.sqArray, r.cqes = unsafe.Pointer(&r.memory[p.sq.array]), unsafe.Pointer(&r.memory[p.cq.cqes])
	r.tail = *r.sqTail
	r.template.SetControllen(controlBytes)
	return r.prepareBuffers()
}

func (r *ring) prepareBuffers() (err error) {
	const prot, private = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON
	if r.buffers, err = unix.Mmap(-1, 0, ringBuffers*bufferBytes, prot, private); err != nil {
		return fmt.Errorf("map buffers: %w", err)
	}
	if r.offers, err = unix.Mmap(-1, 0, ringBuffers*int(unsafe.Sizeof(bufferEntry{})), prot, private); err != nil {
		return fmt.Errorf("map buffers: %w", err)
	}
	registration := struct {
		addr         uint64
		entries      uint32
		group, flags uint16
		_            [3]uint64
	}{addr: uint64(uintptr(unsafe.Pointer(&r.offers[0]))), entries: ringBuffers}
	_, _, errno := unix.Syscall6(sysUringRegister, uintptr(r.fd), registerBufferRing, uintptr(unsafe.Pointer(&registration)), 1, 0, 0)
	if errno != 0 {
		return fmt.Errorf("io_uring: register buffers: %w", errno)
	}
	for id := range uint16(ringBuffers) {
		r.recycle(id)
	}
	return nil
}

// recycle offers a buffer to the kernel.
func (r *ring) recycle(id uint16) {
	const size = unsafe.Sizeof(bufferEntry{})
	base := unsafe.Pointer(&r.offers[0])
	e := (*bufferEntry)(unsafe.Add(base, uintptr(r.offered%ringBuffers)*size))
	e.addr = uint64(uintptr(unsafe.Pointer(&r.buffers[int(id)*bufferBytes])))
	e.len, e.id = bufferBytes, id
	r.offered++
	// The tail shares a word with the first entry's number; nobody else writes either.
	first := (*bufferEntry)(base)
	atomic.StoreUint32((*uint32)(unsafe.Add(base, unsafe.Offsetof(first.id))), uint32(first.id)|uint32(r.offered)<<16)
}

// buffer is what the kernel put into a buffer.
func (r *ring) buffer(id uint16, n int) []byte {
	at := int(id) * bufferBytes
	return r.buffers[at : at+n : at+bufferBytes]
}

// next returns a cleared entry of the submission queue, submitting what is queued if it is full.
func (r *ring) next() *sqe {
	for r.tail-atomic.LoadUint32(r.sqHead) > r.sqMask {
		r.enter(0, 0, false)
	}
	i := r.tail & r.sqMask
	e := (*sqe)(unsafe.Pointer(&r.entries[uintptr(i)*unsafe.Sizeof(sqe{})]))
	*e = sqe{}
	*(*uint32)(unsafe.Add(r.sqArray, 4*uintptr(i))) = i
	r.tail++
	r.pending++
	return e
}

// enter submits what is queued, waits for so many completions for at most ns (not at all if ns is
// 0), and lets the kernel do what it has put off for this thread.
func (r *ring) enter(completions uint32, ns int64, long bool) syscall.Errno {
	atomic.StoreUint32(r.sqTail, r.tail)
	flags, argument, size := uintptr(enterGetEvents), uintptr(0), uintptr(0)
	if ns > 0 {
		r.timeout = unix.NsecToTimespec(ns)
		r.argument.timeout = uint64(uintptr(unsafe.Pointer(&r.timeout)))
		flags |= enterExtArg
		argument, size = uintptr(unsafe.Pointer(&r.argument)), unsafe.Sizeof(r.argument)
	} else {
		completions = 0
	}
	var n uintptr
	var errno syscall.Errno
	if long {
		n, _, errno = unix.Syscall6(sysUringEnter, uintptr(r.fd), uintptr(r.pending), uintptr(completions), flags, argument, size)
	} else {
		n, _, errno = unix.RawSyscall6(sysUringEnter, uintptr(r.fd), uintptr(r.pending), uintptr(completions), flags, argument, size)
	}
	switch errno {
	case 0:
		r.pending -= uint32(n)
		return 0
	case unix.ETIME, unix.EINTR, unix.EAGAIN, unix.EBUSY:
		r.pending = r.tail - atomic.LoadUint32(r.sqHead)
		return 0
	}
	return errno
}

// pop returns the oldest completion, if there is one.
func (r *ring) pop() (c cqe, ok bool) {
	head := *r.cqHead
	if head == atomic.LoadUint32(r.cqTail) {
		return cqe{}, false
	}
	c = *(*cqe)(unsafe.Add(r.cqes, uintptr(head&r.cqMask)*unsafe.Sizeof(cqe{})))
	atomic.StoreUint32(r.cqHead, head+1)
	return c, true
}

func (r *ring) close() {
	unix.Close(r.fd)
	for _, m := range [][]byte{r.memory, r.entries, r.offers, r.buffers} {
		if m != nil {
			unix.Munmap(m)
		}
	}
}
