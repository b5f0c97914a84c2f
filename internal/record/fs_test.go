package record

import (
	"os"
	"path/filepath"
	"testing"
)

// A private file is its owner's before its first byte, also where another one was that all could read.
func TestPrivateFilesAreNeverReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	private := func(path string) {
		t.Helper()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	f, err := Private{}.Create(path + "2")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	private(path + "2")
	if err := ReplaceFile(Private{}, path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	private(path)
}
