//go:build unix

package campaign

import (
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
