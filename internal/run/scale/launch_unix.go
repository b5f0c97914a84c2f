//go:build unix

package scale

import (
	"os/exec"
	"syscall"
)

// apart puts a process into a process group of its own, so that an interrupt at the terminal doesn't reach it. The
// coordinator receives the interrupt and tells all workers.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
