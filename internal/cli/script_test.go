package cli_test

import (
	"testing"

	"brunt/test/shell"
)

func TestMain(m *testing.M) { shell.MainWith(m, 6, ownProtocols, "slow_cooker", "k6", "picostress") }

func TestScripts(t *testing.T) { shell.Scripts(t, "testdata") }
