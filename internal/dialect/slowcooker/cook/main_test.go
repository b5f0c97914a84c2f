// Package cook_test tests brunt in the way that slow_cooker is used, against real servers.
package cook_test

import (
	"testing"

	"brunt/test/shell"
)

func TestMain(m *testing.M) { shell.Main(m, 6, "slow_cooker") }
