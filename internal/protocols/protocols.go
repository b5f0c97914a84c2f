// Package protocols is the list of the protocols that brunt speaks. It is the only package that
// imports all drivers.
package protocols

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/driver"
)

// entry is a protocol: the names that plans and flags may call it by, the first being its own.
type entry struct {
	names []string
	open  func() driver.Driver
	// port completes an address without one; "" where addresses aren't host:port.
	port string
}

// Find returns the driver of a protocol and its own name, or an error that lists the names there
// are.
func Find(name string) (d driver.Driver, canonical string, err error) {
	for _, e := range entries() {
		if slices.Contains(e.names, strings.ToLower(name)) {
			return e.open(), e.names[0], nil
		}
	}
	return nil, "", fmt.Errorf("unknown protocol %q; brunt speaks %s", name, strings.Join(Names(), ", "))
}

// Names are the protocols' own names.
func Names() []string {
	var out []string
	for _, e := range entries() {
		out = append(out, e.names[0])
	}
	return out
}

// Port is the protocol's usual port, or "" where addresses aren't host:port.
func Port(name string) string {
	for _, e := range entries() {
		if slices.Contains(e.names, strings.ToLower(name)) {
			return e.port
		}
	}
	return ""
}

// Embedded reports whether the protocol's server runs inside brunt, so that its address is a
// file's path.
func Embedded(name string) bool {
	_, canonical, err := Find(name)
	return err == nil && slices.Contains([]string{"sqlite", "bbolt", "badger", "pebble"}, canonical)
}
