//go:build !linux

package testserver

import "syscall"

func attributes(cred *syscall.Credential, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}

// Descendants returns nil: it needs /proc.
func Descendants(int) []int { return nil }

// Having returns nil: it needs /proc.
func Having(string) []int { return nil }

func standsStill(int) bool { return true }
