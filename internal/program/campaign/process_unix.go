//go:build unix

package campaign

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group, so that what it starts ends with it.
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

// shell holds commands back.
const shell = "/bin/sh"

// startHeld starts a command as a process that waits until known, which is told of it, has returned nil; only then
// it becomes the command. If this program is killed before, that process ends without having done anything.
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
	_, _ = opener.WriteString("go\n") // unless it has been ended in the meantime, which Wait tells
	return nil
}
