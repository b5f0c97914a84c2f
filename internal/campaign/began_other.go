//go:build !linux

package campaign

func beganAt(int) string { return "" }
