package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// transfer returns a transaction whose second statement uses a result of the first one, with a pause between them.
func transfer(t *testing.T, think time.Duration) *Workload {
	t.Helper()
	value := plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: 1,
		IntHi: 1000}}}
	read := plan.Step{
		Request: protocol.Request{Name: "read", Verb: protocol.SQL, Text: "select $1",
			Capture: []protocol.Capture{{Name: "v", Kind: gen.Int}}},
		Params: []plan.Param{value}, Think: plan.Think{Min: think},
	}
	write := plan.Step{
		Request: protocol.Request{Name: "write", Verb: protocol.SQL, Text: "update $1 $2"},
		Params:  []plan.Param{{Step: 0, Index: 0}, value},
	}
	w, err := Compile(&plan.Plan{Seed: 3, Operations: []plan.Operation{{
		Name: "transfer", Weight: 1, Transaction: true, Steps: []plan.Step{read, write}, Think: plan.Think{Min: time.Second},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// act drives an operation by events: "ok", "later" (retryable), "no" (server), "lost", "fatal" and "check" for
// requests, "" and "expire" for pauses. It returns what the cursor requested.
func act(t *testing.T, w *Workload, c *Cursor, events ...string) (asked []string) {
	t.Helper()
	at := int64(0)
	next := c.Begin(7)
	for _, e := range append(events, "end") {
		at += 10
		switch next {
		case Over:
			if e != "end" {
				t.Fatalf("over after %v, before %q", asked, e)
			}
			return asked
		case Send:
			asked = append(asked, c.Request().Name)
			next = answer(c, e, at)
		case Think, Retry:
			asked = append(asked, map[Move]string{Think: "think", Retry: "retry"}[next])
			switch e {
			case "expire":
				next = c.Expire(at)
			case "lost":
				next = c.Broken(protocol.Failure{Class: protocol.Connect, Text: "lost"}, at)
			default:
				next = c.Resume()
			}
		}
	}
	t.Fatalf("not over after %v", asked)
	return nil
}

func answer(c *Cursor, event string, at int64) Move {
	var r protocol.Reply
	r.Reset(len(c.Request().Capture))
	switch event {
	case "lost":
		return c.Broken(protocol.Failure{Class: protocol.UnknownOutcome, Text: "lost"}, at)
	case "unsendable":
		return c.Failed(protocol.Failure{Class: protocol.Client, Text: "too large"}, at)
	case "later":
		r.Failure = protocol.Failure{Class: protocol.Retryable, Code: "40001"}
	case "no":
		r.Failure = protocol.Failure{Class: protocol.Server}
	case "fatal":
		r.Failure = protocol.Failure{Class: protocol.Server, Fatal: true}
	case "closed":
		r.Fatal = true
	}
	for i := range r.Captured {
		r.Captured[i].SetInt(at * 100)
	}
	return c.Answered(&r, at-5, at)
}

func TestCursorCarriesOperationsOut(t *testing.T) {
	for _, c := range []struct {
		events, asked string
		class         protocol.Class
		attempts      int
		endNs         int64 // events are 10 ns apart
	}{
		{"ok ok resume ok ok", "begin read think write commit", protocol.OK, 1, 50},
		{"no", "begin", protocol.Server, 1, 10},
		{"ok no ok", "begin read rollback", protocol.Server, 1, 20},
		{"ok no no", "begin read rollback", protocol.Server, 1, 20},
		{"ok no lost", "begin read rollback", protocol.Server, 1, 20},
		{"ok no unsendable", "begin read rollback", protocol.Server, 1, 20},
		{"ok fatal", "begin read", protocol.Server, 1, 20},
		{"ok closed", "begin read", protocol.Connect, 1, 20},
		{"ok lost", "begin read", protocol.Connect, 1, 20}, // a read can't have been applied
		{"ok ok resume lost", "begin read think write", protocol.UnknownOutcome, 1, 40},
		{"ok ok lost", "begin read think", protocol.Connect, 1, 30},
		{"ok ok expire ok", "begin read think rollback", protocol.Timeout, 1, 30},
		{"ok ok resume unsendable ok", "begin read think write rollback", protocol.Client, 1, 40},
		{"ok ok resume ok later ok resume ok ok resume ok ok",
			"begin read think write commit rollback retry begin read think write commit", protocol.OK, 2, 120},
		{"later resume later resume later", "begin retry begin retry begin", protocol.Retryable, 3, 50},
		{"ok later ok expire", "begin read rollback retry", protocol.Retryable, 1, 20},
		{"ok later ok lost", "begin read rollback retry", protocol.Retryable, 1, 20},
	} {
		w := transfer(t, time.Millisecond)
		told := 0
		w.Done = func(operation int, index uint64, class protocol.Class) {
			if told++; operation != 0 || index != 7 || class != c.class {
				t.Errorf("%s: told of operation %d, number %d, class %v", c.events, operation, index, class)
			}
		}
		cursor := w.NewCursor(0, Rules{Retries: 2})
		for range 2 { // an operation must not affect the next one
			asked := act(t, w, &cursor, strings.Fields(c.events)...)
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("%s: asked for %s, want %s", c.events, got, c.asked)
			}
			if cursor.Failure.Class != c.class || cursor.Attempts != c.attempts || cursor.EndNs != c.endNs {
				t.Errorf("%s: class %v, %d attempts, end %d; want %v, %d, %d", c.events, cursor.Failure.Class, cursor.Attempts,
					cursor.EndNs, c.class, c.attempts, c.endNs)
			}
			cursor.Tell(0, 1, 2)
		}
		if told != 2 || cursor.Rest() != time.Second {
			t.Errorf("%s: told %d times, rest %v", c.events, told, cursor.Rest())
		}
	}
}

// Each failed attempt is reported once.
func TestCursorTellsOfFailures(t *testing.T) {
	w := transfer(t, 0)
	c := w.NewCursor(0, Rules{Retries: 1, EveryFailure: true})
	next := c.Begin(1)
	var told []string
	for _, e := range []string{"ok", "lost", "resume", "ok", "ok", "no", "ok"} {
		if next == Retry {
			next = c.Resume()
		} else {
			next = answer(&c, e, 1)
		}
		if f := c.TakeFailure(); f != nil {
			told = append(told, fmt.Sprintf("%v at attempt %d", f.Class, c.Attempts))
		}
	}
	if want := []string{"connect at attempt 1", "server at attempt 2"}; next != Over || !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
}

// A retry keeps generated values, and captures the server's values again.
func TestCursorKeepsArguments(t *testing.T) {
	w := transfer(t, 0)
	c := w.NewCursor(0, Rules{Retries: 1})
	var seen [][]gen.Value
	next := c.Begin(9)
	for i, e := range []string{"ok", "ok", "later", "ok", "resume", "ok", "ok", "ok", "ok"} {
		if next == Retry {
			next = c.Resume()
			continue
		}
		if n := c.Request().Name; n == "read" || n == "write" {
			seen = append(seen, slices.Clone(c.Args()))
		}
		next = answer(&c, e, int64(i))
	}
	if next != Over || c.Failure.Class != protocol.OK || len(seen) != 4 {
		t.Fatalf("%v after %d statements", c.Failure, len(seen))
	}
	if seen[0][0].I != seen[2][0].I || seen[1][1].I != seen[3][1].I {
		t.Errorf("generated %v, then %v", seen[:2], seen[2:])
	}
	if seen[1][0].I != 100 || seen[3][0].I != 600 {
		t.Errorf("captured %d, then %d; want 100 and 600", seen[1][0].I, seen[3][0].I)
	}
}

func TestCursorAllocatesNothing(t *testing.T) {
	w := transfer(t, time.Millisecond)
	c := w.NewCursor(0, Rules{})
	var r protocol.Reply
	i := uint64(0)
	run := func() {
		i++
		for next := c.Begin(i); next != Over; {
			if next == Think {
				next = c.Resume()
				continue
			}
			r.Reset(len(c.Request().Capture))
			next = c.Answered(&r, 1, 2)
		}
		c.Tell(0, 1, 1)
	}
	run()
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
}

// An insert whose record was there already fails or counts as in vain, as its request says. After an attempt that may
// have made the record, it has succeeded.
// The codec reads its clock before a request is sent and after its answer has arrived, so its time of the first message
// may exceed the time of the whole answer.
func TestFirstMessageIsNotAfterTheEnd(t *testing.T) {
	for name, row := range map[string]struct{ firstNs, sentNs, endNs, want int64 }{
		"before the end":     {400, 1000, 2000, 400},
		"at once":            {1001, 1000, 2000, 1000},
		"clocks that differ": {3600e9, 1000, 1001, 1},
		"no time":            {5, 1000, 1000, 0},
		"end before send":    {5, 1000, 999, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := compile(t, &plan.Plan{Operations: []plan.Operation{{Name: "call", Weight: 1,
				Steps: []plan.Step{{Request: protocol.Request{Verb: protocol.SQL, Text: "select 1"}}}}}})
			cursor := w.NewCursor(0, Rules{})
			cursor.Begin(1)
			r := protocol.Reply{}
			r.StreamMessage(row.firstNs)
			cursor.Answered(&r, row.sentNs, row.endNs)
			if got := cursor.Facts.Stream.FirstNs; got != row.want {
				t.Errorf("the first message came after %d ns, want %d", got, row.want)
			}
		})
	}
}

func TestCursorOfRecordsThatAreThere(t *testing.T) {
	there := protocol.Reply{Missing: true}
	conflict := protocol.Reply{Failure: protocol.Failure{Class: protocol.Server, Code: "23505"}}
	part := protocol.Reply{Affected: 3}
	refused := protocol.Reply{Failure: protocol.Failure{Class: protocol.Server, Code: "42P01"}}
	lost := protocol.Reply{Failure: protocol.Failure{Class: protocol.UnknownOutcome}}
	for name, c := range map[string]struct {
		creates protocol.Creation
		replies []protocol.Reply
		code    string
		missing bool
	}{
		"unasked":                 {protocol.Unasked, []protocol.Reply{there}, "", true},
		"must be new":             {protocol.MustBeNew, []protocol.Reply{there}, protocol.NothingInserted, false},
		"may exist":               {protocol.MayExist, []protocol.Reply{there}, "", true},
		"made":                    {protocol.MustBeNew, []protocol.Reply{{Affected: 5}}, "", false},
		"part of a statement":     {protocol.MustBeNew, []protocol.Reply{part}, protocol.NothingInserted, false},
		"part may exist":          {protocol.MayExist, []protocol.Reply{part}, "", true},
		"conflict":                {protocol.MustBeNew, []protocol.Reply{conflict}, "23505", false},
		"conflict may exist":      {protocol.MayExist, []protocol.Reply{conflict}, "", true},
		"another error":           {protocol.MayExist, []protocol.Reply{refused}, "42P01", false},
		"made by the first try":   {protocol.MustBeNew, []protocol.Reply{lost, there}, "", false},
		"conflict with itself":    {protocol.MustBeNew, []protocol.Reply{lost, conflict}, "", false},
		"refused, then there":     {protocol.MustBeNew, []protocol.Reply{refused, there}, protocol.NothingInserted, false},
		"there: no further tries": {protocol.MustBeNew, []protocol.Reply{there, {}}, protocol.NothingInserted, false},
	} {
		t.Run(name, func(t *testing.T) {
			request := protocol.Request{Verb: protocol.SQL, Text: "INSERT INTO t VALUES (1)", Rows: 5, Creates: c.creates}
			if c.creates == protocol.Unasked {
				request.Rows = 0
			}
			w := compile(t, &plan.Plan{Operations: []plan.Operation{{Name: "insert", Weight: 1,
				Steps: []plan.Step{{Request: request}}}}})
			cursor := w.NewCursor(0, Rules{Retries: 1, EveryFailure: true})
			move := cursor.Begin(1)
			for i := range c.replies {
				if move == Retry {
					move = cursor.Resume()
				}
				if move != Send {
					break
				}
				r := c.replies[i]
				move = cursor.Answered(&r, 1, 2)
			}
			for move == Retry {
				cursor.Resume()
				again := c.replies[len(c.replies)-1]
				move = cursor.Answered(&again, 3, 4)
			}
			if cursor.Failure.Code != c.code || cursor.Missing != c.missing {
				t.Errorf("%+v, missing %v", cursor.Failure, cursor.Missing)
			}
			if c.missing && cursor.Missed != protocol.KindInsert {
				t.Errorf("the kind is %v", cursor.Missed)
			}
		})
	}
}
