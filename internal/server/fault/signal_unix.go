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

// detach starts a command in a new session, so that signals of the terminal don't reach it.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// grouped starts a command in a new process group. When the command is cancelled, the whole group is killed.
func grouped(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// signalOf returns the signal with a name such as SIGHUP.
func signalOf(name string) (os.Signal, error) {
	if s := unix.SignalNum(name); s != 0 {
		return s, nil
	}
	return nil, fmt.Errorf("there is no signal %s", name)
}

func stopSignal() os.Signal     { return syscall.SIGSTOP }
func continueSignal() os.Signal { return syscall.SIGCONT }
func killSignal() os.Signal     { return syscall.SIGKILL }

// allowed returns an error if this program may not send signals to a process.
func allowed(p Process) error {
	if err := syscall.Kill(p.PID, 0); err != nil {
		return fmt.Errorf("process %s can't be sent signals: %w; run brunt as its user, or as root", p, err)
	}
	return nil
}

// send sends a signal to a process, or returns errEnded if it has ended. Where the system has pidfd_open(2), it
// holds the process by a file descriptor, so that the signal can't hit a later process with the same PID.
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
