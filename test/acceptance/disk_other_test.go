//go:build !linux

package acceptance_test

import (
	"fmt"
	"os"
)

// A process can have its own file system only with Linux's namespaces, so the tests that use one need Linux.

func onSmallDisk([]string) int { return noNamespaces() }

func onReadOnlyDisk([]string) int { return noNamespaces() }

func noNamespaces() int {
	fmt.Fprintln(os.Stderr, "mount: this system has no namespaces")
	return 2
}
