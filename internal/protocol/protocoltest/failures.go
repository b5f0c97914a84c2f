package protocoltest

import (
	"net"
	"slices"
	"strings"
	"time"

	"brunt/internal/protocol"
)

// Refusal is a target that Dial must refuse: the class of the error, and a part of its text.
type Refusal struct {
	Target protocol.Target
	Class  protocol.Class
	Want   string
}

// Refusals checks that Dial refuses targets, and an address that accepts connections but doesn't answer, and one at
// which nothing listens. No error may contain a target's password. login has the user and password for these addresses.
func Refusals(t errorTB, d protocol.Driver, login protocol.Target, all ...Refusal) {
	t.Helper()
	silent, closed := listen(t), listen(t)
	closed.Close()
	login.Address, login.ConnectTimeout = silent.Addr().String(), 300*time.Millisecond
	all = append(all, Refusal{login, protocol.Connect, "no answer in time"})
	login.Address, login.ConnectTimeout = closed.Addr().String(), 0
	all = append(all, Refusal{login, protocol.Connect, "connection refused; is the server running there?"})
	p := NewRecords("t", Abilities{})
	for _, c := range all {
		_, err := d.Dial(Within(t, time.Minute), c.Target, &p.Program)
		if e := protocol.AsError(err); e == nil || e.Class != c.Class || !strings.Contains(e.Text, c.Want) ||
			c.Target.Password != "" && strings.Contains(e.Text, c.Target.Password) {
			t.Errorf("%q: got %+v", c.Want, e)
		}
	}
}

func listen(t errorTB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Server is a server process.
type Server interface {
	Pause()
	Resume()
	Kill()
}

// Dies checks what becomes of insertions under way when the server is stopped or killed, and of those after that, whose
// class must be one of down. dial opens a session.
func Dies(t errorTB, s Server, p *Records, dial func() protocol.Conn, down ...protocol.Class) {
	t.Helper()
	c := dial()
	p.Insert(t, c, "k")
	s.Pause()
	var reply protocol.Reply
	c.Do(Within(t, 200*time.Millisecond), &p.Program.Requests[insert], Values("k", "a", "b"), &reply)
	s.Resume()
	if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
		t.Errorf("while paused: %+v", reply.Failure)
	}
	c = dial()
	p.Insert(t, c, "k")
	s.Pause()
	done := make(chan protocol.Reply)
	go func() { done <- p.Insert(t, c, "k") }()
	time.Sleep(50 * time.Millisecond) // for the request to be under way
	s.Kill()
	if r := <-done; r.Class != protocol.UnknownOutcome || !r.Fatal {
		t.Errorf("killed: %+v", r.Failure)
	}
	if r := p.Insert(t, c, "k"); !slices.Contains(down, r.Class) || !r.Fatal {
		t.Errorf("while it is down: %+v", r.Failure)
	}
}
