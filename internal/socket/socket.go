// Package socket opens TCP connections and says for people why it couldn't.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// Network is "unix" for an address that is a path, of a socket in the file system, else "tcp".
func Network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// Dial opens a plain connection to host:port or to a socket's path. ctx bounds it. The error says
// where and what to do, in one line.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, Network(address), address)
	if err != nil {
		return nil, Explain(ctx, address, err)
	}
	return c, nil
}

// Reach makes sure that something takes connections at an address; see Dial.
func Reach(ctx context.Context, address string) error {
	c, err := Dial(ctx, address)
	if err == nil {
		c.Close()
	}
	return err
}

// Explain says why a connection to an address could not be made.
func Explain(ctx context.Context, address string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("can't connect to %s: %w; is the server running there?", address, syscall.ECONNREFUSED)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("can't connect to %s: no answer in time; is the server up and reachable?", address)
	case errors.Is(err, fs.ErrNotExist) && Network(address) == "unix":
		return fmt.Errorf("can't connect to %s: there is no such socket; is the server running, and configured to make it?", address)
	case errors.As(err, &dns):
		return fmt.Errorf("can't connect to %s: the name can't be resolved; check the address", address)
	}
	return fmt.Errorf("can't connect to %s: %w", address, err)
}
