package grpc

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// unruly is a server that answers each call by answer, over the connection that it is given, which it may close.
type unruly struct {
	settings []http2.Setting
	answer   func(f *http2.Framer, nc net.Conn, stream uint32)
	frame    func(f *http2.Framer, frame http2.Frame) // sees each frame; may be nil
}

func (u *unruly) serve(t *testing.T) (address string) {
	t.Helper()
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
			go u.converse(nc)
		}
	}()
	return listener.Addr().String()
}

func (u *unruly) converse(nc net.Conn) {
	defer nc.Close()
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(nc, nc)
	f.WriteSettings(u.settings...)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			f.WriteSettingsAck()
		}
		if u.frame != nil {
			u.frame(f, frame)
		}
		if u.answer != nil && frame.Header().Flags.Has(http2.FlagDataEndStream) && (frame.Header().Type == http2.FrameData ||
			frame.Header().Type == http2.FrameHeaders) {
			u.answer(f, nc, frame.Header().StreamID)
		}
	}
}

func begins(f *http2.Framer, stream uint32, fields ...string) {
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true,
		BlockFragment: block(append([]string{":status", "200"}, fields...)...)})
}

func ends(f *http2.Framer, stream uint32, fields ...string) {
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, EndStream: true,
		BlockFragment: block(fields...)})
}

// wholly answers a call as it should be.
func wholly(f *http2.Framer, stream uint32) {
	begins(f, stream)
	f.WriteData(stream, false, make([]byte, 5))
	ends(f, stream, "grpc-status", "0")
}

// message is a message with a prefix that says a length.
func message(flag byte, length uint32, content string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, length), content...)
}

// sends answers with one message, and the status OK.
func sends(data []byte, fields ...string) func(*http2.Framer, net.Conn, uint32) {
	return func(f *http2.Framer, _ net.Conn, stream uint32) {
		begins(f, stream, fields...)
		f.WriteData(stream, false, data)
		ends(f, stream, "grpc-status", "0")
	}
}

// heads answers with headers that are the end, or go on with a page.
func heads(page string, fields ...string) func(*http2.Framer, net.Conn, uint32) {
	return func(f *http2.Framer, _ net.Conn, stream uint32) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true, EndStream: page == "",
			BlockFragment: block(fields...)})
		if page != "" {
			f.WriteData(stream, false, []byte(page))
			f.WriteData(stream, true, []byte(page))
		}
	}
}

// inPieces answers with blocks of headers that go on in further frames.
func inPieces(pieces int, field ...string) func(*http2.Framer, net.Conn, uint32) {
	return func(f *http2.Framer, _ net.Conn, stream uint32) {
		write := func(end bool, b []byte) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndStream: end, BlockFragment: b[:1]})
			rest := b[1:]
			for i := range pieces {
				n := len(rest) / (pieces - i)
				f.WriteContinuation(stream, i == pieces-1, rest[:n])
				rest = rest[n:]
			}
		}
		write(false, block(":status", "200"))
		f.WriteData(stream, false, make([]byte, 5))
		write(true, block(append(field, "grpc-status", "0")...))
	}
}

// unrulyRow is a server and what becomes of each call to it.
type unrulyRow struct {
	server unruly
	want   string // class
	says   string // what the failure's code and text contain
}

// blocking makes calls over a blocking connection.
func (c *unrulyRow) blocking(t *testing.T, address, file, method string) {
	t.Helper()
	p := program(request(method, 0, nil, `{}`))
	target := protocol.Target{Address: address, Options: map[string]string{"proto": file}}
	conn, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	r := do(t, conn, &p.Requests[0])
	if got := r.Code + " " + r.Text; r.Class.String() != c.want || !strings.Contains(got, c.says) {
		t.Errorf("%s: %s %q, want %s %q", method, r.Class, got, c.want, c.says)
	}
	if !r.Fatal { // the connection serves the next call
		if r := do(t, conn, &p.Requests[0]); r.Class.String() != c.want {
			t.Errorf("%s, the second call: %+v", method, r.Failure)
		}
	}
}

