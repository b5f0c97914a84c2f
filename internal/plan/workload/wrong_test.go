package workload

import (
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func wrongPlan(share float64, expect string, transaction bool) *plan.Plan {
	return &plan.Plan{Seed: 5, Operations: []plan.Operation{{Name: "a", Weight: 1, Transaction: transaction,
		Steps: []plan.Step{{Request: protocol.Request{Verb: protocol.SQL, Text: "select 1"},
			Wrong: plan.Wrong{Share: share, Expect: expect, Request: protocol.Request{Verb: protocol.SQL,
				Text: "select x"}}}}}}}
}

func compiled(t *testing.T, p *plan.Plan) *Workload {
	t.Helper()
	w, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The seed and the numbers of operations determine which ones are wrong, and their share is correct.
func TestWrongRequestsAreAShare(t *testing.T) {
	w, again := compiled(t, wrongPlan(0.1, "any", false)), compiled(t, wrongPlan(0.1, "any", false))
	wrongs := 0
	for i := range uint64(100_000) {
		text := w.Operations[0].Steps[0].For(i).Text
		if text != again.Operations[0].Steps[0].For(i).Text {
			t.Fatalf("operation %d differs", i)
		}
		if text == "select x" {
			wrongs++
		}
	}
	// The standard deviation is 95. The test allows 6 of them.
	if wrongs < 10_000-570 || wrongs > 10_000+570 {
		t.Errorf("%d of 100000 are wrong, want a tenth", wrongs)
	}
}

func TestWrongRequestsMustFailAsExpected(t *testing.T) {
	refused := func(class protocol.Class, code string, fatal bool) protocol.Failure {
		return protocol.Failure{Class: class, Code: code, Fatal: fatal}
	}
	for name, row := range map[string]struct {
		expect string
		got    protocol.Failure
		want   protocol.Class
	}{
		"the code":            {"42P01", refused(protocol.Server, "42P01", false), protocol.OK},
		"in another case":     {"wrongtype", refused(protocol.Server, "WRONGTYPE", false), protocol.OK},
		"a class":             {"server", refused(protocol.Server, "x", false), protocol.OK},
		"any":                 {"any", refused(protocol.Server, "x", false), protocol.OK},
		"it ends the session": {"57P01", refused(protocol.Server, "57P01", true), protocol.OK},
		"another code":        {"42P01", refused(protocol.Server, "42703", false), protocol.Server},
		"success":             {"42P01", protocol.Failure{}, protocol.Server},
		"a timeout isn't any": {"any", refused(protocol.Timeout, "", false), protocol.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			w := compiled(t, wrongPlan(1, row.expect, false))
			c := w.NewCursor(0, Rules{Retries: 3})
			c.Begin(0)
			r := protocol.Reply{Failure: row.got}
			if move := c.Answered(&r, 1, 2); move != Over {
				t.Errorf("it goes on with %v", move)
			}
			if c.Failure.Class != row.want {
				t.Errorf("it ends as %v, want %v", c.Failure.Class, row.want)
			}
			if r.Fatal != row.got.Fatal {
				t.Errorf("session lost: %v", r.Fatal)
			}
			if c.EndNs != 2 {
				t.Errorf("it ends at %d", c.EndNs)
			}
			if failed := c.TakeFailure() != nil; failed != (row.want != protocol.OK) {
				t.Errorf("an attempt failed: %v", failed)
			}
		})
	}
}

// The expected error within a transaction causes a rollback, and the operation succeeds.
func TestAWrongRequestEndsItsTransaction(t *testing.T) {
	w := compiled(t, wrongPlan(1, "any", true))
	c := w.NewCursor(0, Rules{Retries: 3, EveryFailure: true})
	c.Begin(0)
	ok := protocol.Reply{}
	if move := c.Answered(&ok, 1, 2); move != Send || c.Request().Text != "select x" {
		t.Fatalf("after BEGIN: %v %+v", move, c.Request())
	}
	refused := protocol.Reply{Failure: protocol.Failure{Class: protocol.Server, Code: "x"}}
	if move := c.Answered(&refused, 3, 4); move != Send || !c.RollingBack() {
		t.Fatalf("after the error: %v", move)
	}
	if move := c.Answered(&ok, 5, 6); move != Over || c.Failure.Class != protocol.OK || c.EndNs != 4 {
		t.Errorf("%v, %+v at %d", move, c.Failure, c.EndNs)
	}
}

// A wrong request without placeholders uses none of the step's arguments.
func TestAWrongRequestTakesNoArgumentsItDoesntName(t *testing.T) {
	for text, want := range map[string]int{"select x": 0, "select x where y = $1": 1} {
		t.Run(text, func(t *testing.T) {
			p := wrongPlan(1, "any", false)
			s := &p.Operations[0].Steps[0]
			s.Request.Text = "select $1"
			s.Params = []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, IntLo: 1, IntHi: 9,
				HasRange: true}}}}
			s.Wrong.Request.Text = text
			c := compiled(t, p).NewCursor(0, Rules{})
			c.Begin(0)
			if got := len(c.Args()); got != want || len(c.Request().Params) != want {
				t.Errorf("%d arguments for %d parameters, want %d", got, len(c.Request().Params), want)
			}
		})
	}
}
