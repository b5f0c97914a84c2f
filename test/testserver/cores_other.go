//go:build !linux

package testserver

import "errors"

// Cores returns an error: it needs Linux.
func Cores() ([]int, error) {
	return nil, errors.New("asking which cores there are needs Linux")
}

// Pin returns an error: it needs Linux.
func Pin(int, []int) error { return errors.New("pinning processes to cores needs Linux") }
