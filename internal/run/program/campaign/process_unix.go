//go:build unix

package campaign

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command its own process group, so that the processes that it starts end with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// end asks a process group to end, or kills it.
func end(pid int, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, signal)
}

// shell is the script that delays a command until it is released.
const shell = "/bin/sh"

// startHeld starts a process that becomes the command only after known has been called with its PID and has returned
// nil. If this program is killed before, the process ends without having done anything.
func startHeld(cmd *exec.Cmd, known func(pid int) error) error {
	if _, err := os.Stat(shell); cmd.Err != nil || err != nil {
		return startAtOnce(cmd, known)
	}
	gate, opener, err := os.Pipe()
	if err != nil {
		return err
	}
	defer opener.Close()
	defer gate.Close()
	cmd.ExtraFiles = []*os.File{gate} // 3
	cmd.Args = append([]string{"sh", "-c", `read -r go <&3 && exec "$@" 3<&-`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = shell
	if err := startAtOnce(cmd, known); err != nil {
		return err
	}
	_, _ = opener.WriteString("go\n") // fails if the process has ended already, which Wait reports
	return nil
}
