package iproto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/msgpack"
	"brunt/test/testserver"
)

// shared is a connection with several users.
type shared struct {
	*blocking.Shared
	now func() int64
}

func share(t *testing.T, s *testserver.Server, o blocking.SharedOptions) *shared {
	t.Helper()
	begun := time.Now()
	o.Now, o.Ping = func() int64 { return int64(time.Since(begun)) }, Ping()
	ctx, cancel := within()
	defer cancel()
	c, failure := Bare(ctx, target(s))
	if failure != nil {
		t.Fatal(failure)
	}
	l, failure := blocking.Share(c, o)
	if failure != nil {
		t.Fatal(failure)
	}
	t.Cleanup(func() { l.Close() })
	return &shared{l, o.Now}
}

// send sends a call with one argument.
func (l *shared) send(ctx context.Context, function, argument string, x *blocking.Exchange) *protocol.Error {
	x.Request = &protocol.Request{ID: int(typeCall), Verb: protocol.Call}
	return l.Send(ctx, []gen.Value{{Kind: gen.Bytes, B: calling(function, argument)}}, x)
}

// answerOf returns the body of an answer.
func answerOf(x *blocking.Exchange) string {
	if len(x.Reply.Captured) == 0 {
		return ""
	}
	return string(x.Reply.Captured[0].B)
}

// calling returns the body of a call with one argument.
func calling(function, argument string) []byte {
	out := append(msgpack.AppendMap(nil, 2), keyFunction)
	out = append(msgpack.AppendString(out, function), keyTuple)
	return msgpack.AppendString(msgpack.AppendArray(out, 1), argument)
}

// begin sends a call and fails the test if it is refused.
func (l *shared) begin(t *testing.T, function, argument string) *blocking.Exchange {
	t.Helper()
	x := &blocking.Exchange{Sent: l.now(), Done: make(chan struct{}, 1)}
	if failure := l.send(context.Background(), function, argument, x); failure != nil {
		t.Errorf("%s: %v", function, failure)
		x.Done <- struct{}{}
	}
	return x
}

func TestManyShareAConnection(t *testing.T) {
	l := share(t, testserver.Tarantool(t, testserver.Lua(lua)), blocking.SharedOptions{Timeout: 20 * time.Second})
	var all sync.WaitGroup
	for user := range 50 {
		all.Go(func() {
			done := make(chan struct{}, 1)
			for n := range 100 {
				text := fmt.Sprint("user ", user, " request ", n, ".")
				x := &blocking.Exchange{Sent: l.now(), Done: done}
				if failure := l.send(context.Background(), "echo", text, x); failure != nil {
					t.Error(failure)
					return
				}
				<-done
				if x.Reply.Class != protocol.OK || x.Lost != nil || !strings.Contains(answerOf(x), text) || x.End < x.Sent {
					t.Errorf("%s: %v, %+v", text, x.Lost, x.Reply)
				}
			}
		})
	}
	all.Wait()
	for function, want := range map[string]string{"push": "", "no_such": "33"} {
		x := l.begin(t, function, "")
		<-x.Done
		if x.Reply.Code != want || (x.Reply.Class == protocol.OK) != (want == "") {
			t.Errorf("%s: %+v", function, x.Reply.Failure)
		}
	}
}

// If a request times out, its late answer is discarded.
func TestLateOnASharedConnection(t *testing.T) {
	s := testserver.Tarantool(t,
		testserver.Lua(
			lua+"function release() go = true end function later() while not go do require('fiber').sleep(0.001) end return 'late' end"))
	l := share(t, s, blocking.SharedOptions{Timeout: 300 * time.Millisecond})
	x := l.begin(t, "later", "")
	<-x.Done
	if !errors.Is(x.Lost, context.DeadlineExceeded) || !l.Alive() {
		t.Fatalf("%v, alive: %v", x.Lost, l.Alive())
	}
	patient := share(t, s, blocking.SharedOptions{})
	<-patient.begin(t, "release", "").Done
	first, second := patient.begin(t, "later", ""), l.begin(t, "echo", "after")
	<-first.Done
	<-second.Done
	if second.Lost != nil || !strings.Contains(answerOf(second), "after") {
		t.Errorf("%v, %q", second.Lost, answerOf(second))
	}
}

func TestServerOfASharedConnectionDies(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	l := share(t, s, blocking.SharedOptions{Timeout: 20 * time.Second, Most: 2, Wait: true})
	x, y := l.begin(t, "slow", ""), l.begin(t, "slow", "")
	waiting := make(chan *protocol.Error, 1)
	go func() {
		waiting <- l.send(context.Background(), "slow", "", &blocking.Exchange{Done: make(chan struct{}, 1)})
	}()
	s.Kill()
	<-x.Done
	<-y.Done
	if x.Lost == nil || y.Lost == nil || l.Alive() {
		t.Errorf("%v, %v, alive: %v", x.Lost, y.Lost, l.Alive())
	}
	if failure := <-waiting; failure == nil || failure.Class != protocol.Connect {
		t.Errorf("one that waited for a place: %v", failure)
	}
	if failure := l.send(context.Background(), "echo", "",
		&blocking.Exchange{Done: make(chan struct{}, 1)}); failure == nil || failure.Class != protocol.Connect {
		t.Errorf("one after the end: %v", failure)
	}
}

// If a server stops answering, even to pings, the connection is closed.
func TestSilentServerOfASharedConnection(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	l := share(t, s, blocking.SharedOptions{Timeout: 200 * time.Millisecond})
	s.Pause()
	defer s.Resume()
	x := l.begin(t, "echo", "x")
	<-x.Done
	<-l.Over()
	failure := l.send(context.Background(), "echo", "", &blocking.Exchange{})
	if x.Lost == nil || failure == nil || !strings.Contains(failure.Err.Error(), "silent") {
		t.Errorf("%v, %v", x.Lost, failure)
	}
}

func TestLimitOfASharedConnection(t *testing.T) {
	s := testserver.Tarantool(t,
		testserver.Lua(
			lua+"function release() go = true end function wait() while not go do require('fiber').sleep(0.001) end end"))
	l := share(t, s, blocking.SharedOptions{Timeout: 20 * time.Second, Most: 1})
	x := l.begin(t, "wait", "")
	if failure := l.send(context.Background(), "echo", "", &blocking.Exchange{}); failure == nil ||
		!strings.Contains(failure.Text, "wasn't sent") {
		t.Errorf("beyond the limit: %v", failure)
	}
	other := share(t, s, blocking.SharedOptions{Timeout: 20 * time.Second, Most: 1, Wait: true})
	y := other.begin(t, "wait", "")
	waited := make(chan *blocking.Exchange, 1)
	go func() { waited <- other.begin(t, "echo", "waited") }()
	free := share(t, s, blocking.SharedOptions{})
	<-free.begin(t, "release", "").Done
	<-x.Done
	<-y.Done
	z := <-waited
	<-z.Done
	if z.Lost != nil || !strings.Contains(answerOf(z), "waited") {
		t.Errorf("%v, %q", z.Lost, answerOf(z))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := other.begin(t, "slow", "")
	if failure := other.send(ctx, "echo", "", &blocking.Exchange{}); failure == nil ||
		!errors.Is(failure.Err, context.Canceled) {
		t.Errorf("an interrupted wait: %v", failure)
	}
	other.Close()
	<-w.Done
}
