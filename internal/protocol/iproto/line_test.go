package iproto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/testserver"
)

func line(t *testing.T, s *testserver.Server, o LineOptions) *Line {
	t.Helper()
	begun := time.Now()
	o.Now = func() int64 { return int64(time.Since(begun)) }
	ctx, cancel := within()
	defer cancel()
	l, failure := DialLine(ctx, target(s), o)
	if failure != nil {
		t.Fatal(failure)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// calling is the body of a call with one argument.
func calling(function, argument string) []byte {
	out := append(appendMap(nil, 2), keyFunction)
	out = append(appendString(out, function), keyTuple)
	return appendString(appendArray(out, 1), argument)
}

// begin sends a call, which must be taken.
func (l *Line) begin(t *testing.T, function, argument string) *Exchange {
	t.Helper()
	x := &Exchange{Sent: l.options.Now(), Done: make(chan struct{}, 1)}
	if failure := l.Send(context.Background(), typeCall, calling(function, argument), x); failure != nil {
		t.Errorf("%s: %v", function, failure)
		x.Done <- struct{}{}
	}
	return x
}

func TestManyShareALine(t *testing.T) {
	l := line(t, testserver.Tarantool(t, testserver.Lua(lua)), LineOptions{Timeout: 20 * time.Second})
	var all sync.WaitGroup
	for user := range 50 {
		all.Go(func() {
			done := make(chan struct{}, 1)
			for n := range 100 {
				text := fmt.Sprint("user ", user, " request ", n, ".")
				x := &Exchange{Sent: l.options.Now(), Done: done}
				if failure := l.Send(context.Background(), typeCall, calling("echo", text), x); failure != nil {
					t.Error(failure)
					return
				}
				<-done
				if number, failed := x.Failed(); failed || x.Lost != nil || !strings.Contains(string(x.Body), text) || x.End < x.Sent {
					t.Errorf("%s: error %d, %v, %q", text, number, x.Lost, x.Body)
				}
			}
		})
	}
	all.Wait()
	for function, want := range map[string]bool{"push": false, "no_such": true} {
		x := l.begin(t, function, "")
		<-x.Done
		if number, failed := x.Failed(); failed != want || want && number != 33 {
			t.Errorf("%s: error %d, %v", function, number, failed)
		}
	}
}

// A request that takes too long is over; what comes of it later is nobody's.
func TestLateOnALine(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua+"function release() go = true end function later() while not go do require('fiber').sleep(0.001) end return 'late' end"))
	l := line(t, s, LineOptions{Timeout: 300 * time.Millisecond})
	x := l.begin(t, "later", "")
	<-x.Done
	if !errors.Is(x.Lost, context.DeadlineExceeded) || !l.Alive() {
		t.Fatalf("%v, alive: %v", x.Lost, l.Alive())
	}
	patient := line(t, s, LineOptions{})
	<-patient.begin(t, "release", "").Done
	first, second := patient.begin(t, "later", ""), l.begin(t, "echo", "after")
	<-first.Done
	<-second.Done
	if second.Lost != nil || !strings.Contains(string(second.Body), "after") {
		t.Errorf("%v, %q", second.Lost, second.Body)
	}
}

func TestServerOfALineDies(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	l := line(t, s, LineOptions{Timeout: 20 * time.Second, Most: 2, Wait: true})
	x, y := l.begin(t, "slow", ""), l.begin(t, "slow", "")
	waiting := make(chan *protocol.Error, 1)
	go func() {
		waiting <- l.Send(context.Background(), typeCall, calling("slow", ""), &Exchange{Done: make(chan struct{}, 1)})
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
	if failure := l.Send(context.Background(), typeCall, calling("echo", ""), &Exchange{Done: make(chan struct{}, 1)}); failure == nil || failure.Class != protocol.Connect {
		t.Errorf("one after the end: %v", failure)
	}
}

// A server that says nothing any more, not even to pings, costs the connection.
func TestSilentServerOfALine(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	l := line(t, s, LineOptions{Timeout: 200 * time.Millisecond})
	s.Pause()
	defer s.Resume()
	x := l.begin(t, "echo", "x")
	<-x.Done
	<-l.over
	if x.Lost == nil || !strings.Contains(l.failure.Error(), "silent") {
		t.Errorf("%v, %v", x.Lost, l.failure)
	}
}

func TestLimitOfALine(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua+"function release() go = true end function wait() while not go do require('fiber').sleep(0.001) end end"))
	l := line(t, s, LineOptions{Timeout: 20 * time.Second, Most: 1})
	x := l.begin(t, "wait", "")
	if failure := l.Send(context.Background(), typeCall, calling("echo", ""), &Exchange{}); failure == nil || !strings.Contains(failure.Text, "wasn't sent") {
		t.Errorf("beyond the limit: %v", failure)
	}
	other := line(t, s, LineOptions{Timeout: 20 * time.Second, Most: 1, Wait: true})
	y := other.begin(t, "wait", "")
	waited := make(chan *Exchange, 1)
	go func() { waited <- other.begin(t, "echo", "waited") }()
	free := line(t, s, LineOptions{})
	<-free.begin(t, "release", "").Done
	<-x.Done
	<-y.Done
	z := <-waited
	<-z.Done
	if z.Lost != nil || !strings.Contains(string(z.Body), "waited") {
		t.Errorf("%v, %q", z.Lost, z.Body)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := other.begin(t, "slow", "")
	if failure := other.Send(ctx, typeCall, calling("echo", ""), &Exchange{}); failure == nil || !errors.Is(failure.Err, context.Canceled) {
		t.Errorf("an interrupted wait: %v", failure)
	}
	other.Close()
	<-w.Done
}
