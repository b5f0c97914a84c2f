//go:build !linux

package testserver

import "errors"

// Cores lists the cores that this process may use, in rising order. It needs Linux.
func Cores() ([]int, error) {
	return nil, errors.New("asking which cores there are needs Linux")
}

// Pin binds all threads of a process, and of those below it, to cores. It needs Linux.
func Pin(int, []int) error { return errors.New("pinning processes to cores needs Linux") }
