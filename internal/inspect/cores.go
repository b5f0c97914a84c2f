package inspect

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
)

// CoresOf returns the number of cores of the server at an address, with or without a port, or 0 if it doesn't run on
// this machine.
func CoresOf(address string) int {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if a, err := netip.ParseAddr(host); strings.HasPrefix(host, "/") || host == "localhost" || err == nil &&
		a.IsLoopback() {
		return runtime.NumCPU()
	}
	return 0
}
