package testserver

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// witness is a TB that keeps what it is told.
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
