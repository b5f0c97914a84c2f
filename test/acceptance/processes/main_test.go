// Package processes_test tests brunt where it is more than one process: workers and their coordinator, processes that
// are killed, interrupted or stopped, and those that brunt starts to heal faults and to keep cores awake.
package processes_test

import (
	"testing"

	"brunt/test/shell"
)

func TestMain(m *testing.M) { shell.Main(m, 6, "slow_cooker", "k6", "picostress") }
