package etcd

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"brunt/internal/protocol"
	h2 "brunt/internal/protocol/http2"
	"brunt/internal/protocol/protocoltest"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// scanned returns the requests whose answers are scanned.
func scanned() *protocol.Program {
	capture := []protocol.Capture{{Name: "field0"}}
	return &protocol.Program{Requests: []protocol.Request{
		{ID: 0, Verb: protocol.Read, Text: "t", Capture: capture},
		{ID: 1, Verb: protocol.Delete, Text: "t"},
		{ID: 2, Verb: protocol.Insert, Text: "t", Fields: []string{"field0"}},
	}}
}

// waiting returns a codec that has sent request id as its first request.
func waiting(p *protocol.Program, id int) *codec {
	requests, refused := parseProgram(p)
	if refused != nil {
		panic(refused)
	}
	c := newCodec(requests, options{}, "h:1")
	if _, refused = c.Encode(nil, &p.Requests[id], protocoltest.Values("k", "v")[:requests[id].PerRow]); refused != nil {
		panic(refused)
	}
	return c
}

func frameOf(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	o := h2.NewOutput()
	o.WriteRawFrame(kind, flags, stream, payload)
	return o.B
}

func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	for i := 0; i < len(pairs); i += 2 {
		e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

func messageOf(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// endOfAll are the flags of trailers.
const endOfAll = http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream

var (
	head = frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1,
		fields(":status", "200", "content-type", "application/grpc"))
	trails = frameOf(http2.FrameHeaders, endOfAll, 1,
		fields("grpc-status", "0", "grpc-message", ""))
	one = messageOf(&pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 7}, Count: 1,
		Kvs: []*mvccpb.KeyValue{{Key: []byte("t:k"), Value: []byte(`{"field0":"eg=="}`), ModRevision: 5}}})
	none = messageOf(&pb.RangeResponse{Header: &pb.ResponseHeader{}})
)

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func TestScan(t *testing.T) {
	p := scanned()
	settings := frameOf(http2.FrameSettings, 0, 0,
		binary.BigEndian.AppendUint32([]byte{0, byte(http2.SettingInitialWindowSize)}, 1<<20))
	ping := frameOf(http2.FramePing, 0, 0, []byte("12345678"))
	data := func(b []byte) []byte { return frameOf(http2.FrameData, 0, 1, b) }
	away := func(last uint32) []byte {
		return frameOf(http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint64(nil, uint64(last)<<32))
	}
	failed := func(code, text string) []byte {
		return frameOf(http2.FrameHeaders, endOfAll, 1,
			fields(":status", "200", "grpc-status", code, "grpc-message", text))
	}
	for _, c := range []struct {
		name    string
		request int
		answer  []byte
		want    string
	}{
		{"record", 0, join(head, data(one), trails),
			`done=true class=ok code="" fatal=false status=0 rows=1 affected=0 missing=false badhash=false in=`},
		{"captured", 0, join(head, data(one), trails), `captured=6:"z"`},
		{"no record", 0, join(head, data(none), trails), `rows=0 affected=0 missing=true`},
		{"in pieces", 0, join(head, data(one[:3]), ping, data(nil), data(one[3:9]), data(one[9:]), trails), `captured=6:"z"`},
		{"padded", 0, join(head,
			frameOf(http2.FrameData, http2.FlagDataPadded, 1, join([]byte{3}, one, []byte("abc"))), trails),
			`captured=6:"z"`},
		{"priority", 0, join(frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersPriority, 1,
			join(make([]byte, 5), head[h2.FrameHead:])),
			data(one), trails), "class=ok"},
		{"headers in frames", 0, join(frameOf(http2.FrameHeaders, 0, 1, head[h2.FrameHead:12]),
			frameOf(http2.FrameContinuation, 0, 1, nil),
			frameOf(http2.FrameContinuation, http2.FlagHeadersEndHeaders, 1, head[12:]), data(one), trails), `captured=6:"z"`},
		{"housekeeping", 0, join(settings, ping, head, frameOf(http2.FrameWindowUpdate, 0, 1, []byte{0, 0, 0, 9}), data(one),
			frameOf(99, 0, 7, nil), trails), `captured=6:"z"`},
		{"deleted", 1, join(head, data(messageOf(&pb.DeleteRangeResponse{Deleted: 1})), trails), "affected=1 missing=false"},
		{"not deleted", 1, join(head, data(messageOf(&pb.DeleteRangeResponse{})), trails), "affected=0 missing=true"},
		{"put", 2, join(head, data(messageOf(&pb.PutResponse{})), trails),
			"class=ok code=\"\" fatal=false status=0 rows=0 affected=1"},
		{"more follows", 0, join(head, data(one), trails, ping), `left="\x00\x00\b\x06`},
		{"leaving", 0, join(away(1), head, data(one), trails), "class=ok code=\"\" fatal=true"},
		{"too late", 0, away(0), `class=retryable code="GOAWAY" fatal=true`},
		{"refused", 0, frameOf(http2.FrameRSTStream, 0, 1, []byte{0, 0, 0, 7}),
			`class=retryable code="RST_STREAM" fatal=false`},
		{"reset", 0, join(head, frameOf(http2.FrameRSTStream, 0, 1, []byte{0, 0, 0, 2})),
			`class=unknown-outcome code="RST_STREAM"`},
		{"no leader", 0, failed("14", "etcdserver: no leader"), `class=retryable code="Unavailable" fatal=false`},
		{"failed late", 0, join(head, data(one), frameOf(http2.FrameHeaders, endOfAll, 1,
			fields("grpc-status", "14", "grpc-message", "etcdserver: request timed out"))),
			`class=timeout code="Unavailable" fatal=false status=0 rows=0`},
		{"server", 0, failed("3", "etcdserver: key is not provided"), `class=server code="InvalidArgument" fatal=false`},
		{"incomplete", 0, join(head, data(one)), "done=false"},

		{"HTTP/1", 0, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "class=protocol"},
		{"no message", 0, join(head, trails), "class=protocol"},
		{"no status", 0, join(head, data(one), frameOf(http2.FrameHeaders, endOfAll, 1, fields("x", "y"))),
			"class=protocol"},
		{"HTTP status", 0, frameOf(http2.FrameHeaders, endOfAll, 1, fields(":status", "502")),
			"class=unknown-outcome"},
		{"two messages", 0, join(head, data(none), data(none), trails), "class=protocol"},
		{"longer than said", 0, join(head, data(append(slices.Clone(none), 1)), trails), "class=protocol"},
		{"compressed", 0, join(head, data(append([]byte{1}, one[1:]...)), trails), "class=protocol"},
		{"no protocol buffer", 0, join(head, data([]byte{0, 0, 0, 0, 2, 0x12, 9}), trails), "class=protocol"},
		{"data first", 0, data(one), "class=protocol"},
		{"data last", 0, join(head, frameOf(http2.FrameData, http2.FlagDataEndStream, 1, one)), "class=protocol"},
		{"unopened stream", 0, frameOf(http2.FrameData, 0, 3, one), "class=protocol"},
		{"pushed", 0, frameOf(http2.FramePushPromise, 0, 1, make([]byte, 4)), "class=protocol"},
		{"interrupted", 0, join(frameOf(http2.FrameHeaders, 0, 1, head[h2.FrameHead:12]), ping), "class=protocol"},
		{"not begun", 0, frameOf(http2.FrameContinuation, http2.FlagHeadersEndHeaders, 1, nil), "class=protocol"},
		{"bad padding", 0, join(head, frameOf(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 0})), "class=protocol"},
		{"bad headers", 0, frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1,
			[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
			"class=protocol"},
		{"short ping", 0, frameOf(http2.FramePing, 0, 0, []byte("123")), "class=protocol"},
	} {
		got := protocoltest.Torn(t, func() protocol.Codec { return waiting(p, c.request) }, &p.Requests[c.request],
			c.answer, false)
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%s: got %s (%s); want %s", c.name, got, got.Reply.Text, c.want)
		}
	}
}

