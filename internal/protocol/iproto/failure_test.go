package iproto

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
	"brunt/test/testserver"
)

func TestWrongPassword(t *testing.T) {
	s := testserver.Tarantool(t)
	to := target(s)
	to.Password = "not-the-password"
	ctx, cancel := within()
	defer cancel()
	_, dial := New().Dial(ctx, to, program())
	_, take := New().Open(ctx, to, program())
	_, admin := New().Admin(ctx, to)
	_, describe := New().Describe(ctx, to)
	for _, err := range []error{dial, take, admin, describe} {
		e := protocol.AsError(err)
		if err == nil || e.Class != protocol.Connect || e.Code != "47" ||
			!strings.Contains(e.Text, "check user and password") || strings.Contains(e.Text, to.Password) ||
			strings.Contains(e.Text, "Picodata") {
			t.Errorf("wrong password: got %v", err)
		}
	}
	to = target(s)
	to.User = "nobody"
	if _, err := New().Dial(ctx, to, program()); protocol.AsError(err).Class != protocol.Connect {
		t.Errorf("unknown user: got %v", err)
	}
}

// Picodata is named to those alone who may have it: its greeting is that of the Tarantool inside it.
func TestRefusalHints(t *testing.T) {
	for of, picodata := range map[[2]string]bool{{"2.6.0", "47"}: false, {"3.2.0", "47"}: false, {"2.11.5", "47"}: true,
		{"2.11.5", codeNoUser}: false} {
		hint := refusalHint(of[0], of[1])
		if !strings.Contains(hint, "check user") || strings.Contains(hint, "Picodata") != picodata {
			t.Errorf("version %s, code %s: %s", of[0], of[1], hint)
		}
	}
	if hint := refusalHint("2.11.5", ""); hint != "" {
		t.Errorf("no answer: %s", hint)
	}
}

func TestRefusedPort(t *testing.T) {
	s := testserver.Tarantool(t)
	s.Stop()
	ctx, cancel := within()
	defer cancel()
	_, dial := New().Dial(ctx, target(s), program())
	_, take := New().Open(ctx, target(s), program())
	for _, err := range []error{dial, take} {
		if e := protocol.AsError(err); err == nil || e.Class != protocol.Connect ||
			!strings.Contains(e.Text, "connection refused") {
			t.Errorf("refused port: got %v", err)
		}
	}
}

func TestFrozenServer(t *testing.T) {
	s := testserver.Tarantool(t)
	s.Pause()
	defer s.Resume()
	to := target(s)
	to.ConnectTimeout = 200 * time.Millisecond
	if _, err := New().Dial(context.Background(), to, program()); protocol.AsError(err).Class != protocol.Connect ||
		!strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("frozen server: got %v", err)
	}
}

func TestServerKilledMidRequest(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	p := program(protocol.Request{Verb: protocol.Call, Text: "slow"},
		protocol.Request{Verb: protocol.Eval, Text: "return 1"})
	for _, tier := range []string{"library", "codec"} {
		c := tiers(t, target(s), p)[tier]
		var reply protocol.Reply
		done := make(chan struct{})
		go func() {
			defer close(done)
			ctx, cancel := within()
			defer cancel()
			c.Do(ctx, &p.Requests[0], nil, &reply)
		}()
		waitForSlow(t, s)
		s.Kill()
		<-done
		if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
			t.Errorf("%s: killed mid-request: got %v %s", tier, reply.Class, reply.Text)
		}
		if tier == "library" {
			c.Do(context.Background(), &p.Requests[1], nil, &reply)
			if reply.Class != protocol.Connect || !reply.Fatal {
				t.Errorf("after the kill: got %v %s", reply.Class, reply.Text)
			}
			for range 2 {
				if err := c.Close(); err != nil {
					t.Errorf("closing a lost connection: %v", err)
				}
			}
		}
		s.Restart()
	}
}

