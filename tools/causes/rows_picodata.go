//go:build linux

package main

func picodataRows() []row { return nil }
