package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A checkpoint belongs to one load at a time, and one in which nothing was loaded is removed.
func TestCheckpointsBelongToOneLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.load")
	release, err := holdCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holdCheckpoint(path); err == nil || !strings.Contains(err.Error(), path+" in use; wait") {
		t.Errorf("a second load: %v", err)
	}
	if release(); exists(path) {
		t.Error("an empty checkpoint is left")
	}
	if release, err = holdCheckpoint(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if release(); !exists(path) {
		t.Error("a load that isn't finished lost its checkpoint")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
