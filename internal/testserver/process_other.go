//go:build !linux

package testserver

import "syscall"

func attributes(cred *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}

// Descendants lists the processes below pid; none where there is no /proc.
func Descendants(int) []int { return nil }

func standsStill(int) bool { return true }
