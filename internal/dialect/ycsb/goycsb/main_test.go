// Package goycsb_test tests brunt in the way that YCSB and go-ycsb are used, against real servers.
package goycsb_test

import (
	"testing"

	"brunt/test/shell"
)

func TestMain(m *testing.M) { shell.Main(m, 2) }
