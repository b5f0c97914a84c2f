package protocoltest_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/etcd"
	"brunt/internal/protocol/grpc"
	"brunt/internal/protocol/http"
	"brunt/test/testserver/grpcserver"
)

// turns is a server that waits for a number of requests, and then sends their answers in parts, by turns: each one's
// header, each one's body in two pieces, and their ends in reverse order.
type turns struct {
	requests int
	body     []byte
	header   []string // names and values
	trailer  []string // none: the body ends the answers
}

func (s *turns) serve(t *testing.T) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			go s.converse(nc)
		}
	}()
	return listener.Addr().String()
}

func (s *turns) converse(nc net.Conn) {
	defer nc.Close()
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(nc, nc)
	f.WriteSettings()
	var waiting []uint32
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch x := frame.(type) {
		case *http2.SettingsFrame:
			if !x.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			if x.StreamEnded() {
				waiting = append(waiting, x.StreamID)
			}
		case *http2.DataFrame:
			if x.StreamEnded() {
				waiting = append(waiting, x.StreamID)
			}
		}
		if len(waiting) == s.requests {
			s.answer(f, waiting)
			waiting = waiting[:0]
		}
	}
}

func (s *turns) answer(f *http2.Framer, streams []uint32) {
	for _, id := range streams {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(s.header), EndHeaders: true})
	}
	for _, id := range streams {
		f.WriteData(id, false, s.body[:2])
	}
	for _, id := range streams {
		f.WriteData(id, false, s.body[2:])
	}
	for i := range streams {
		id := streams[len(streams)-1-i]
		if s.trailer == nil {
			f.WriteData(id, true, nil)
			continue
		}
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(s.trailer), EndHeaders: true,
			EndStream: true})
	}
}

// fields encodes names and values.
func fields(all []string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	for i := 0; i < len(all); i += 2 {
		e.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return b.Bytes()
}

// message is a message of gRPC that has one field.
func message(number protowire.Number, content []byte) []byte {
	b := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	return append([]byte{0, 0, 0, 0, byte(len(b))}, b...)
}

// A server may send the parts of several answers by turns. Nothing of an answer that was read before another one's turn
// is lost, on event loops with several requests in flight.
func TestAnswersByTurns(t *testing.T) {
	const inFlight = 8
	proto := filepath.Join(t.TempDir(), "echo.proto")
	if err := os.WriteFile(proto, []byte(grpcserver.EchoProto), 0o600); err != nil {
		t.Fatal(err)
	}
	value := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), []byte(`{"a":"b25l"}`))
	status := []string{"grpc-status", "0"}
	text := []protocol.Capture{{Name: "text", Kind: gen.String}}
	for _, c := range []struct {
		server  turns
		subject subject
		request protocol.Request
	}{
		{turns{body: []byte("body"), header: []string{":status", "200", "x-n", "one"}},
			subject{name: "http", driver: http.New(), target: protocol.Target{Options: map[string]string{"http2": "prior"}}},
			protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/"},
				Capture: []protocol.Capture{{Name: "header:x-n", Kind: gen.String}}}},
		{turns{body: message(1, []byte("one")), header: []string{":status", "200"}, trailer: status},
			subject{name: "grpc", driver: grpc.New(), target: protocol.Target{Options: map[string]string{"proto": proto}}},
			protocol.Request{Verb: protocol.GRPC, RPC: &protocol.RPC{Method: "brunt.test.Echo/Say"}, Capture: text}},
		{turns{body: message(2, value), header: []string{":status", "200"}, trailer: status},
			subject{name: "etcd", driver: etcd.New()},
			protocol.Request{Verb: protocol.Read, Text: "agreed", Params: kindsOf([]any{"user0"}),
				Capture: []protocol.Capture{{Name: "a"}}}},
	} {
		s := c.subject
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c.server.requests, s.pipeline = inFlight, inFlight
			s.target.Address = c.server.serve(t)
			s.queries = []query{{request: c.request}}
			if len(c.request.Params) > 0 {
				s.queries[0].args = []any{"user0"}
			}
			_, all, _ := s.load(t, s.target, 0, true, 1, 10*inFlight)
			answers := all[0]
			for a, n := range answers {
				if !strings.Contains(a, "missing false") || !strings.Contains(a, `"one"`) || n != 10*inFlight {
					t.Errorf("%d times %q, want %d times the captured value", n, a, 10*inFlight)
				}
			}
			if len(answers) != 1 {
				t.Errorf("answers %v", answers)
			}
		})
	}
}