func TestControlFramesGoOutWithTheNextRequest(t *testing.T) {
	p := scanned()
	c := waiting(p, 0)
	var reply protocol.Reply
	reply.Reset(1)
	settings := frameOf(http2.FrameSettings, 0, 0,
		binary.BigEndian.AppendUint32([]byte{0, byte(http2.SettingHeaderTableSize)}, 0))
	answer := join(settings, frameOf(http2.FramePing, 0, 0, []byte("12345678")), head,
		frameOf(http2.FrameData, 0, 1, one), trails)
	if _, done, _ := c.Scan(answer, &p.Requests[0], &reply); !done || reply.Class != protocol.OK {
		t.Fatalf("%+v", reply)
	}
	out, refused := c.Encode(nil, &p.Requests[0], protocoltest.Values("k"))
	if refused != nil {
		t.Fatal(refused)
	}
	want := join(frameOf(http2.FrameSettings, http2.FlagSettingsAck, 0, nil),
		frameOf(http2.FramePing, http2.FlagSettingsAck, 0, []byte("12345678")))
	if !bytes.HasPrefix(out, want) {
		t.Errorf("got %q", out)
	}
	if f, _, _, _ := h2.Cut(out[len(want):]); f.Type != http2.FrameHeaders || f.StreamID != 3 {
		t.Errorf("got %+v", f)
	}
}

