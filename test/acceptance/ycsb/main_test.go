// Package ycsb_test tests brunt in the way that YCSB and go-ycsb are used, against real servers.
package ycsb_test

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// Tests that run in parallel with others mostly wait.
	if err := flag.Set("test.parallel", "2"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
