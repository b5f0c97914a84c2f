//go:build unix

package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// detach starts a command in a new session, so that signals of the terminal don't reach it.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// gate makes a shell wait for a line on descriptor 3 before it becomes the command: if this process dies before that,
// the shell ends.
const gate = `read -r go <&3 || exit 125; exec 3<&-; unset go; exec sh -c "$1"`

// runMarked runs a command in a new process group, with a mark in its environment.
func runMarked(ctx context.Context, line string, out *os.File, tell commands) error {
	open, gated, err := os.Pipe()
	if err != nil {
		return err
	}
	defer gated.Close()
	r := &running{Mark: newMark()}
	c := exec.CommandContext(ctx, "sh", "-c", gate, "sh", line)
	c.Stdout, c.Stderr, c.ExtraFiles, c.Env = out, out, []*os.File{open}, environment(r.Mark)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		r.end()
		return nil
	}
	err = c.Start()
	_ = open.Close()
	if err != nil {
		return err
	}
	if r.Process, _, err = lookUp(c.Process.Pid); err != nil { // not on Linux
		r.Process = Process{PID: c.Process.Pid}
	}
	if tell.begun != nil {
		tell.begun(r)
	}
	_, _ = gated.WriteString("go\n") // if it can't be written, the shell has ended
	err = c.Wait()
	if tell.ended != nil {
		tell.ended(r)
	}
	return err
}

// kill sends SIGKILL to all processes of a command. It reports whether there were any.
func (r *running) kill() bool {
	found := false
	if now, _, err := lookUp(r.Process.PID); err != nil || now.Started == r.Process.Started || r.Process.Started == 0 {
		found = syscall.Kill(-r.Process.PID, syscall.SIGKILL) == nil // the group can outlive its first process
	}
	for _, p := range r.marked() {
		found = send(p, syscall.SIGKILL) == nil || found
	}
	return found
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
