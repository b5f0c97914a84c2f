// Command bare measures the least that a closed load can cost on a machine: one locked thread, epoll, and one write and
// one read per request. It measures no times, checks no answers, counts only requests, and relies on all answers having
// the length of the first one. brunt can't use less CPU than this. It prints the number of requests as one line of
// JSON.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// statement is the statement that the pg kind prepares under the name s.
const statement = "SELECT abalance FROM pgbench_accounts WHERE aid = $1"

func main() {
	kind := flag.String("kind", "redis", "pg, redis, http, or none to end at once")
	where := flag.String("where", "", "host:port; a URL for pg")
	sessions := flag.Int("sessions", 50, "connections")
	pipeline := flag.Int("pipeline", 1, "requests in flight a connection")
	duration := flag.Duration("duration", 5*time.Second, "how long")
	keys := flag.Int("keys", 100_000, "random numbers in requests are from 1 to this")
	uring := flag.Bool("uring", false, "io_uring instead of epoll")
	flag.Parse()
	if *kind == "none" {
		return
	}
	runtime.LockOSThread()
	done, err := load(*kind, *where, *sessions, *pipeline, *duration, *keys, *uring)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"requests": done})
}

func load(kind, where string, sessions, pipeline int, duration time.Duration, keys int, uring bool) (done uint64,
	err error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return 0, err
	}
	encode, err := encoder(kind, where)
	if err != nil {
		return 0, err
	}
	random := rand.New(rand.NewPCG(1, 1))
	buffer := make([]byte, 256<<10)
	sockets, missing := make([]int, sessions), make([]int, sessions)
	answer := 0
	for i := range sockets {
		if sockets[i], err = connect(kind, where); err != nil {
			return 0, err
		}
		if answer == 0 {
			if answer, err = measure(sockets[i], encode(nil, 1+random.IntN(keys)), buffer); err != nil {
				return 0, err
			}
		}
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET&0xffffffff, Fd: int32(i)}
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, sockets[i], &e); err != nil {
			return 0, err
		}
	}
	if uring {
		next := func(to []byte) []byte { return encode(to, 1+random.IntN(keys)) }
		return loadByRing(sockets, answer, pipeline, duration, next)
	}
	var requests []byte
	send := func(i int) {
		requests = requests[:0]
		for range pipeline {
			requests = encode(requests, 1+random.IntN(keys))
		}
		missing[i] = pipeline * answer
		unix.RawSyscall6(unix.SYS_SENDTO, uintptr(sockets[i]), uintptr(unsafe.Pointer(&requests[0])), uintptr(len(requests)),
			unix.MSG_NOSIGNAL, 0, 0)
	}
	for i := range sockets {
		send(i)
	}
	var events [256]unix.EpollEvent
	for end := time.Now().Add(duration); time.Now().Before(end); {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(poll), uintptr(unsafe.Pointer(&events[0])),
			uintptr(len(events)), 2, 0, 0)
		if errno != 0 {
			continue
		}
		for _, e := range events[:n] {
			i := int(e.Fd)
			got, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(sockets[i]), uintptr(unsafe.Pointer(&buffer[0])),
				uintptr(len(buffer)), 0, 0, 0)
			if errno == unix.EAGAIN {
				continue
			}
			if errno != 0 || got == 0 {
				return 0, fmt.Errorf("a connection was lost: %v", errno)
			}
			if missing[i] -= int(got); missing[i] <= 0 {
				done += uint64(pipeline)
				send(i)
			}
		}
	}
	return done, nil
}

// encoder returns a function that appends a request containing the number n.
func encoder(kind, where string) (func(dst []byte, n int) []byte, error) {
	switch kind {
	case "redis":
		return func(dst []byte, n int) []byte {
			var room [20]byte
			digits := strconv.AppendInt(room[:0], int64(n), 10)
			dst = append(dst, "*2\r\n$3\r\nGET\r\n$"...)
			dst = strconv.AppendInt(dst, int64(len(digits)+len("key:")), 10)
			return append(append(append(dst, "\r\nkey:"...), digits...), "\r\n"...)
		}, nil
	case "http":
		return func(dst []byte, _ int) []byte {
			return append(append(append(dst, "GET / HTTP/1.1\r\nHost: "...), where...), "\r\n\r\n"...)
		}, nil
	case "pg":
		return func(dst []byte, n int) []byte {
			dst = append(dst, "B\x00\x00\x00\x19\x00s\x00\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04"...)
			dst = binary.BigEndian.AppendUint32(dst, uint32(n))
			return append(dst, "\x00\x01\x00\x01E\x00\x00\x00\x09\x00\x00\x00\x00\x00S\x00\x00\x00\x04"...)
		}, nil
	}
	return nil, fmt.Errorf("unknown kind %q: there are pg, redis and http", kind)
}

// connect returns a non-blocking socket that is ready for requests.
func connect(kind, where string) (fd int, err error) {
	var c net.Conn
	if kind == "pg" {
		pg, err := pgconn.Connect(context.Background(), where)
		if err != nil {
			return 0, err
		}
		if _, err := pg.Prepare(context.Background(), "s", statement, nil); err != nil {
			return 0, err
		}
		hijacked, err := pg.Hijack()
		if err != nil {
			return 0, err
		}
		c = hijacked.Conn
	} else if c, err = net.Dial("tcp", where); err != nil {
		return 0, err
	}
	file, err := c.(*net.TCPConn).File()
	if err != nil {
		return 0, err
	}
	if fd, err = unix.Dup(int(file.Fd())); err != nil {
		return 0, err
	}
	file.Close()
	c.Close()
	return fd, unix.SetNonblock(fd, true)
}

// measure sends one request and returns the length of its answer: the bytes that have arrived after 50 ms.
func measure(fd int, request, buffer []byte) (size int, err error) {
	if _, err := unix.Write(fd, request); err != nil {
		return 0, err
	}
	time.Sleep(50 * time.Millisecond)
	if size, err = unix.Read(fd, buffer); err != nil || size == 0 {
		return 0, fmt.Errorf("no answer within 50 ms: %v", err)
	}
	return size, nil
}
