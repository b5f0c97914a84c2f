package echo

import (
	"context"
	"net"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func request() *protocol.Request {
	return &protocol.Request{
		ID: 3, Verb: protocol.Call, Params: []gen.Kind{gen.Int, gen.Float},
		Capture: []protocol.Capture{{Column: 0}, {Column: 3}, {Column: 9}},
	}
}

func arguments() []gen.Value {
	v := make([]gen.Value, 2)
	v[0].SetInt(-7)
	v[1].Kind, v[1].F = gen.Float, 1.5
	return v
}

func dialTo(t *testing.T, s *Server, r *protocol.Request) protocol.Conn {
	t.Helper()
	p := protocol.Program{Requests: []protocol.Request{*r}}
	c, err := Driver{}.Dial(context.Background(), protocol.Target{Address: s.Address()}, &p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func listen(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestAnswersByStatus(t *testing.T) {
	for _, c := range []struct {
		status Status
		class  protocol.Class
		fatal  bool
	}{
		{Done, protocol.OK, false}, {Refused, protocol.Server, false}, {Later, protocol.Retryable, false},
		{Fatal, protocol.Server, true}, {77, protocol.Protocol, true},
	} {
		s := listen(t, Config{Answer: func(f Frame) bool { f.SetStatus(c.status); f.SetNumber(3, 42); return true }})
		conn := dialTo(t, s, request())
		var reply protocol.Reply
		reply.Reset(3)
		conn.Do(context.Background(), request(), arguments(), &reply)
		if reply.Class != c.class || reply.Fatal != c.fatal || reply.BytesIn != Size {
			t.Errorf("status %d: %+v", c.status, reply.Failure)
		}
		if k := reply.Captured; c.class == protocol.OK && (k[0].I != -7 || k[1].I != 42 || k[2].Kind != gen.Null) {
			t.Errorf("captured %v", k)
		}
		if s.Requests() != 1 {
			t.Errorf("%d requests counted, want 1", s.Requests())
		}
	}
}

func TestWhatCannotBeSent(t *testing.T) {
	text := make([]gen.Value, 1)
	text[0].SetString("x")
	for _, args := range [][]gen.Value{text, make([]gen.Value, Slots+1)} {
		dst := []byte("before")
		out, err := (&Codec{}).Encode(dst, request(), args)
		if err == nil || err.Class != protocol.Client || string(out) != "before" {
			t.Errorf("%d arguments: %q, %v", len(args), out, err)
		}
	}
	program := protocol.Program{Requests: []protocol.Request{{Verb: protocol.SQL, Text: "SELECT 1"}}}
	s := listen(t, Config{})
	if _, err := (Driver{}).Dial(context.Background(), protocol.Target{Address: s.Address()},
		&program); protocol.AsError(err) == nil || protocol.AsError(err).Class != protocol.Client {
		t.Errorf("SQL over echo: %v", err)
	}
}

func TestPausedServerTimesOut(t *testing.T) {
	s := listen(t, Config{})
	conn := dialTo(t, s, request())
	s.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	var reply protocol.Reply
	reply.Reset(3)
	conn.Do(ctx, request(), arguments(), &reply)
	if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
		t.Errorf("%+v", reply.Failure)
	}
}

func TestKilledServer(t *testing.T) {
	s := listen(t, Config{})
	conn := dialTo(t, s, request())
	s.Kill()
	var reply protocol.Reply
	for range 3 {
		reply.Reset(3)
		conn.Do(context.Background(), request(), arguments(), &reply)
		if c := reply.Class; c != protocol.UnknownOutcome && c != protocol.Connect || !reply.Fatal {
			t.Errorf("%+v", reply.Failure)
		}
	}
	if _, err := (Driver{}).Describe(context.Background(), protocol.Target{Address: s.Address()}); protocol.AsError(
		err) == nil || protocol.AsError(err).Class != protocol.Connect {
		t.Errorf("described a dead server: %v", err)
	}
	if err := s.Return(); err != nil {
		t.Fatal(err)
	}
	if info, err := (Driver{}).Describe(context.Background(), protocol.Target{Address: s.Address()}); err != nil ||
		info.Product == "" {
		t.Errorf("after the return: %+v, %v", info, err)
	}
}

func TestServerMendsTornRequests(t *testing.T) {
	s := listen(t, Config{})
	c, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var codec Codec
	out, _ := codec.Encode(nil, request(), arguments())
	out, _ = codec.Encode(out, request(), arguments())
	for i := range out {
		if _, err := c.Write(out[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	in := make([]byte, len(out))
	for held := 0; held < len(in); {
		n, err := c.Read(in[held:])
		if err != nil {
			t.Fatal(err)
		}
		held += n
	}
	if string(in) != string(out) {
		t.Error("what came back isn't what was sent")
	}
}

// FuzzScan checks that a codec reads no further than it says, consumes whole answers only, and
// accepts nothing but the echo of its own requests.
func FuzzScan(f *testing.F) {
	var codec Codec
	good, _ := codec.Encode(nil, request(), arguments())
	f.Add(good)
	f.Add(good[:Size-1])
	f.Add(append(append([]byte{}, good...), good...))
	f.Fuzz(func(t *testing.T, data []byte) {
		codec := Codec{}
		sent, _ := codec.Encode(nil, request(), arguments())
		var reply protocol.Reply
		reply.Reset(3)
		n, done, need := codec.Scan(data, request(), &reply)
		switch {
		case len(data) < Size:
			if n != 0 || done || need != Size {
				t.Fatalf("%d bytes: n %d, done %v, need %d", len(data), n, done, need)
			}
		case done:
			if n != Size || string(data[:4]) != string(sent[:4]) || string(data[8:20]) != string(sent[8:20]) {
				t.Fatalf("accepted %x", data[:Size])
			}
		case reply.Class != protocol.Protocol || !reply.Fatal:
			t.Fatalf("neither done nor broken: %+v", reply.Failure)
		}
	})
}
