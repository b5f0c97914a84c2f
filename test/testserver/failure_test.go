package testserver

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// witness is a TB that stores the message of Fatal.
type witness struct{ fatal string }

func (w *witness) Helper()             {}
func (w *witness) Logf(string, ...any) {}
func (w *witness) Cleanup(func())      {}
func (w *witness) Fatalf(format string, args ...any) {
	w.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestMissingProgramNamesTheCommand(t *testing.T) {
	var w witness
	done := make(chan struct{})
	go func() {
		defer close(done)
		binary(&w, "no-such-server", "no-such-package")
	}()
	<-done
	if !strings.HasSuffix(w.fatal, "run: apt-get install -y no-such-package") {
		t.Fatalf("got %q", w.fatal)
	}
}

func TestReservedPortsDiffer(t *testing.T) {
	seen := make(map[int]bool)
	for range 200 {
		r, err := reservePort()
		if err != nil {
			t.Fatal(err)
		}
		defer r.release()
		if seen[r.port] {
			t.Fatalf("port %d was given out twice", r.port)
		}
		if r.port < portFirst || r.port >= portLast {
			t.Fatalf("port %d is outside the range", r.port)
		}
		seen[r.port] = true
	}
}

// If a repository lacks a file, or has a damaged one, the test fails with the command that repairs it.
func TestFilesOfMavenAreChecked(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	list, err := mavenFiles.ReadFile("maven/postgres.files")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	place := func(name string) string { return filepath.Join(home, ".m2", "repository", name) }
	archive := func(t *testing.T, name string) {
		t.Helper()
		var whole bytes.Buffer
		z := zip.NewWriter(&whole)
		if err := errors.Join(os.MkdirAll(filepath.Dir(place(name)), 0o755), z.Close(),
			os.WriteFile(place(name), whole.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		archive(t, name)
	}
	last := names[len(names)-1]
	for what, spoil := range map[string]func() error{
		"missing":  func() error { return os.Remove(place(last)) },
		"cut off":  func() error { return os.Truncate(place(last), 7) },
		"complete": func() error { return nil },
	} {
		t.Run(what, func(t *testing.T) {
			archive(t, last)
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			files, err := artifacts("postgres")
			if what == "complete" {
				if err != nil || len(files) != len(names) || files[0] != place(names[0]) {
					t.Errorf("%v: %q", err, files)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), place(last)) || !strings.HasSuffix(err.Error(), "run: .ci/install") {
				t.Errorf("got %v, want the file and the command", err)
			}
		})
	}
}
