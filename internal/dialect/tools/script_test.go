package tools_test

import (
	"path/filepath"
	"testing"

	"brunt/test/shell"
)

func TestMain(m *testing.M) { shell.Main(m, 6, "slow_cooker", "k6", "picostress") }

// The scripts of all tools are run here, so that the folder of a tool needs no test binary with the whole of brunt for
// them. TestScripts/k6 runs those of k6.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("../*/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, file := range files {
		folders[filepath.Dir(file)] = true
	}
	for folder := range folders {
		t.Run(filepath.Base(filepath.Dir(folder)), func(t *testing.T) { shell.Scripts(t, folder) })
	}
}
