package own

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// scripted is a session that does what it was made with.
type scripted struct {
	do    func(ctx context.Context, args []gen.Value, reply *Reply)
	close func() error
}

func (s *scripted) Do(ctx context.Context, _ *protocol.Request, args []gen.Value, reply *Reply) {
	s.do(ctx, args, reply)
}

func (s *scripted) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

func driver(s *scripted) *Driver {
	return New("mine", "the code", func(context.Context, protocol.Target) (Session, error) { return s, nil }, nil)
}

func dial(t testing.TB, d *Driver) protocol.Conn {
	t.Helper()
	c, err := d.Dial(t.Context(), protocol.Target{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var request = &protocol.Request{Verb: protocol.Call, Params: []gen.Kind{gen.Int}, Capture: make([]protocol.Capture, 1)}

// soon returns a context whose time is up at once.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// A call gets the arguments, and its reply, captured values and rows are the session's.
func TestCallsAndReplies(t *testing.T) {
	c := dial(t, driver(&scripted{do: func(_ context.Context, args []gen.Value, reply *Reply) {
		reply.Rows, reply.Columns, reply.Values = 1, []string{"n"}, [][]gen.Value{{args[0]}}
		reply.Captured[0].Set(&args[0])
	}}))
	var seen []int64
	reply := protocol.Reply{Each: func(columns []string, row []gen.Value) {
		if len(columns) != 1 || columns[0] != "n" {
			t.Errorf("columns %q", columns)
		}
		seen = append(seen, row[0].I)
	}}
	for i := range int64(3) {
		reply.Reset(1)
		c.Do(t.Context(), request, []gen.Value{{Kind: gen.Int, I: i}}, &reply)
		if reply.Class != protocol.OK || reply.Rows != 1 || reply.Captured[0].I != i || reply.Each == nil {
			t.Errorf("call %d: %+v", i, reply)
		}
	}
	if len(seen) != 3 || seen[2] != 2 {
		t.Errorf("rows %v", seen)
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// A call that is left behind uses nothing of its session, which goes on at once.
func TestLeftCallsShareNothing(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	d := driver(&scripted{do: func(_ context.Context, args []gen.Value, reply *Reply) {
		if calls.Add(1) == 1 {
			<-release
			args[0].B = append(args[0].B, "late"...)
			reply.Fail(protocol.Bad("late"))
			reply.Captured[0].SetString("late")
			close(ended)
		}
	}})
	c := dial(t, d)
	args := []gen.Value{{Kind: gen.String, B: []byte("early")}}
	var reply protocol.Reply
	reply.Reset(1)
	c.Do(soon(t), request, args, &reply)
	if reply.Code != CodeLeft || !reply.Fatal || reply.Class != protocol.UnknownOutcome || d.Left() != 1 {
		t.Errorf("%+v, %d left", reply, d.Left())
	}
	if notes := d.Notes(); len(notes) != 1 || !strings.Contains(notes[0].String(), "still run") {
		t.Errorf("notes %v", notes)
	}
	reply.Reset(1)
	c.Do(t.Context(), request, args, &reply)
	close(release)
	<-ended
	if reply.Class != protocol.OK || string(args[0].B) != "early" || reply.Captured[0].Kind != gen.Null {
		t.Errorf("%+v, argument %q", reply, args[0].B)
	}
	for d.Left() > 0 {
		time.Sleep(time.Millisecond)
	}
	if d.Notes() != nil {
		t.Error("a note of calls that have ended")
	}
}

// So that a load can't fill the memory with calls that never return, further calls wait for them.
func TestLeftCallsAreLimited(t *testing.T) {
	release := make(chan struct{})
	d := driver(&scripted{do: func(context.Context, []gen.Value, *Reply) { <-release }})
	var all sync.WaitGroup
	for range mostLeft {
		all.Go(func() {
			var reply protocol.Reply
			reply.Reset(1)
			dial(t, d).Do(soon(t), request, make([]gen.Value, 1), &reply)
		})
	}
	all.Wait()
	var reply protocol.Reply
	reply.Reset(1)
	c := dial(t, d)
	c.Do(soon(t), request, make([]gen.Value, 1), &reply)
	if d.Left() != mostLeft || !reply.Unsent || reply.Class == protocol.OK || reply.Fatal {
		t.Errorf("%d left; %+v", d.Left(), reply)
	}
	close(release)
	reply.Reset(1)
	c.Do(t.Context(), request, make([]gen.Value, 1), &reply)
	if reply.Class != protocol.OK {
		t.Errorf("after they have ended: %+v", reply)
	}
}

// A session that opens too late is closed.
func TestLateSessionsAreClosed(t *testing.T) {
	release, closed := make(chan struct{}), make(chan struct{})
	s := &scripted{close: func() error {
		close(closed)
		return nil
	}}
	d := New("mine", "the code", func(context.Context, protocol.Target) (Session, error) {
		<-release
		return s, nil
	}, nil)
	_, err := d.Dial(soon(t), protocol.Target{}, nil)
	if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect || e.Code != CodeLeft {
		t.Errorf("%v", err)
	}
	close(release)
	<-closed
}

// Closing doesn't wait for a session that blocks, and survives one that panics.
func TestClosing(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for _, c := range []struct {
		name  string
		close func() error
		says  string
	}{
		{"it blocks", func() error { <-release; return nil }, "left behind"},
		{"it panics", func() error { panic("no way out") }, "no way out"},
		{"it fails", func() error { return errors.New("broken") }, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := dial(t, driver(&scripted{close: c.close}))
			for range 2 {
				if err := conn.Close(); err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
			}
		})
	}
}

// BenchmarkCall measures what it costs that foreign code runs in a goroutine of its own.
func BenchmarkCall(b *testing.B) {
	c := dial(b, driver(&scripted{do: func(context.Context, []gen.Value, *Reply) {}}))
	var reply protocol.Reply
	args := make([]gen.Value, 1)
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	for b.Loop() {
		reply.Reset(1)
		c.Do(ctx, request, args, &reply)
	}
}
