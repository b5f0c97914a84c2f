//go:build !unix

package scale

import "os/exec"

// apart does nothing, because this system has no process groups.
func apart(*exec.Cmd) {}
