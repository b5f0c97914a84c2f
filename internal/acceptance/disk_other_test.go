//go:build !linux

package acceptance_test

import (
	"fmt"
	"os"
)

// Processes with file systems of their own need Linux's namespaces; so do the tests that use them.

func onSmallDisk([]string) int { return noNamespaces() }

func onReadOnlyDisk([]string) int { return noNamespaces() }

func noNamespaces() int {
	fmt.Fprintln(os.Stderr, "mount: this system has no namespaces")
	return 2
}
