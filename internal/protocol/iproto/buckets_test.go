package iproto

import (
	"slices"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// A storage returns the ranges of its own buckets, and a program those of all storages.
func TestBucketsAreTold(t *testing.T) {
	s := testserver.Vshard(t, 1, 10)[0]
	ctx, cancel := within()
	defer cancel()
	evaluate := func(t *testing.T, program string) {
		t.Helper()
		conn, err := New().Dial(ctx, target(s), program1(program))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var reply protocol.Reply
		if conn.Do(ctx, &program1(program).Requests[0], nil, &reply); reply.Class != protocol.OK {
			t.Fatal(reply.Text)
		}
	}
	for _, c := range []struct {
		name, before, program string
		want                  []protocol.BucketRange
	}{
		{"all", "", "", []protocol.BucketRange{{From: 1, To: 10}}},
		{"moved and moving", "local s = box.space._bucket s:delete(4) s:replace{5, 'sending', 'x'} s:replace{8, 'receiving'} " +
			"s:replace{9, 'sent', 'x'}", "", []protocol.BucketRange{{From: 1, To: 3}, {From: 5, To: 7}, {From: 10, To: 10}}},
		{"none", "box.space._bucket:truncate()", "", nil},
		{"another's", "", "return {{1, 5, 'a:1'}, {6, 10}}",
			[]protocol.BucketRange{{From: 1, To: 5, Address: "a:1"}, {From: 6, To: 10}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != "" {
				evaluate(t, c.before)
			}
			got, err := New().Buckets(ctx, target(s), c.program)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	for name, program := range map[string]string{
		"nothing": "return", "two values": "return 1, 2", "a number": "return 5", "a text": "return {'x'}",
		"one column": "return {{1}}", "backwards": "return {{5, 1}}", "from zero": "return {{0, 1}}",
		"a number for an address": "return {{1, 2, 3}}", "an error": "error('no')", "no program": "return (",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := New().Buckets(ctx, target(s), program); err == nil {
				t.Errorf("%+v, want an error", got)
			}
		})
	}
	t.Run("not vshard", func(t *testing.T) {
		evaluate(t, "box.space._bucket:drop()")
		if got, err := New().Buckets(ctx, target(s), ""); err == nil {
			t.Errorf("%+v, want an error", got)
		}
	})
}

func program1(text string) *protocol.Program {
	return program(protocol.Request{Verb: protocol.Eval, Text: text})
}

// Errors of vshard are failures, whether they are raised or returned after nil.
func TestErrorsOfVshard(t *testing.T) {
	s := testserver.Vshard(t, 1, 10,
		testserver.Lua("function pair() return nil, {type = 'Other', message = 'x'} end function two() return nil, 5 end"+
			" function full() return nil, {type = 'ShardingError', name = 'TOO_MANY_RECEIVING', code = 25, message = 'full'} end"))[0]
	p := program(
		protocol.Request{Verb: protocol.Call, Text: "touch", Params: kinds(1)},
		protocol.Request{Verb: protocol.Call, Text: "raise", Params: kinds(1)},
		protocol.Request{Verb: protocol.Eval, Text: "box.space._bucket:truncate()"},
		protocol.Request{Verb: protocol.Call, Text: "pair"},
		protocol.Request{Verb: protocol.Call, Text: "two", Capture: []protocol.Capture{{Column: 1, Kind: gen.Int}}},
		protocol.Request{Verb: protocol.Call, Text: "full"},
		protocol.Request{Verb: protocol.Eval, Text: "for i = 1, 10 do box.space._bucket:replace{i, 'sending', 'x'} end"},
	)
	for tier, conn := range tiers(t, target(s), p) {
		t.Run(tier, func(t *testing.T) {
			do := func(id int, want string, misdirected bool, args ...gen.Value) {
				t.Helper()
				ctx, cancel := within()
				defer cancel()
				var reply protocol.Reply
				reply.Reset(len(p.Requests[id].Capture))
				conn.Do(ctx, &p.Requests[id], args, &reply)
				if got := reply.Class.String() + " " + reply.Code; got != want {
					t.Errorf("%s: %s (%s), want %s", p.Requests[id].Text, got, reply.Text, want)
				}
				if reply.Misdirected != misdirected {
					t.Errorf("%s: misdirected is %v", p.Requests[id].Text, reply.Misdirected)
				}
			}
			do(6, "ok ", false)
			do(0, "retryable TRANSFER_IS_IN_PROGRESS", true, num(1))
			do(2, "ok ", false)
			do(0, "retryable WRONG_BUCKET", true, num(1))
			do(1, "retryable WRONG_BUCKET", true, num(1))
			do(3, "ok ", false)
			do(4, "ok ", false)
			do(5, "server TOO_MANY_RECEIVING", false)
		})
	}
}
