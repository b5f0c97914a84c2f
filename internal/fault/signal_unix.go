//go:build unix

package fault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// detach gives a command a session of its own, so that a terminal's signals don't reach it.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// grouped gives a command a process group of its own, all of which ends with it.
func grouped(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// signalOf is the signal of a name such as SIGHUP.
func signalOf(name string) (os.Signal, error) {
	if s := unix.SignalNum(name); s != 0 {
		return s, nil
	}
	return nil, fmt.Errorf("there is no signal %s", name)
}

func stopSignal() os.Signal     { return syscall.SIGSTOP }
func continueSignal() os.Signal { return syscall.SIGCONT }
func killSignal() os.Signal     { return syscall.SIGKILL }

// allowed reports why a process can't be sent signals.
func allowed(p Process) error {
	if err := syscall.Kill(p.PID, 0); err != nil {
		return fmt.Errorf("process %s can't be sent signals: %w; run brunt as its user, or as root", p, err)
	}
	return nil
}

// send sends a signal to a process, unless it has ended. The process is held by its file descriptor where the system
// has them (pidfd_open(2)), so that none that gets its number meanwhile is hit.
func send(p Process, s os.Signal) error {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return errEnded
	}
	defer func() { _ = handle.Release() }()
	now, _, err := lookUp(p.PID)
	if err != nil || now.Started != p.Started {
		return errEnded
	}
	switch err := handle.Signal(s); {
	case errors.Is(err, os.ErrProcessDone), errors.Is(err, syscall.ESRCH):
		return errEnded
	case err != nil:
		return fmt.Errorf("process %s: %w", p, err)
	}
	return nil
}
