//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsHeldOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, held, err := Hold(path)
	if err != nil || held {
		t.Fatalf("the first: held %v, %v", held, err)
	}
	if _, held, err := Hold(path); err != nil || !held {
		t.Errorf("the second: held %v, %v", held, err)
	}
	if !Claimed(path) {
		t.Error("nobody seems to use it")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, held, err := Hold(path)
	if err != nil || held {
		t.Fatalf("once it is free: held %v, %v", held, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAClaimedFileIsInUse(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if Claimed(f.Name()) {
		t.Error("a file that is open is taken for claimed")
	}
	Claim(f)
	if !Claimed(f.Name()) {
		t.Error("a claimed file seems to be free")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if Claimed(f.Name()) {
		t.Error("a file that is closed seems to be in use")
	}
}
