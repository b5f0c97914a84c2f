package http2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"brunt/internal/protocol"
)

// taker is a Handler that keeps what it is given.
type taker struct {
	data  int
	ended bool
	reset string
}

func (h *taker) Headers(_ *Fields, last bool) (bool, protocol.Violation) {
	h.ended = last
	return last, ""
}

func (h *taker) Data(data []byte, last bool) (bool, protocol.Violation) {
	h.data += len(data)
	h.ended = last
	return last, ""
}

func (h *taker) Reset(_ http2.ErrCode, failure *protocol.Error) { h.reset = failure.Text }

func opened() (*Conn, *taker) {
	c, h := &Conn{}, &taker{}
	c.Init(h, NewHeaders([][]hpack.HeaderField{{{Name: ":method", Value: "POST"}, {Name: "a", Value: "b"}}}))
	return c, h
}

func frameOf(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	o := NewOutput()
	o.WriteRawFrame(kind, flags, stream, payload)
	return o.B
}

// bodies returns how many bytes of data the frames hold, by stream, and which streams they end.
func bodies(t *testing.T, frames []byte) (sizes map[uint32]int, ended map[uint32]bool) {
	t.Helper()
	sizes, ended = map[uint32]int{}, map[uint32]bool{}
	for len(frames) > 0 {
		f, size, _, violation := Cut(frames)
		if size == 0 || violation != "" {
			t.Fatalf("%q: %s", frames, violation)
		}
		if f.Type == http2.FrameData {
			sizes[f.StreamID] += len(f.Payload)
			ended[f.StreamID] = f.Flags.Has(http2.FlagDataEndStream)
		}
		frames = frames[size:]
	}
	return sizes, ended
}

func TestBodiesWaitForTheWindows(t *testing.T) {
	c, _ := opened()
	body := make([]byte, 100_000)
	out := c.Append(nil, 0, nil, body)
	out = c.Append(out, 0, nil, body)
	sizes, ended := bodies(t, out)
	if sizes[1]+sizes[3] != StandardWindow || ended[1] || ended[3] {
		t.Fatalf("at first %v %v", sizes, ended)
	}
	more := func(stream, by uint32) []byte {
		return frameOf(http2.FrameWindowUpdate, 0, stream, binary.BigEndian.AppendUint32(nil, by))
	}
	var reply protocol.Reply
	for _, f := range [][]byte{more(0, 1<<20), more(1, 1<<20), more(3, 10), settings(
		http2.SettingInitialWindowSize, 1<<20)} {
		if tag, ok := c.Answers(f); ok {
			c.Turn(tag)
		}
		if n, done, _ := c.Scan(f, &reply, ""); n != len(f) || done {
			t.Fatalf("%d of %d, %v, %+v", n, len(f), done, reply.Failure)
		}
		out = c.Speak(out)
	}
	sizes, ended = bodies(t, out)
	if sizes[1] != len(body) || sizes[3] != len(body) || !ended[1] || !ended[3] {
		t.Errorf("at last %v %v", sizes, ended)
	}
}

// settings returns a frame with one setting.
func settings(id http2.SettingID, value uint32) []byte {
	return frameOf(http2.FrameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, byte(id)}, value))
}

// end returns the answer that ends a stream.
func end(stream uint32) []byte {
	return frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, stream, []byte{0x88})
}

// began returns the streams that frames open, in order.
func began(t *testing.T, frames []byte) []uint32 { return streamsOf(t, frames, http2.FrameHeaders) }

// streamsOf returns the streams of those frames that are of a kind, in order.
func streamsOf(t *testing.T, frames []byte, kind http2.FrameType) (streams []uint32) {
	t.Helper()
	for len(frames) > 0 {
		f, size, _, violation := Cut(frames)
		if size == 0 || violation != "" {
			t.Fatalf("%q: %s", frames, violation)
		}
		if f.Type == kind {
			streams = append(streams, f.StreamID)
		}
		frames = frames[size:]
	}
	return streams
}