// waitForSlow waits until the server executes a call of slow.
func waitForSlow(t *testing.T, s *testserver.Server) {
	t.Helper()
	ctx, cancel := within()
	defer cancel()
	l, err := dialLink(ctx, target(s))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for {
		r, err := data(ctx, l, typeEval, callBody(keyExpr, "return started"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Array() == 1 && r.Uint() > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestHang(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	p := program(protocol.Request{Verb: protocol.Call, Text: "slow"})
	for tier, c := range tiers(t, target(s), p) {
		var reply protocol.Reply
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		c.Do(ctx, &p.Requests[0], nil, &reply)
		cancel()
		if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
			t.Errorf("%s: a call that hangs: got %v %s", tier, reply.Class, reply.Text)
		}
	}
}

// A statement that was prepared before a change of the schema is prepared again. If the change makes it invalid, it
// fails each time, and works again once the schema allows it.
func TestPreparedStatementsOutliveChanges(t *testing.T) {
	s := testserver.Tarantool(t, testserver.Lua(lua))
	admin, err := New().Admin(t.Context(), target(s))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	change := func(statement string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	change("CREATE TABLE gone (a INTEGER PRIMARY KEY)")
	p := program(protocol.Request{Verb: protocol.SQL, Text: `SELECT COUNT(*) FROM "kv"`,
		Capture: []protocol.Capture{{Kind: gen.Int}}}, protocol.Request{Verb: protocol.SQL, Text: "SELECT a FROM gone"})
	both := tiers(t, target(s), p)
	do := func(tier string, request int) (reply protocol.Reply) {
		ctx, cancel := within()
		defer cancel()
		both[tier].Do(ctx, &p.Requests[request], nil, &reply)
		return reply
	}
	for tier := range both {
		change("CREATE TABLE later_" + tier + " (a INTEGER PRIMARY KEY)")
		for range 2 {
			if r := do(tier, 0); r.Class != protocol.OK || r.Captured[0].Kind != gen.Int {
				t.Errorf("%s: after a change: %+v", tier, r)
			}
		}
		change("DROP TABLE gone")
		for range 2 {
			if r := do(tier, 1); r.Class != protocol.Server || r.Fatal || !strings.Contains(r.Text, "GONE") {
				t.Errorf("%s: without its table: %+v", tier, r.Failure)
			}
		}
		change("CREATE TABLE gone (a INTEGER PRIMARY KEY)")
		if r := do(tier, 1); r.Class != protocol.OK || r.Rows != 0 {
			t.Errorf("%s: with its table again: %+v", tier, r)
		}
	}
}

// Preparing a statement again fails, and the answer to another request arrives before the answer to its execution.
func TestRenewalsFailAcrossOtherAnswers(t *testing.T) {
	requests := []protocol.Request{{ID: 0, Verb: protocol.SQL}, {ID: 1, Verb: protocol.Call}}
	c := &codec{statements: []statement{{verb: protocol.SQL, renewal: []byte{0x80}, stale: true},
		{verb: protocol.Call, shape: values}}}
	var tags []uint64
	for i := range requests {
		if _, err := c.Encode(nil, &requests[i], nil); err != nil {
			t.Fatal(err)
		}
		tags = append(tags, c.Tag())
	}
	refusal := func(text string) []byte { return append([]byte{0x81, 0x31}, msgpack.AppendString(nil, text)...) }
	buf := slices.Concat(packet(errorBit|3, tags[0], refusal("refused")...), packet(0, tags[1], 0x81, 0x30, 0x91, 0x02),
		packet(errorBit|3, tags[0], refusal("expired")...))
	var got []string
	for len(buf) > 0 && len(got) < 3 {
		tag, ok := c.Answers(buf)
		if !ok {
			t.Fatalf("no tag is seen in %x", buf)
		}
		c.Turn(tag)
		var reply protocol.Reply
		reply.Reset(0)
		n, done, _ := c.Scan(buf, &requests[slices.Index(tags, tag)], &reply)
		if buf = buf[n:]; done {
			got = append(got, reply.Class.String()+reply.Text)
		}
	}
	if want := []string{"ok", "serverrefused"}; !slices.Equal(got, want) || len(c.renewals) > 0 {
		t.Errorf("got %q, %d renewals; want %q", got, len(c.renewals), want)
	}
}

func TestAnswersToNothingAreNoticed(t *testing.T) {
	var reply protocol.Reply
	reply.Reset(2)
	c := freshCodec()
	c.(*codec).Turn(9)
	if _, done, _ := c.Scan(packet(0, 8, rowsBody(1, "a")...), &scanRequests[0], &reply); !done ||
		reply.Class != protocol.Protocol || !reply.Fatal || !strings.Contains(reply.Text, "wasn't sent") {
		t.Errorf("got %v %v %s", done, reply.Class, reply.Text)
	}
}

func TestArgumentsThatCannotBeSent(t *testing.T) {
	s := statement{params: 1, pieces: []piece{{nil, 0}}}
	for _, args := range [][]gen.Value{nil, {{Kind: 99}}, {{Kind: gen.UUID, B: []byte("short")}}} {
		if _, err := s.appendBody(nil, args); err == nil || err.Class != protocol.Client {
			t.Errorf("%v: got %v", args, err)
		}
	}
	c := codec{statements: []statement{s}}
	before := []byte("before")
	out, err := c.Encode(before, &protocol.Request{}, []gen.Value{{Kind: 99}})
	if err == nil || string(out) != "before" || c.sent != 0 {
		t.Errorf("a refused request left %q, %d sent, %v", out, c.sent, err)
	}
}
