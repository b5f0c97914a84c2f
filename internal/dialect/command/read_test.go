package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(path); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadFile(path + "2"); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.Truncate(path, mostRead<<20+1); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(path); text != nil || err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