func TestHeadersDecodeAsSent(t *testing.T) {
	h := newHeaders("etcd:2379")
	d := hpack.NewDecoder(4096, nil)
	last := map[method]int{}
	for i, m := range []method{methodRange, methodRange, methodPut, methodRange, methodPut, methodDelete, methodDelete,
		methodPut, methodRange, methodRange} {
		if i == 8 {
			h.Limit(100) // too small for a table
		}
		block := h.Block(int(m))
		got, err := d.DecodeFull(block)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		var text []string
		for _, f := range got {
			text = append(text, f.Name+"="+f.Value)
		}
		want := ":method=POST :scheme=http :path=" + m.path() +
			" :authority=etcd:2379 content-type=application/grpc user-agent=brunt te=trailers"
		if strings.Join(text, " ") != want {
			t.Errorf("%d: got %s", i, text)
		}
		if before, again := last[m]; again && i < 8 && len(block) != 7 {
			t.Errorf("%d: %d bytes after %d", i, len(block), before)
		}
		last[m] = len(block)
	}
}

// Requests and answers don't allocate once the connection's buffers are large enough.
func TestNothingIsAllocated(t *testing.T) {
	p := scanned()
	c := waiting(p, 2)
	answer := join(head, frameOf(http2.FrameData, 0, 1, messageOf(&pb.PutResponse{Header: &pb.ResponseHeader{}})), trails)
	args := protocoltest.Values("k", "v")
	var out []byte
	var reply protocol.Reply
	allocations := testing.AllocsPerRun(100, func() {
		for rest := answer; len(rest) > 0; {
			binary.BigEndian.PutUint32(rest[5:], c.ID)
			rest = rest[h2.FrameHead+int(rest[1])<<8+int(rest[2]):]
		}
		if _, done, _ := c.Scan(answer, &p.Requests[2], &reply); !done || reply.Class != protocol.OK {
			t.Fatalf("%+v", reply.Failure)
		}
		reply.Reset(0)
		out, _ = c.Encode(out[:0], &p.Requests[2], args)
	})
	if allocations != 0 {
		t.Errorf("%v allocations a request", allocations)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(join(head, frameOf(http2.FrameData, 0, 1, one), trails), uint16(20), uint16(40))
	f.Add(join(frameOf(http2.FrameHeaders, 0, 1, head[h2.FrameHead:12]),
		frameOf(http2.FrameContinuation, http2.FlagHeadersEndHeaders, 1, head[12:]),
		frameOf(http2.FrameData, 0, 1, one), trails), uint16(3), uint16(15))
	f.Add(frameOf(http2.FrameGoAway, 0, 0, make([]byte, 8)), uint16(1), uint16(2))
	f.Add(frameOf(http2.FrameSettings, 0, 0, make([]byte, 12)), uint16(1), uint16(10))
	p := scanned()
	f.Fuzz(func(t *testing.T, answer []byte, a, b uint16) {
		if len(answer) == 0 {
			return
		}
		cuts := []int{int(a) % len(answer), int(b) % len(answer)}
		slices.Sort(cuts)
		whole := protocoltest.Scan(waiting(p, 0), &p.Requests[0], answer, nil, false)
		torn := protocoltest.Scan(waiting(p, 0), &p.Requests[0], answer, cuts, false)
		if whole.String() != torn.String() {
			t.Errorf("cut at %v:\n got %v\nwant %v", cuts, torn, whole)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"field0":"eg==","field1":"eQ=="}`))
	f.Add([]byte(`{"field\u0030":"eg=="}`))
	p := scanned()
	r, _ := parseRequest(&p.Requests[0])
	f.Fuzz(func(t *testing.T, record []byte) {
		var reply protocol.Reply
		reply.Reset(1)
		if err := capture(&r.Request, record, &reply); err != nil && err.Class != protocol.Protocol {
			t.Errorf("%q: %v", record, err)
		}
	})
}