// Requests beyond the server's limit are sent when it takes them, in their order and in full.
func TestStreamsBeyondTheLimitAreHeld(t *testing.T) {
	c, _ := opened()
	var reply protocol.Reply
	hear := func(frame []byte) (out []byte) {
		t.Helper()
		if tag, ok := c.Answers(frame); ok {
			c.Turn(tag)
		}
		reply = protocol.Reply{}
		if n, _, _ := c.Scan(frame, &reply, ""); n != len(frame) || reply.Class != protocol.OK {
			t.Fatalf("%d of %d, %+v", n, len(frame), reply.Failure)
		}
		return c.Speak(nil)
	}
	hear(settings(http2.SettingMaxConcurrentStreams, 2))
	var out []byte
	for range 6 {
		out = c.Append(out, 0, AppendField(nil, "k", []byte("value")), []byte("body"))
	}
	opening := func(want string) {
		t.Helper()
		if got := fmt.Sprint(began(t, out)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	opening("[1 3]")
	out = hear(end(3))
	opening("[5]")
	if sizes, ended := bodies(t, out); sizes[5] != 4 || !ended[5] {
		t.Errorf("the body of the held request: %v %v", sizes, ended)
	}
	// A later limit holds for streams that aren't open yet.
	out = hear(settings(http2.SettingMaxConcurrentStreams, 1))
	opening("[]")
	out = hear(end(1))
	opening("[]")
	out = hear(end(5))
	opening("[7]")
	out = hear(settings(http2.SettingMaxConcurrentStreams, 100))
	opening("[9 11]")
	for _, stream := range []uint32{11, 7, 9} {
		hear(end(stream))
	}
	if len(c.streams) != 0 || len(c.held) != 0 {
		t.Errorf("%d streams, %d held", len(c.streams), len(c.held))
	}
}

// What was held when the server leaves was not sent, whichever stream the server names.
func TestGoAwayAnswersRequestsThatAreHeld(t *testing.T) {
	c, _ := opened()
	c.setting(http2.SettingMaxConcurrentStreams, 1)
	for range 3 {
		c.Append(nil, 0, nil, nil)
	}
	buf := append(frameOf(http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint64(nil, LargestStream<<32)), end(1)...)
	for i := range 3 {
		tag, ok := c.Answers(buf)
		if !ok {
			t.Fatalf("%q answers nothing", buf)
		}
		c.Turn(tag)
		var reply protocol.Reply
		n, done, _ := c.Scan(buf, &reply, "")
		if buf = buf[n:]; !done || reply.Again != (i < 2) || reply.Fatal != (i == 2) {
			t.Errorf("stream %d: done %v, %+v", tag, done, reply)
		}
	}
	if out := c.Speak(nil); len(began(t, out)) > 0 {
		t.Errorf("opened %v after the GOAWAY", began(t, out))
	}
}

func TestAServerDoesNotAnswerWhatIsHeld(t *testing.T) {
	c, _ := opened()
	c.setting(http2.SettingMaxConcurrentStreams, 1)
	c.Append(nil, 0, nil, nil)
	c.Append(nil, 0, nil, nil)
	c.Turn(3)
	var reply protocol.Reply
	if _, done, _ := c.Scan(end(3), &reply, ""); !done || reply.Class != protocol.Protocol || !reply.Fatal {
		t.Errorf("%v %+v", done, reply)
	}
}

// A request may be encoded while the headers of an answer have arrived in part.
func TestARequestBetweenPartsOfHeaders(t *testing.T) {
	c, h := opened()
	c.Append(nil, 0, nil, nil)
	var reply protocol.Reply
	if _, done, _ := c.Scan(frameOf(http2.FrameHeaders, http2.FlagHeadersEndStream, 1, []byte{0x88}), &reply, ""); done {
		t.Fatal("done")
	}
	c.Append(nil, 0, AppendField(nil, "k", []byte("value")), nil)
	rest := frameOf(http2.FrameContinuation, http2.FlagHeadersEndHeaders, 1, []byte{0x89})
	if _, done, _ := c.Scan(rest, &reply, ""); !done || !h.ended || reply.Class != protocol.OK {
		t.Errorf("%v %+v", done, reply.Failure)
	}
	if got := c.known[1]; string(got) != "\x88\x89" {
		t.Errorf("the headers are %q", got)
	}
}

func TestOurWindowsAreFilledUp(t *testing.T) {
	c, h := opened()
	c.Append(nil, 0, nil, nil)
	c.received, c.unacknowledged = refill, LargestWindow/2+refill/2
	var reply protocol.Reply
	c.Scan(frameOf(http2.FrameData, 0, 1, []byte("x")), &reply, "")
	out := c.Speak(nil)
	if n := bytes.Count(out, []byte{0, 0, 4, byte(http2.FrameWindowUpdate)}); n != 2 || h.data != 1 {
		t.Errorf("%d updates in %q, %d bytes", n, out, h.data)
	}
}

func TestGoAwayAnswersRequestsThatTheServerDoesNotProcess(t *testing.T) {
	c, _ := opened()
	for range 3 {
		c.Append(nil, 0, nil, nil)
	}
	away := frameOf(http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint64(nil, 1<<32))
	buf := append(away, end(1)...)
	var fates []string
	for range 3 {
		tag, ok := c.Answers(buf)
		if !ok {
			t.Fatalf("%q answers nothing", buf)
		}
		c.Turn(tag)
		var reply protocol.Reply
		n, done, _ := c.Scan(buf, &reply, "")
		if !done || !c.Draining() {
			t.Fatalf("stream %d: done %v, draining %v", tag, done, c.Draining())
		}
		buf = buf[n:]
		fates = append(fates, map[bool]string{true: "again", false: "answered"}[reply.Again])
		if last := len(fates) == 3; reply.Fatal != last {
			t.Errorf("answer %d: fatal %v", len(fates), reply.Fatal)
		}
	}
	if got := strings.Join(fates, " "); got != "again again answered" {
		t.Errorf("got %s", got)
	}
}

func TestStreamsRunOut(t *testing.T) {
	c, _ := opened()
	c.nextStream = LargestStream - 4
	c.Append(nil, 0, nil, nil)
	var reply protocol.Reply
	_, done, _ := c.Scan(end(c.ID), &reply, "")
	if !done || reply.Class != protocol.OK || !reply.Fatal {
		t.Errorf("%v %+v", done, reply)
	}
}

// Lists that don't fit into the server's table are sent without it, so that nothing is evicted.
func TestManyHeadersDecodeAsSent(t *testing.T) {
	var lists [][]hpack.HeaderField
	for i := range 200 {
		lists = append(lists, []hpack.HeaderField{{Name: ":path", Value: strings.Repeat("/x", i+1)}, {Name: "n", Value: "1"}})
	}
	h, d := NewHeaders(lists), hpack.NewDecoder(4096, nil)
	for range 3 {
		for i := range lists {
			extra := strings.Repeat("v", i*3)
			got, err := d.DecodeFull(AppendField(bytes.Clone(h.Block(i)), "k", []byte(extra)))
			if err != nil || len(got) != 3 || got[0] != lists[i][0] || got[2].Value != extra {
				t.Fatalf("list %d: %v, %v", i, got, err)
			}
		}
	}
}

// Answers in another order than that of the requests are found; each is the answer to its own request.
func TestStreamsEndInAnyOrder(t *testing.T) {
	c, _ := opened()
	const n = 50
	ids := make([]uint32, 0, n)
	for i := range n {
		c.Append(nil, 0, nil, nil)
		c.Stamp(int64(i))
		ids = append(ids, uint32(c.Tag()))
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for i, id := range ids {
		tag, ok := c.Answers(end(id))
		if !ok || uint32(tag) != id {
			t.Fatalf("answers %d, %v; want %d", tag, ok, id)
		}
		c.Turn(tag)
		if c.At != int64(id/2) || len(c.streams) != n-i {
			t.Fatalf("stream %d has time %d, %d are open", id, c.At, len(c.streams))
		}
		var reply protocol.Reply
		if _, done, _ := c.Scan(end(id), &reply, ""); !done || reply.Class != protocol.OK {
			t.Fatalf("stream %d: %v %+v", id, done, reply.Failure)
		}
		if _, ok := c.Answers(end(id)); ok {
			t.Fatalf("stream %d is there after its end", id)
		}
	}
	if c.ID != 0 || c.stuck != 0 {
		t.Errorf("stream %d, %d stuck", c.ID, c.stuck)
	}
}

// BenchmarkStreams is the cost of a request and its answer with 50 in flight.
func BenchmarkStreams(b *testing.B) {
	c, _ := opened()
	body, out := make([]byte, 9), []byte(nil)
	head := frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, []byte{0x88})
	tail := frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, []byte{0x88})
	answer := append(append(head, frameOf(http2.FrameData, 0, 1, make([]byte, 9))...), tail...)
	second := FrameHead + 1
	for range 50 {
		out = c.Append(out[:0], 0, nil, body)
	}
	id := uint32(1)
	b.ReportAllocs()
	for b.Loop() {
		for _, at := range []int{0, second, second + FrameHead + 9} {
			binary.BigEndian.PutUint32(answer[at+5:], id)
		}
		c.connectionWindow = StandardWindow
		tag, _ := c.Answers(answer)
		c.Turn(tag)
		var reply protocol.Reply
		if _, done, _ := c.Scan(answer, &reply, ""); !done || reply.Class != protocol.OK {
			b.Fatal(reply.Failure)
		}
		out = c.Append(out[:0], 0, nil, body)
		if id += 2; c.Over() {
			b.Fatal("streams ran out")
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add(frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, []byte{0x88}), uint16(3))
	f.Add(frameOf(http2.FrameGoAway, 0, 0, make([]byte, 8)), uint16(9))
	f.Add(frameOf(http2.FrameSettings, 0, 0, []byte{0, 4, 0, 0, 0, 0}), uint16(9))
	f.Add(append(settings(http2.SettingMaxConcurrentStreams, 1), end(1)...), uint16(9))
	f.Add(frameOf(http2.FrameWindowUpdate, 0, 1, []byte{0, 0, 0, 9}), uint16(9))
	f.Fuzz(func(t *testing.T, answer []byte, size uint16) {
		c, _ := opened()
		c.Append(nil, 0, nil, make([]byte, size))
		c.Append(nil, 0, nil, make([]byte, 70_000))
		c.setting(http2.SettingMaxConcurrentStreams, 2)
		c.Append(nil, 0, nil, make([]byte, size))
		for len(answer) > 0 {
			var reply protocol.Reply
			if tag, ok := c.Answers(answer); ok {
				c.Turn(tag)
			}
			n, done, _ := c.Scan(answer, &reply, "")
			c.Speak(nil)
			if n < 0 || n > len(answer) {
				t.Fatalf("consumed %d of %d", n, len(answer))
			}
			if answer = answer[n:]; n == 0 && !done || reply.Fatal {
				return
			}
		}
	})
}
