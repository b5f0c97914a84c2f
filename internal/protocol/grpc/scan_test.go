package grpc

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/types/dynamicpb"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/grpc/methods"
	h2 "brunt/internal/protocol/http2"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver/grpcserver"
)

func frameOf(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	o := h2.NewOutput()
	o.WriteRawFrame(kind, flags, stream, payload)
	return o.B
}

// block encodes headers.
func block(pairs ...string) []byte {
	var w writer
	e := hpack.NewEncoder(&w)
	e.SetMaxDynamicTableSize(0)
	for i := 0; i < len(pairs); i += 2 {
		e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return w
}

type writer []byte

func (w *writer) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

const endOfAll = http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream

// sent returns a program and a function that makes codecs which have sent its first request.
func sent(t testing.TB, r protocol.Request, args []gen.Value) (*protocol.Program, func() *codec) {
	t.Helper()
	p := program(r)
	files := grpcserver.Start(t).Files
	md, err := methods.Method(files, r.RPC.Method)
	if err != nil {
		t.Fatal(err)
	}
	c, fields, err := newCall(protocol.Target{Address: "h:1"}, options{}, &p.Requests[0], md, dynamicpb.NewTypes(files))
	if err != nil {
		t.Fatal(err)
	}
	plan := &prepared{calls: []call{c}}
	plan.lists = append(plan.lists, fields)
	return p, func() *codec {
		c := newCodec(plan)
		if _, refused := c.Encode(nil, &p.Requests[0], args); refused != nil {
			t.Fatal(refused)
		}
		return c
	}
}

func TestScan(t *testing.T) {
	p, fresh := sent(t, request("Say", 1, []string{"text"}, `{"text": "$1"}`), protocoltest.Values("k"))
	head := frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, block(":status", "200"))
	trails := frameOf(http2.FrameHeaders, endOfAll, 1, block("grpc-status", "0"))
	data := frameOf(http2.FrameData, 0, 1, []byte("\x00\x00\x00\x00\x03\x0a\x01x"))
	for _, c := range []struct{ name, want, answer string }{
		{"answered", `class=ok code="" fatal=false status=0 rows=1`, string(head) + string(data) + string(trails)},
		{"trailers only", `class=server code="NotFound" fatal=false`, string(frameOf(http2.FrameHeaders, endOfAll, 1,
			block(":status", "200", "grpc-status", "5", "grpc-message", "no%20such")))},
		{"no status", "class=protocol code=\"\" fatal=false", string(head) + string(data) +
			string(frameOf(http2.FrameData, http2.FlagDataEndStream, 1, nil))},
		{"half a message", "class=protocol", string(head) +
			string(frameOf(http2.FrameData, 0, 1, []byte("\x00\x00\x00\x00\x03\x0a"))) + string(trails)},
		{"HTTP status", `class=retryable code="Unavailable" fatal=false`,
			string(frameOf(http2.FrameHeaders, endOfAll, 1, block(":status", "502")))},
		{"another one", `class=server code="PermissionDenied" fatal=false`,
			string(frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, block(":status", "403")))},
		{"no HTTP status", "class=protocol code=\"\" fatal=false",
			string(frameOf(http2.FrameHeaders, endOfAll, 1, block(":status", "x")))},
		{"refused", `class=retryable code="RST_STREAM"`, string(frameOf(http2.FrameRSTStream, 0, 1, []byte{0, 0, 0, 7}))},
		{"HTTP/1", "class=protocol", "HTTP/1.1 400 Bad Request\r\n\r\n"},
	} {
		got := protocoltest.Torn(t, func() protocol.Codec { return fresh() }, &p.Requests[0], []byte(c.answer), false)
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: got %s (%s); want %s", c.name, got, got.Reply.Text, c.want)
		}
	}
}

