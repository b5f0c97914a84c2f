//go:build !unix

package campaign

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func end(pid int, _ bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
