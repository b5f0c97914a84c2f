//go:build !linux

package main

import "errors"

func allowedCores() ([]int, error) {
	return nil, errors.New("these measurements pin processes to cores, which needs Linux")
}

func pin(int, []int) error { return errors.New("pinning processes to cores needs Linux") }
