package spool

import (
	"bytes"
	"testing"
	"time"
)

// Wait returns when everything is written, or when patience is over.
func TestWait(t *testing.T) {
	var out bytes.Buffer
	s := New(&out, "out")
	if _, err := s.Write([]byte("a line\n")); err != nil {
		t.Fatal(err)
	}
	s.Wait(time.Minute)
	if s.Busy() || out.String() != "a line\n" {
		t.Errorf("written %q, busy %v", out.String(), s.Busy())
	}
	hold, held := make(chan struct{}), make(chan struct{})
	stuck := New(writer(func(b []byte) (int, error) { close(held); <-hold; return len(b), nil }), "out")
	if _, err := stuck.Write([]byte("a line\n")); err != nil {
		t.Fatal(err)
	}
	<-held
	stuck.Wait(0)
	close(hold)
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
