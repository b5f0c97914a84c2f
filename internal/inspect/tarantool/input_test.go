package tarantool

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"brunt/internal/inspect/inspecttest"
	"brunt/test/testserver"
)

// A user without rights learns in one line what to grant, and that line works.
func TestUserWithoutRights(t *testing.T) {
	s := shared(t)
	without := fmt.Sprintf("tarantool://nobody:n0body-secret@%s", s.Addr)
	i, err := New(without)
	if err != nil {
		t.Fatal(err)
	}
	i.ProfileFunctions()
	in := inspecttest.Run(t, i, func(i *Inspector) { inspecttest.Sample(t, i, 3) })
	if len(in.Missing) != 2 || !strings.Contains(in.Missing[1].Remedy.String(), "'execute', 'universe'") {
		t.Fatalf("%+v", in.Missing)
	}
	if in.Activity.Samples != 3 || in.RoundTripNs <= 0 {
		t.Errorf("the loop's lag isn't known: %+v", in.Activity)
	}
	grant := strings.TrimPrefix(in.Missing[0].Remedy.String(), "as admin: ")
	admin := client(t, s)
	do(t, admin, 1, "box.session.su('admin', function() "+grant+" end)")
	if in = inspected(t, without, func(*Inspector) {}); len(in.Missing) != 0 {
		t.Errorf("after %s: %+v", grant, in.Missing)
	}
}

func TestServerThatIsntThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := shared(t)
	for _, row := range []struct{ url, want string }{
		{"tarantool://u:s3cretword@" + addr, "connect"},
		{fmt.Sprintf("tarantool://watch:s3cretword@%s", s.Addr), "watch"},
	} {
		i, err := New(row.url)
		if err != nil {
			t.Fatal(err)
		}
		err = i.Begin(context.Background())
		i.Close()
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "s3cretword") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	}
	if _, err := New("tarantool://u:s3cretword@:x"); err == nil || strings.Contains(err.Error(), "s3cretword") {
		t.Error(err)
	}
}

func TestRestartDuringLoad(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(program))
	in := inspected(t, url(s), func(i *Inspector) {
		do(t, client(t, s), 30, "return get(1)")
		s.Restart()
		do(t, client(t, s), 7, "return get(1)")
		_ = i.Sample(context.Background(), 0) // may notice that the connection is lost
		inspecttest.Sample(t, i, 2)
	})
	if len(in.Missing) != 1 || !strings.Contains(in.Missing[0].Text.String(), "started again") {
		t.Errorf("%+v", in.Missing)
	}
	for _, c := range in.Windows[0].Counters {
		for name, x := range c.Values {
			if x < 0 {
				t.Errorf("%s %s: %v", c.Name, name, x)
			}
		}
	}
}
