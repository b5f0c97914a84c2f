package spool

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// gate is a writer that takes nothing while it is shut.
type gate struct {
	open sync.Mutex
	bytes.Buffer
	err error
}

func (g *gate) Write(b []byte) (int, error) {
	g.open.Lock()
	defer g.open.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	return g.Buffer.Write(b)
}

// patience is how long tests wait for what must happen.
const patience = 5 * time.Minute

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

func TestSpoolKeepsTheOrderAndCountsWhatIsLost(t *testing.T) {
	t.Parallel()
	g := &gate{}
	s := New(g, "the gate")
	s.most = 3
	s.Gap = func(n int) string { return fmt.Sprintf("%d are missing\n", n) }
	g.open.Lock()
	fmt.Fprint(s, "0\n")
	until(t, "the first text is being written", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.queue) == 0
	})
	for i := 1; i < 6; i++ {
		fmt.Fprintf(s, "%d\n", i)
	}
	fmt.Fprint(s, "6\nwith a comment\n")
	if !s.Busy() || s.Lost() != 4 {
		t.Errorf("busy %v, %d lost", s.Busy(), s.Lost())
	}
	g.open.Unlock()
	until(t, "all is written", func() bool { return !s.Busy() })
	fmt.Fprint(s, "7\n")
	whole, err := s.Close(patience, nil)
	if want := "0\n1\n2\n3\n4 are missing\n7\n"; !whole || err != nil || g.String() != want {
		t.Errorf("whole %v, %v\n%s", whole, err, g.String())
	}
	if got, want := s.LostText().String(), "4 report lines were not printed: the gate didn't take them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpoolGivesUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *Spool) (bool, error){
		"after a while": func(s *Spool) (bool, error) { return s.Close(1, nil) },
		"at the second interrupt": func(s *Spool) (bool,
			error) {
			c := make(chan struct{})
			close(c)
			return s.Close(patience, c)
		},
	} {
		g := &gate{}
		g.open.Lock()
		s := New(g, "the gate")
		fmt.Fprint(s, "one\ntwo\n")
		fmt.Fprint(s, "three\n")
		if whole, err := end(s); whole || err != nil || s.Lost() != 3 {
			t.Errorf("%s: whole %v, %v, %d lost", name, whole, err, s.Lost())
		}
		g.open.Unlock()
	}
}

func TestSpoolWritesWhatIsTakenAfterASecondInterrupt(t *testing.T) {
	t.Parallel()
	hard := make(chan struct{})
	close(hard)
	for range 20 {
		g := &gate{}
		s := New(g, "the gate")
		for i := range 100 {
			fmt.Fprintf(s, "%d\n", i)
		}
		if whole, err := s.Close(patience, hard); !whole || err != nil || strings.Count(g.String(), "\n") != 100 ||
			s.Lost() != 0 {
			t.Fatalf("whole %v, %v, %d lines written, %d lost", whole, err, strings.Count(g.String(), "\n"), s.Lost())
		}
	}
}

func TestSpoolMakesRoomForTheEnd(t *testing.T) {
	t.Parallel()
	g := &gate{}
	g.open.Lock()
	s := New(g, "the gate")
	s.most = 1
	for i := range 5 {
		fmt.Fprintf(s, "%d\n", i)
	}
	s.Last()
	report := strings.Repeat("a line of the report\n", 3000)
	fmt.Fprint(s, report)
	g.open.Unlock()
	if whole, err := s.Close(patience, nil); !whole || err != nil || !strings.HasSuffix(g.String(), "\n"+report) {
		t.Errorf("whole %v, %v, %d bytes", whole, err, g.Len())
	}
}

func TestSpoolTellsOfErrors(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	s := New(&gate{err: full}, "the gate")
	fmt.Fprint(s, "one\n")
	until(t, "it has been tried", func() bool { return s.Lost() == 1 })
	if _, err := fmt.Fprint(s, "two\n"); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if whole, err := s.Close(patience, nil); !whole || !errors.Is(err, full) || s.Lost() != 2 {
		t.Errorf("whole %v, %v, %d lost", whole, err, s.Lost())
	}
}
