package protocol

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestUnanswered(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	read, write := &Request{Text: "select 1"}, &Request{Text: "update t set x = 1"}
	for _, c := range []struct {
		ctx  context.Context
		r    *Request
		err  error
		want Class
		text string
	}{
		{late, read, errors.New("x"), Timeout, "no answer within the operation's timeout"},
		{late, write, errors.New("x"), UnknownOutcome, "it may have been applied"},
		{late, &Request{Verb: Commit}, errors.New("x"), UnknownOutcome, ""},
		{late, nil, errors.New("x"), Timeout, ""},
		{t.Context(), write, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, UnknownOutcome, "no answer within"},
		{t.Context(), read, context.DeadlineExceeded, Timeout, ""},
		{t.Context(), read, context.Canceled, UnknownOutcome, "interrupted"},
		{t.Context(), write, errors.New("EOF of hunter2"), UnknownOutcome,
			"the connection broke before the answer came: EOF of …"},
	} {
		e := Unanswered(c.ctx, c.r, c.err, "hunter2")
		if e.Class != c.want || !e.Fatal || !strings.Contains(e.Text, c.text) || !errors.Is(e, c.err) {
			t.Errorf("%v of %+v: %+v", c.err, c.r, e)
		}
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\t b  c": "a b c", "it is hunter2!": "it is …!", "bad \xff byte": "bad ? byte", "": "",
	} {
		if got := Line(text, "hunter2"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Line(strings.Repeat("é", 400), ""); len(got) != 500+len("…") || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := Line("at sea", "at"); got != "at sea" {
		t.Errorf("a secret as short as a word was blotted out: %q", got)
	}
}
