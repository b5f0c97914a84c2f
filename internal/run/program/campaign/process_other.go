//go:build !unix

package campaign

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func startHeld(cmd *exec.Cmd, known func(pid int) error) error { return startAtOnce(cmd, known) }

func end(pid int, _ bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
