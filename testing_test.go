package brunt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// outcome is a TB that remembers how the test ended.
type outcome struct {
	ended, text string
}

func (o *outcome) Helper()                  {}
func (o *outcome) Name() string             { return "TestCars" }
func (o *outcome) Context() context.Context { return context.Background() }
func (o *outcome) Log(args ...any)          { o.text += fmt.Sprint(args...) }

func (o *outcome) Skip(args ...any)  { o.end("skip", args) }
func (o *outcome) Fatal(args ...any) { o.end("fatal", args) }

func (o *outcome) end(how string, args []any) {
	o.ended, o.text = how, fmt.Sprint(args...)
	runtime.Goexit()
}

// ending returns how a test function ended.
func ending(test func(TB)) *outcome {
	o := &outcome{ended: "returned"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(o)
	}()
	<-done
	return o
}

// A test passes, fails or is skipped as the verdict says, and tells why.
func TestTestsEndAsTheVerdictSays(t *testing.T) {
	result := func(v string, interrupted bool) *Result {
		run := &record.Run{Name: "cars", LoadModel: "open", Complete: true, Interrupted: interrupted, Verdict: record.Verdict{
			Result: v, Reasons: []message.Message{message.Literal("the reason is " + v)}}}
		r, err := newResult(run, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		name   string
		result *Result
		err    error
		ends   string
		says   string
	}{
		{"pass", result(verdict.Pass, false), nil, "returned", "the reason is pass"},
		{"fail", result(verdict.Fail, false), nil, "fatal", "the reason is fail"},
		{"invalid", result(verdict.Invalid, false), nil, "skip", "too busy to tell: the reason is invalid"},
		{"interrupted", result(verdict.Pass, true), nil, "fatal", "interrupted"},
		{"a load that can't be sent", nil, errors.New("no function"), "fatal", "no function"},
		{"a panic", result(verdict.Pass, true), &PanicError{Value: "boom", Stack: "cars.go:7"}, "fatal", "cars.go:7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := ending(func(t TB) { tell(t, c.result, c.err) })
			if o.ended != c.ends || !strings.Contains(o.text, c.says) {
				t.Errorf("%s: %q, want %s: %q", o.ended, o.text, c.ends, c.says)
			}
		})
	}
}

// untilTold is ending, again while the machine is too busy to tell.
func untilTold(test func(TB)) (o *outcome) {
	for range 20 {
		if o = ending(test); o.ended != "skip" {
			break
		}
	}
	return o
}

// A load is named after its test. A rule that can't hold fails the test; what always fails does so on any machine.
func TestLoadsInTests(t *testing.T) {
	bad := func(context.Context, uint64) error { return errors.New("sold out") }
	o := untilTold(func(t TB) { Load{Do: bad, Count: 50, Rules: []string{"errors < 1%"}}.Test(t) })
	if o.ended != "fatal" || !strings.Contains(o.text, "TestCars") || !strings.Contains(o.text, "sold out") ||
		!strings.Contains(o.text, "errors < 1%") {
		t.Errorf("%s: %s", o.ended, o.text)
	}
	o = untilTold(func(t TB) { Load{Do: func(context.Context, uint64) error { panic("boom") }, Count: 50}.Test(t) })
	if o.ended != "fatal" || !strings.Contains(o.text, "boom") || !strings.Contains(o.text, "testing_test.go") {
		t.Errorf("%s: %s", o.ended, o.text)
	}
}
