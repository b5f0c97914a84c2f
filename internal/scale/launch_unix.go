//go:build unix

package scale

import (
	"os/exec"
	"syscall"
)

// apart keeps an interrupt at the terminal from a process: its coordinator hears it and tells all workers.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
