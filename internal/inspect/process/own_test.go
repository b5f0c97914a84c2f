package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Own sessions are told by the addresses that the server has of them, in all ways that servers write them. Sockets
// aren't looked for again until a client comes, and not at once.
func TestOwnSessionsAreTold(t *testing.T) {
	proc := tree(t, map[string]string{"300/net/tcp": peersText})
	if err := os.MkdirAll(filepath.Join(proc, "300/fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("socket:[10]", filepath.Join(proc, "300/fd/7")); err != nil {
		t.Fatal(err)
	}
	o := NewOwn("127.0.0.1:3301")
	o.proc, o.self = proc, 300
	clients := []string{"127.0.0.1:50000", "127.0.0.1:50001", "localhost:50000", "localhost:50001", "10.0.0.8:50000",
		"localhost", "", "::1:50000", "[::ffff:127.0.0.1]:50000"}
	want := []bool{true, false, true, false, false, false, false, false, true}
	for range 2 {
		if got := o.Among(clients); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if err := os.Symlink("socket:[20]", filepath.Join(proc, "300/fd/8")); err != nil {
		t.Fatal(err)
	}
	o.next = time.Now().Add(time.Hour)
	for _, known := range []bool{false, true} {
		got := o.Among([]string{"127.0.0.1:50000", "[::ffff:127.0.0.1]:50001"})
		if !got[0] || got[1] != known {
			t.Errorf("a client that has just come: %v, looked for: %v", got, known)
		}
		o.next = time.Time{}
	}
	other := NewOwn("127.0.0.1:3302")
	other.proc, other.self = proc, 300
	if got := other.Among(clients[:1]); got[0] {
		t.Error("a session with another server is taken for one with this one")
	}
}

// Sessions of workers are the load's, and those of other programs that this process has started aren't, such as those
// of a campaign's service.
func TestSessionsOfWorkersAreOwn(t *testing.T) {
	proc := tree(t, map[string]string{"300/net/tcp": peersText, "300/task/300/children": "301 302 "})
	for path, target := range map[string]string{"300/exe": "/bin/brunt", "301/exe": "/bin/brunt", "302/exe": "/bin/shop",
		"300/fd/3": "socket:[10]", "301/fd/3": "socket:[20]", "302/fd/3": "socket:[30]"} {
		at := filepath.Join(proc, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at)); err != nil {
			t.Fatal(err)
		}
	}
	o := NewOwn("127.0.0.1:3301")
	o.proc, o.self = proc, 300
	got := o.Among([]string{"127.0.0.1:50000", "127.0.0.1:50001", "127.0.0.1:50002"})
	if !slices.Equal(got, []bool{true, true, false}) {
		t.Errorf("%v", got)
	}
}
