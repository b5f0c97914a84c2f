package testserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// The ports lie below the range from which Linux takes the local ports of outgoing connections, so that a server that
// is down for a while finds its port free when it is restarted.
const (
	portFirst = 20000
	portLast  = 32000
	loopback  = "127.0.0.1"
)

// reservation reserves a port against other test processes until it is released or the process ends.
type reservation struct {
	port int
	lock *os.File
}

// Address returns a free address for a server that the test itself starts. It is reserved until the test ends.
func Address(t TB) string {
	t.Helper()
	r, err := reservePort()
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(r.release)
	return fmt.Sprintf("%s:%d", loopback, r.port)
}

func (r *reservation) release() { r.lock.Close() }

// reservePort finds a port on which nothing listens and that no other process has reserved. The reservation is a lock
// on a file in a folder of the system's temporary directory. The kernel releases it when the process ends, even after a
// crash.
func reservePort() (*reservation, error) {
	dir := filepath.Join(os.TempDir(), "brunt-test-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	os.Chmod(dir, 0o777|os.ModeSticky) // fails if another user owns the folder, which then has this mode already
	for range 1000 {
		port := portFirst + rand.IntN(portLast-portFirst)
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(port)), os.O_CREATE|os.O_RDONLY, 0o666)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !free(port) {
			f.Close()
			continue
		}
		return &reservation{port, f}, nil
	}
	return nil, fmt.Errorf("reserve a port: none free between %d and %d", portFirst, portLast)
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
