package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Put writes a text to a file.
func Put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// File writes a text to a file with the given name, in a folder of the test's, and returns its path.
func File(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	Put(t, path, text)
	return path
}

// Plan writes a plan's file and returns its path.
func Plan(t *testing.T, text string) (path string) {
	t.Helper()
	return File(t, "plan.yml", text)
}

// List writes a file of lines and returns its path.
func List(t *testing.T, lines ...string) (path string) {
	t.Helper()
	return File(t, "list", strings.Join(lines, "\n")+"\n")
}
