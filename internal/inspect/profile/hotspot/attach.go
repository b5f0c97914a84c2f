// Package hotspot records what the methods of a running JVM do, with the Flight Recorder in it. It needs no JDK: it
// speaks to the JVM as jcmd does (HotSpot's attachListener_posix.cpp), over a Unix socket that the JVM opens when it
// is asked to by a file and SIGQUIT. The JVM may be in a container; what it reads and writes is reached through /proc.
package hotspot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	procFolder  = "/proc"
	temporary   = "tmp" // HotSpot's folder of sockets, wherever java.io.tmpdir is
	mostWait    = 10 * time.Second
	mostAnswer  = 1 << 20 // bytes, of the answer to a command
	interpreter = "libjvm.so"
	openJ9      = "libj9vm"
)

// JVM is a running JVM.
type JVM struct {
	pid   int           // on this machine
	inner int           // in the JVM's own namespace
	owner [2]int        // user and group
	tmp   *os.Root      // its /tmp
	wait  time.Duration // for the answer to a command
}

// Open returns the JVM that is the process with a PID. It only reads about the process. Its errors say what to do.
func Open(pid int) (*JVM, error) {
	folder := filepath.Join(procFolder, strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no process %d on this machine", pid)
	}
	if err != nil {
		return nil, err
	}
	j := &JVM{pid: pid, inner: pid, wait: mostWait}
	var caught uint64
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		f := strings.Fields(value)
		switch {
		case len(f) == 0:
		case name == "NSpid":
			j.inner, err = strconv.Atoi(f[len(f)-1])
		case name == "Uid" && len(f) > 1: // real, effective
			j.owner[0], err = strconv.Atoi(f[1])
		case name == "Gid" && len(f) > 1:
			j.owner[1], err = strconv.Atoi(f[1])
		case name == "SigCgt":
			caught, err = strconv.ParseUint(f[0], 16, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("/proc/%d/status: %w", pid, err)
		}
	}
	maps, err := os.ReadFile(filepath.Join(folder, "maps"))
	if err != nil || os.Geteuid() != 0 && os.Geteuid() != j.owner[0] {
		return nil, fmt.Errorf("process %d belongs to the user %d: run brunt as that user or as root", pid, j.owner[0])
	}
	switch {
	case bytes.Contains(maps, []byte(openJ9)):
		return nil, fmt.Errorf("process %d is a JVM of OpenJ9, which brunt can't record; run the service on HotSpot (OpenJDK)", pid)
	case !bytes.Contains(maps, []byte(interpreter)):
		return nil, fmt.Errorf("process %d isn't a JVM; a Go program is profiled by profile:URL, where it serves net/http/pprof",
			pid)
	case caught&(1<<(syscall.SIGQUIT-1)) == 0: // it would end the process
		return nil, fmt.Errorf("the JVM %d doesn't handle SIGQUIT, by which it is asked; start it without -Xrs", pid)
	}
	if j.tmp, err = os.OpenRoot(filepath.Join(folder, "root", temporary)); err != nil {
		return nil, fmt.Errorf("the JVM %d: its /tmp can't be reached: %w", pid, err)
	}
	return j, nil
}

// Close gives up what was opened. A recording under way isn't stopped.
func (j *JVM) Close() { _ = j.tmp.Close() }

// dial connects to the JVM's socket.
func (j *JVM) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(j.tmp.Name(), fmt.Sprintf(".java_pid%d", j.inner)))
}

// connect asks the JVM to open its socket, if it hasn't yet, and connects to it.
func (j *JVM) connect(ctx context.Context) (net.Conn, error) {
	if c, err := j.dial(ctx); err == nil {
		return c, nil
	}
	name := fmt.Sprintf(".attach_pid%d", j.inner)
	f, err := j.tmp.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case err == nil:
		_ = f.Close()
		defer j.tmp.Remove(name)
		if os.Geteuid() == 0 {
			_ = j.tmp.Lchown(name, j.owner[0], j.owner[1])
		}
	case !errors.Is(err, fs.ErrExist): // one that another program has left is as good
		return nil, fmt.Errorf("the JVM %d: /tmp/%s can't be made: %w", j.pid, name, err)
	}
	p, err := os.FindProcess(j.pid)
	if err == nil {
		err = p.Signal(syscall.SIGQUIT)
	}
	if err != nil {
		return nil, fmt.Errorf("the JVM %d: %w", j.pid, err)
	}
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the JVM %d doesn't answer; start it without -XX:+DisableAttachMechanism, and if another "+
				"user has left /tmp/%s, remove it", j.pid, name)
		case <-time.After(wait):
		}
		if c, err := j.dial(ctx); err == nil {
			return c, nil
		}
	}
}

// command has the JVM execute a command of jcmd, and returns what it answers. It waits as long as ctx allows, or, if
// that says nothing, as long as is usual.
func (j *JVM) command(ctx context.Context, text string) (string, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.wait)
		defer cancel()
	}
	c, err := j.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline)
	}
	// The protocol's version, an operation and its three arguments, each ended by a zero.
	_, err = io.WriteString(c, "1\x00jcmd\x00"+text+"\x00\x00\x00")
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(c, mostAnswer))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", fmt.Errorf("the JVM %d doesn't answer; is it stopped, or out of memory?", j.pid)
	case err != nil:
		return "", fmt.Errorf("the JVM %d: %w", j.pid, err)
	}
	code, rest, _ := strings.Cut(string(answer), "\n")
	if code != "0" {
		return "", j.refusal(text, rest)
	}
	return rest, nil
}

// refusal returns the error of a command that the JVM hasn't executed, with the first line of what it says.
func (j *JVM) refusal(text, answer string) error {
	for line := range strings.Lines(answer) {
		if line = strings.TrimSpace(line); line != "" {
			answer = line
			break
		}
	}
	answer = strings.TrimSpace(answer)
	verb, _, _ := strings.Cut(text, " ")
	switch {
	case strings.Contains(answer, "Recorder is disabled"):
		answer += " Start it without -XX:-FlightRecorder"
	case strings.Contains(answer, "Unknown diagnostic command"), strings.Contains(answer, "jdk.jfr not found"):
		answer = "it has no Flight Recorder; add the module jdk.jfr to its runtime"
	}
	return fmt.Errorf("the JVM %d refuses %s: %s", j.pid, verb, answer)
}
