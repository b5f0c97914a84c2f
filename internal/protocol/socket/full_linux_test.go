package socket

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Unix socket whose server has a full queue of connections is waited for, as with TCP.
func TestAFullQueueOfAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for { // until the queue is full
		c, err := net.Dial("unix", path)
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Dial(short, path); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("nobody accepts: %v", err)
	}
	dialled := make(chan error)
	go func() {
		c, err := Dial(t.Context(), path)
		if err == nil {
			c.Close()
		}
		dialled <- err
	}()
	if accepted, _, err := unix.Accept(fd); err != nil {
		t.Fatal(err)
	} else {
		defer unix.Close(accepted)
	}
	if err := <-dialled; err != nil {
		t.Error(err)
	}
}