// byClass says how many operations had which outcomes.
func byClass(n *measure.Counts) string {
	var all []string
	if ok := n.OK(); ok > 0 {
		all = append(all, fmt.Sprint("ok: ", ok))
	}
	for class, count := range n.Errors {
		if count > 0 {
			all = append(all, fmt.Sprint(protocol.Class(class), ": ", count))
		}
	}
	return strings.Join(all, ", ")
}

// What a server does wrong, or does rarely, becomes one outcome of each call that it concerns, in calls of all kinds,
// on event loops and on blocking connections. No call waits for ever.
func TestUnrulyServers(t *testing.T) {
	const lost, wrong, good, again = "unknown-outcome", "protocol", "ok", "retryable"
	long, none := strings.Repeat("x", 20_000), make([]byte, 5)
	rows := map[string]unrulyRow{
		"closes before the answer": {unruly{answer: func(_ *http2.Framer, nc net.Conn, _ uint32) { nc.Close() }}, lost,
			"the server closed it"},
		"closes in the midst of a message": {unruly{answer: func(f *http2.Framer, nc net.Conn, stream uint32) {
			begins(f, stream)
			f.WriteData(stream, false, message(0, 9, "half"))
			nc.Close()
		}}, lost, "the server closed it"},
		"closes before the trailers": {unruly{answer: func(f *http2.Framer, nc net.Conn, stream uint32) {
			begins(f, stream)
			f.WriteData(stream, false, none)
			nc.Close()
		}}, lost, "the server closed it"},
		"ends without trailers": {unruly{answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
			begins(f, stream)
			f.WriteData(stream, true, none)
		}}, wrong, "without a status"},
		"trailers without a status": {unruly{answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
			begins(f, stream)
			f.WriteData(stream, false, none)
			ends(f, stream, "x", "y")
		}}, wrong, "without a status"},
		"a status that is no number": {unruly{answer: heads("", ":status", "200", "grpc-status", "OK")}, wrong,
			"without a status"},
		"trailers only": {unruly{answer: heads("", ":status", "200", "grpc-status", "5", "grpc-message", "a%20b")},
			"server", "NotFound a b"},
		"an unknown encoding": {unruly{answer: sends(message(1, 1, "x"), "grpc-encoding", "snappy")}, wrong,
			"compressed"},
		"an unknown flag":            {unruly{answer: sends(message(7, 0, ""))}, wrong, "unknown prefix"},
		"a length beyond the answer": {unruly{answer: sends(message(0, 9, "half"))}, wrong, "in the midst of a message"},
		"a length within the answer": {unruly{answer: sends(message(0, 1, "xyz"))}, wrong, ""},
		"a huge length":              {unruly{answer: sends(message(0, 1<<32-1, "x"))}, wrong, "too long"},
		"a page of a proxy": {unruly{answer: heads("<html>Bad Gateway</html>", ":status", "502", "content-type",
			"text/html")}, again, "Unavailable HTTP status 502"},
		"a page without a body": {unruly{answer: heads("", ":status", "403")}, "server", "PermissionDenied HTTP status 403"},
		"a proxy with a status of gRPC": {unruly{answer: heads("", ":status", "503", "grpc-status", "8", "grpc-message",
			"full")}, "server", "ResourceExhausted full"},
		"pings before the answer": {unruly{
			answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
				f.WritePing(false, [8]byte{4: byte(stream >> 24), 5: byte(stream >> 16), 6: byte(stream >> 8), 7: byte(stream)})
			},
			frame: func(f *http2.Framer, frame http2.Frame) { // it answers when its ping was acknowledged
				if p, ok := frame.(*http2.PingFrame); ok && p.IsAck() {
					wholly(f, binary.BigEndian.Uint32(p.Data[4:]))
				}
			}}, good, ""},
		"settings before the answer": {unruly{
			settings: []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1}},
			answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
				f.WriteSettings(http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: stream})
				wholly(f, stream)
			}}, good, ""},
		"a flood of pings": {unruly{answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
			for range 300 {
				f.WritePing(false, [8]byte{1})
			}
			wholly(f, stream)
		}}, good, ""},
		"no window": {unruly{
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
			answer:   func(f *http2.Framer, _ net.Conn, stream uint32) { wholly(f, stream) },
			frame: func(f *http2.Framer, frame http2.Frame) {
				switch frame := frame.(type) {
				case *http2.HeadersFrame:
					f.WriteWindowUpdate(frame.StreamID, 1)
				case *http2.DataFrame:
					if !frame.StreamEnded() { // all windows shrink, below zero, and one grows by as much and a byte
						f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
						f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
						f.WriteWindowUpdate(frame.StreamID, 1)
					}
				}
			}}, good, ""},
		"headers in pieces": {unruly{answer: inPieces(3)}, good, ""},
		"a header of 20 kB": {unruly{answer: inPieces(2, "x", long)}, wrong, "headers that can't be decoded"},
		"headers of 80 kB": {unruly{answer: inPieces(5, "x", long, "y", long, "z", long, "a", long)}, wrong,
			"too long"},
		"headers interrupted": {unruly{answer: interrupted}, wrong, "interrupted"},
		"a stream nobody opened": {unruly{answer: func(f *http2.Framer, _ net.Conn, _ uint32) { wholly(f, 999_999) }},
			wrong, "didn't open"},
		"a frame of another type": {unruly{answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
			f.WriteRawFrame(0x55, 0xff, stream, []byte("new"))
			wholly(f, stream)
		}}, good, ""},
		"a frame that is too large": {unruly{answer: func(f *http2.Framer, _ net.Conn, stream uint32) {
			begins(f, stream)
			f.WriteData(stream, false, make([]byte, 1<<15))
		}}, wrong, "larger than allowed"},
		"an answer before the request": {unruly{
			settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
			frame: func(f *http2.Framer, frame http2.Frame) {
				if h, ok := frame.(*http2.HeadersFrame); ok {
					heads("", ":status", "200", "grpc-status", "8")(f, nil, h.StreamID)
				}
			}}, "server", "ResourceExhausted"},
		"GOAWAY for an error, after the call": {unruly{answer: func(f *http2.Framer, nc net.Conn, stream uint32) {
			f.WriteGoAway(stream, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
			nc.Close()
		}}, lost, ""},
	}
	for code := range http2.ErrCodeHTTP11Required + 2 {
		want := lost
		if code == http2.ErrCodeRefusedStream {
			want = again
		}
		row := rows["closes before the answer"]
		row.server.answer = func(f *http2.Framer, _ net.Conn, stream uint32) { f.WriteRSTStream(stream, code) }
		row.want, row.says = want, fmt.Sprintf("RST_STREAM the server ended the stream (HTTP/2 error %d)", uint32(code))
		rows[fmt.Sprint("resets with ", code)] = row
	}
	file := echoProto(t)
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := c.server.serve(t)
			for _, method := range []string{"Say", "List", "Gather", "Chat"} {
				c.blocking(t, address, file, method)
				for _, pipeline := range []int{1, 3} {
					const calls = 6
					total, _ := called(t.Context(), t, address, file, method, pipeline, calls, 30*time.Second)
					n := total.Errors[protocol.Protocol]
					if c.want == wrong && pipeline > 1 && n > 0 { // it ends the connection, with the other calls
						n += total.Errors[protocol.UnknownOutcome]
					}
					if got := byClass(&total); got != fmt.Sprint(c.want, ": ", calls) && (c.want != wrong || n != calls) {
						t.Errorf("%s on event loops, %d in flight: %s", method, pipeline, got)
					}
				}
			}
		})
	}
}

// interrupted answers with a block of headers that doesn't end.
func interrupted(f *http2.Framer, _ net.Conn, stream uint32) {
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(":status", "200")})
	f.WritePing(false, [8]byte{})
}
