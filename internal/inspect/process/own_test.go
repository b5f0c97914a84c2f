package process

import (
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
