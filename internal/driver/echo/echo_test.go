package echo

import (
	"context"
	"net"
	"testing"
	"time"

	"brunt/internal/driver"
	"brunt/internal/gen"
)

func request() *driver.Request {
	return &driver.Request{
		ID: 3, Verb: driver.Call, Params: []gen.Kind{gen.Int, gen.Float},
		Capture: []driver.Capture{{Column: 0}, {Column: 3}, {Column: 9}},
	}
}

func arguments() []gen.Value {
	v := make([]gen.Value, 2)
	v[0].SetInt(-7)
	v[1].Kind, v[1].F = gen.Float, 1.5
	return v
}

func dialTo(t *testing.T, s *Server, r *driver.Request) driver.Conn {
	t.Helper()
	p := driver.Program{Requests: []driver.Request{*r}}
	c, err := Driver{}.Dial(context.Background(), driver.Target{Address: s.Address()}, &p)
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
		class  driver.Class
		fatal  bool
	}{
		{Done, driver.OK, false}, {Refused, driver.Server, false}, {Later, driver.Retryable, false},
		{Fatal, driver.Server, true}, {77, driver.Protocol, true},
	} {
		s := listen(t, Config{Answer: func(f Frame) bool { f.SetStatus(c.status); f.SetNumber(3, 42); return true }})
		conn := dialTo(t, s, request())
		var reply driver.Reply
		reply.Reset(3)
		conn.Do(context.Background(), request(), arguments(), &reply)
		if reply.Class != c.class || reply.Fatal != c.fatal || reply.BytesIn != Size {
			t.Errorf("status %d: %+v", c.status, reply.Failure)
		}
		if k := reply.Captured; c.class == driver.OK && (k[0].I != -7 || k[1].I != 42 || k[2].Kind != gen.Null) {
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
		if err == nil || err.Class != driver.Client || string(out) != "before" {
			t.Errorf("%d arguments: %q, %v", len(args), out, err)
		}
	}
	program := driver.Program{Requests: []driver.Request{{Verb: driver.SQL, Text: "SELECT 1"}}}
	s := listen(t, Config{})
	if _, err := (Driver{}).Dial(context.Background(), driver.Target{Address: s.Address()}, &program); driver.AsError(err) == nil || driver.AsError(err).Class != driver.Client {
		t.Errorf("SQL over echo: %v", err)
	}
}

func TestPausedServerTimesOut(t *testing.T) {
	s := listen(t, Config{})
	conn := dialTo(t, s, request())
	s.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	var reply driver.Reply
	reply.Reset(3)
	conn.Do(ctx, request(), arguments(), &reply)
	if reply.Class != driver.UnknownOutcome || !reply.Fatal {
		t.Errorf("%+v", reply.Failure)
	}
}

func TestKilledServer(t *testing.T) {
	s := listen(t, Config{})
	conn := dialTo(t, s, request())
	s.Kill()
	var reply driver.Reply
	for range 3 {
		reply.Reset(3)
		conn.Do(context.Background(), request(), arguments(), &reply)
		if c := reply.Class; c != driver.UnknownOutcome && c != driver.Connect || !reply.Fatal {
			t.Errorf("%+v", reply.Failure)
		}
	}
	if _, err := (Driver{}).Describe(context.Background(), driver.Target{Address: s.Address()}); driver.AsError(err) == nil || driver.AsError(err).Class != driver.Connect {
		t.Errorf("described a dead server: %v", err)
	}
	if err := s.Return(); err != nil {
		t.Fatal(err)
	}
	if info, err := (Driver{}).Describe(context.Background(), driver.Target{Address: s.Address()}); err != nil || info.Product == "" {
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
		var reply driver.Reply
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
		case reply.Class != driver.Protocol || !reply.Fatal:
			t.Fatalf("neither done nor broken: %+v", reply.Failure)
		}
	})
}