// An answer that isn't gRPC fails its own call; the other calls of the connection are answered.
func TestOtherCallsGoOn(t *testing.T) {
	p, fresh := sent(t, request("Say", 1, []string{"text"}, `{"text": "$1"}`), protocoltest.Values("k"))
	head := func(stream uint32) []byte {
		return frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, block(":status", "200"))
	}
	data := func(stream uint32, text string) []byte { return frameOf(http2.FrameData, 0, stream, []byte(text)) }
	trails := func(stream uint32, status string) []byte {
		return frameOf(http2.FrameHeaders, endOfAll, stream, block("grpc-status", status))
	}
	const message = "\x00\x00\x00\x00\x03\x0a\x01x"
	good := slices.Concat(head(3), data(3, message), trails(3, "0"))
	for name, c := range map[string]struct {
		bad   []byte
		reset bool
	}{
		"HTTP status":     {frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, block(":status", "500")), true},
		"no status":       {slices.Concat(head(1), data(1, message), trails(1, "x")), false},
		"half a message":  {slices.Concat(head(1), data(1, message[:6]), trails(1, "0")), false},
		"too long":        {slices.Concat(head(1), data(1, "\x00\x7f\xff\xff\xff")), true},
		"two messages":    {slices.Concat(head(1), data(1, message+message)), true},
		"packed":          {slices.Concat(head(1), data(1, "\x01"+message[1:])), true},
		"headers between": {slices.Concat(head(1), head(1)), true},
	} {
		codec := fresh()
		if _, refused := codec.Encode(nil, &p.Requests[0], protocoltest.Values("k")); refused != nil {
			t.Fatal(refused)
		}
		var all []protocol.Class
		for buf := slices.Concat(c.bad, good); len(buf) > 0 && len(all) < 2; {
			if stream, ok := codec.Answers(buf); ok {
				codec.Turn(stream)
			}
			var reply protocol.Reply
			reply.Reset(1)
			n, done, _ := codec.Scan(buf, &p.Requests[0], &reply)
			if buf = buf[n:]; done {
				all = append(all, reply.Class)
			} else if n == 0 {
				break
			}
			if reply.Fatal {
				t.Errorf("%s: fatal: %s", name, reply.Text)
			}
		}
		if len(all) != 2 || all[0] == protocol.OK || all[1] != protocol.OK {
			t.Errorf("%s: %v", name, all)
		}
		if sent := codec.Speak(nil); (len(sent) > 0) != c.reset {
			t.Errorf("%s: sends %q", name, sent)
		}
	}
}

// A server that cancels a call means its deadline, if that is over.
func TestCancelledByTheServer(t *testing.T) {
	reset := frameOf(http2.FrameRSTStream, 0, 1, []byte{0, 0, 0, 8})
	trailers := frameOf(http2.FrameHeaders, endOfAll, 1, block(":status", "200", "grpc-status", "1"))
	for _, c := range []struct {
		deadline time.Duration
		answer   []byte
		want     string
	}{
		{1, reset, `class=unknown-outcome code="DeadlineExceeded"`},
		{1, trailers, `class=unknown-outcome code="DeadlineExceeded"`},
		{time.Hour, reset, `class=unknown-outcome code="RST_STREAM"`},
		{time.Hour, trailers, `class=server code="Canceled"`}, {0, trailers, `class=server code="Canceled"`},
	} {
		r := request("Say", 0, nil)
		r.RPC.Deadline = c.deadline
		p, fresh := sent(t, r, nil)
		got := protocoltest.Torn(t, func() protocol.Codec { return fresh() }, &p.Requests[0], c.answer, false)
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%v: got %s; want %s", c.deadline, got, c.want)
		}
	}
}

// Calls and answers don't allocate once the connection's buffers are large enough.
func TestNothingIsAllocated(t *testing.T) {
	args := protocoltest.Values("k", 5)
	p, fresh := sent(t, request("Say", 2, nil, `{"text": "a $1", "inner": {"number": "$2"}, "list": ["$2", 3]}`), args)
	c := fresh()
	answer := slices.Concat(frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, block(":status", "200")),
		frameOf(http2.FrameData, 0, 1, []byte("\x00\x00\x00\x00\x03\x0a\x01x")),
		frameOf(http2.FrameHeaders, endOfAll, 1, block("grpc-status", "0")))
	var out []byte
	var reply protocol.Reply
	allocations := testing.AllocsPerRun(100, func() {
		for rest := answer; len(rest) > 0; {
			binary.BigEndian.PutUint32(rest[5:], c.ID)
			rest = rest[h2.FrameHead+int(rest[1])<<8+int(rest[2]):]
		}
		if _, done, _ := c.Scan(answer, &p.Requests[0], &reply); !done || reply.Class != protocol.OK {
			t.Fatalf("%+v", reply.Failure)
		}
		reply.Reset(0)
		out, _ = c.Encode(out[:0], &p.Requests[0], args)
	})
	if allocations != 0 {
		t.Errorf("%v allocations a call", allocations)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("\x00\x00\x08\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x03\x0a\x01x"), uint16(3))
	p, fresh := sent(f, request("List", 0, []string{"text", "list.1", "inner.inner.number"}), nil)
	f.Fuzz(func(t *testing.T, answer []byte, at uint16) {
		if len(answer) == 0 {
			return
		}
		whole := protocoltest.Scan(fresh(), &p.Requests[0], answer, nil, false)
		torn := protocoltest.Scan(fresh(), &p.Requests[0], answer, []int{int(at) % len(answer)}, false)
		if whole.String() != torn.String() {
			t.Errorf("got %v\nwant %v", torn, whole)
		}
	})
}
