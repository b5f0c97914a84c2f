//go:build !linux

package main

import "errors"

func takeCore(int, bool, int) error { return errors.New("burning a core needs Linux") }

func mayHurry() bool { return false }
