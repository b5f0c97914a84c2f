package http2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"brunt/internal/protocol"
)

const (
	maxBlock   = 64 << 10 // bytes of a header block that comes in several frames
	maxWaiting = 4096     // settings and pings that wait for their acknowledgement
	refill     = 1 << 29  // bytes of answers after which our windows are filled up again
)

// Stream is a request and its answer.
type Stream struct {
	ID      uint32 // 0: none
	Bytes   int64  // of the frames of the answer so far
	Opened  bool   // its first headers have arrived
	Partial []byte // for the user: a part of the answer
	Count   int64  // for the user: messages of the answer so far
	At      int64  // for the user: a time
	Began   int64  // when it was stamped; 0 if it wasn't
	// Encoding is for the user: how the messages of the answer are encoded.
	Encoding string

	window   int64  // how many bytes we may send
	unsent   []byte // of the request's body: what the windows have no room for
	sending  bool   // unsent isn't all sent
	more     bool   // further parts of the body follow (Send)
	expired  bool   // the answer ends without anything from the server (Expire)
	held     bool   // it isn't open: the server takes no further stream for now
	list     int    // if it is held: of its fields
	extra    []byte // if it is held: further ones
	received int64  // bytes of data not yet returned to our window
}

// Handler takes the answer on the stream that is being read (Conn.Stream).
type Handler interface {
	// Headers takes the fields of a header block from Conn.Field. last says that they end the stream. finished says that
	// the answer is complete.
	Headers(fields *Fields, last bool) (finished bool, violation protocol.Violation)
	// Data takes a part of the body.
	Data(data []byte, last bool) (finished bool, violation protocol.Violation)
	// Reset takes the failure of a stream that the server reset.
	Reset(code http2.ErrCode, failure *protocol.Error)
}

// Fields are those of the last header block, as far as they are asked for.
type Fields struct {
	Status, Code, Text, Encoding string                    // :status, grpc-status, grpc-message, grpc-encoding
	Field                        func(h hpack.HeaderField) // is called with the others, if it isn't nil
}

// Conn is the state of a connection. Several requests may be in flight.
type Conn struct {
	*Stream         // the stream whose answer is being read; its ID is 0 if there is none
	Control *Output // frames to send to the server before the next request
	Headers *Headers

	handler          Handler
	out              *Output // frames of the request being encoded
	whole            []byte  // its header block, if it has further fields
	nextStream       uint32
	initialWindow    int64 // of each stream that we send on, in bytes
	connectionWindow int64 // current send window of the connection, in bytes
	frameLimit       int   // maximum size of a frame that the server accepts, in bytes
	most             int   // the greatest number of streams that the server accepts at a time
	unacknowledged   int64 // bytes of data received and not yet returned to our own window
	waiting          int   // settings and pings since Control was last sent
	urgent           bool  // Control holds what the server waits for

	greeted, acknowledged bool // handshake: the server's settings have arrived; it has acknowledged ours
	leaving               bool // the server accepts no further streams
	astray                bool // the violation that the handler returns is of its stream only

	sent    *Stream   // of the request that was encoded last
	streams []*Stream // those that aren't finished, in the order of their numbers
	stuck   int       // how many of them have a body that isn't all sent
	held    []*Stream // of streams, those that wait for the server to take them, in the order of their numbers
	idle    *Stream   // stands for Stream while there is none
	unused  []*Stream // of earlier requests
	headerBlock
}

// headerBlock is what a connection knows of header blocks.
type headerBlock struct {
	block   []byte // part of an answer's header block, which comes in several frames
	inBlock uint32 // the stream of that block; 0: none
	ending  bool   // that block ends the stream

	decoder   *hpack.Decoder
	fields    Fields
	known     [2][]byte // the last block that began an answer, and the last that ended one
	knownText [2]Fields
}

// Init prepares a connection. The handler takes its answers.
func (c *Conn) Init(h Handler, headers *Headers) {
	idle := &Stream{}
	*c = Conn{handler: h, Headers: headers, Stream: idle, idle: idle, sent: idle, out: NewOutput(),
		Control: NewOutput(), nextStream: 1, initialWindow: StandardWindow, connectionWindow: StandardWindow,
		frameLimit: FrameLimit, most: LargestStream}
	c.decoder = hpack.NewDecoder(0, c.field)
	c.decoder.SetMaxStringLength(FrameLimit)
}

// Watch has each field of headers passed to take that Fields doesn't have.
func (c *Conn) Watch(take func(hpack.HeaderField)) { c.fields.Field = take }

// field is called with each decoded header field.
func (b *headerBlock) field(h hpack.HeaderField) {
	switch h.Name {
	case ":status":
		b.fields.Status = h.Value
	case "grpc-status":
		b.fields.Code = h.Value
	case "grpc-message":
		b.fields.Text = h.Value
	case "grpc-encoding":
		b.fields.Encoding = h.Value
	default:
		if b.fields.Field != nil {
			b.fields.Field(h)
		}
	}
}

// Append appends a request to dst: a HEADERS frame with a list of Headers and further fields, which AppendField has
// encoded, and the body, if there is one, in DATA frames. What the server's windows have no room for is sent as they
// grow (Speak), and a request for which it takes no further stream when an earlier one ends.
func (c *Conn) Append(dst []byte, list int, fields, body []byte) []byte {
	dst, _ = c.Start(dst, list, fields, body, false)
	return dst
}

// Start is like Append. If there is more of the body, Send sends it later. It returns the stream of the request.
func (c *Conn) Start(dst []byte, list int, fields, body []byte, more bool) (out []byte, s *Stream) {
	c.urgent, c.waiting = false, 0
	c.out.B = append(dst, c.Control.B...)
	c.Control.B = c.Control.B[:0]
	if c.unacknowledged > LargestWindow/2 {
		c.out.WriteWindowUpdate(0, uint32(c.unacknowledged))
		c.unacknowledged = 0
	}
	s = c.begin()
	s.more = more
	if len(c.held) > 0 || len(c.streams) > c.most {
		s.held, s.list, s.extra, s.unsent = true, list, append(s.extra, fields...), append(s.unsent, body...)
		c.held = append(c.held, s)
	} else if rest := c.open(c.out, s, list, fields, body); rest != nil {
		s.unsent = append(s.unsent, rest...)
		c.wait(s, true)
	}
	out, c.out.B = c.out.B, nil
	return out, s
}

// Send sends a further part of the body of a request; last says that it is the last one, and may be empty. Speak says
// when it is sent.
func (c *Conn) Send(s *Stream, part []byte, last bool) {
	s.more, c.urgent = !last, true
	if s.held || s.sending {
		s.unsent = append(s.unsent, part...)
		return
	}
	rest := c.send(c.Control, s, part)
	s.unsent = append(s.unsent[:0], rest...)
	c.wait(s, rest != nil)
}

// Has reports whether the stream of a number is in use, and s is it. Streams are used again.
func (c *Conn) Has(s *Stream, id uint32) bool { return s.ID == id && c.stream(id) == s }

// Free reports whether a further part of a request's body would be sent now: the stream is open, and the server's
// windows had room for all parts before.
func (s *Stream) Free() bool { return !s.held && !s.sending }

// Held reports whether the server takes no further stream for now, so that nothing of the request is sent.
func (s *Stream) Held() bool { return s.held }

// Expire ends the answer on a stream: the next Scan of it finds it complete, whatever the server has sent.
func (c *Conn) Expire(s *Stream) { s.expired = true }

// open writes a request's headers and as much of its body as the windows allow, and returns the rest; nil if all of it
// has been written.
func (c *Conn) open(to *Output, s *Stream, list int, fields, body []byte) (rest []byte) {
	block := c.Headers.Block(list)
	if len(fields) > 0 {
		c.whole = append(append(c.whole[:0], block...), fields...)
		block = c.whole
	}
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if len(body) == 0 && !s.more {
		flags = http2.FlagHeadersEndStream
	}
	for {
		part := block[:min(len(block), c.frameLimit)]
		block = block[len(part):]
		if len(block) == 0 {
			to.frame(kind, flags|http2.FlagHeadersEndHeaders, s.ID, part)
			break
		}
		to.frame(kind, flags, s.ID, part)
		kind, flags = http2.FrameContinuation, 0
	}
	if len(body) == 0 { // the header is all of it
		return nil
	}
	return c.send(to, s, body)
}

// release opens streams that were held, as far as the server takes them.
func (c *Conn) release() {
	n := 0
	for !c.leaving && n < len(c.held) && len(c.streams)-len(c.held)+n < c.most {
		s := c.held[n]
		n++
		s.held, c.urgent = false, true
		rest := c.open(c.Control, s, s.list, s.extra, s.unsent)
		s.unsent = append(s.unsent[:0], rest...)
		c.wait(s, rest != nil)
	}
	c.held = slices.Delete(c.held, 0, n)
}

// send writes as much of a body as the windows allow, and returns the rest; nil if all of it has been written.
func (c *Conn) send(to *Output, s *Stream, body []byte) (rest []byte) {
	for {
		n := min(len(body), c.frameLimit)
		room := max(0, min(c.connectionWindow, s.window))
		if int64(n) > room {
			n = int(room)
		}
		if n == 0 && len(body) > 0 {
			return body
		}
		c.connectionWindow, s.window = c.connectionWindow-int64(n), s.window-int64(n)
		switch {
		case n == len(body) && !s.more:
			to.frame(http2.FrameData, http2.FlagDataEndStream, s.ID, body)
			return nil
		case n == len(body):
			to.frame(http2.FrameData, 0, s.ID, body)
			return nil
		}
		to.frame(http2.FrameData, 0, s.ID, body[:n])
		body = body[n:]
	}
}

// goOn sends the rest of requests' bodies after windows have grown.
func (c *Conn) goOn() {
	for i := 0; c.stuck > 0 && i < len(c.streams); i++ {
		s := c.streams[i]
		if !s.sending {
			continue
		}
		c.urgent = true
		rest := c.send(c.Control, s, s.unsent)
		s.unsent = append(s.unsent[:0], rest...)
		c.wait(s, rest != nil)
	}
}

// wait records whether a part of a stream's body waits for room in the server's windows.
func (c *Conn) wait(s *Stream, sending bool) {
	switch {
	case sending && !s.sending:
		c.stuck++
	case !sending && s.sending:
		c.stuck--
	}
	s.sending = sending
}

// stop ends what is sent of a stream.
func (c *Conn) stop(s *Stream) {
	s.more = false
	c.wait(s, false)
}

// Window returns how many bytes of a request's body the server accepts at once.
func (c *Conn) Window() int64 { return min(c.connectionWindow, c.initialWindow) }

// Speak implements protocol.Speaker: it appends what the server is waiting for to dst. Acknowledgements wait for the
// next request, unless an answer is long.
func (c *Conn) Speak(dst []byte) []byte {
	if !c.urgent {
		return dst
	}
	c.urgent, c.waiting = false, 0
	dst = append(dst, c.Control.B...)
	c.Control.B = c.Control.B[:0]
	return dst
}

// begin opens the stream of the next request.
func (c *Conn) begin() *Stream {
	if len(c.unused) == 0 {
		c.unused = append(c.unused, &Stream{})
	}
	last := len(c.unused) - 1
	s := c.unused[last]
	c.unused = c.unused[:last]
	*s = Stream{ID: c.nextStream, Partial: s.Partial[:0], unsent: s.unsent[:0], extra: s.extra[:0],
		window: c.initialWindow}
	c.streams, c.sent = append(c.streams, s), s
	c.nextStream += 2
	if len(c.streams) == 1 {
		c.Stream = s
	}
	return s
}

// Stamp sets the times of the request that was encoded last.
func (c *Conn) Stamp(at int64) { c.sent.At, c.sent.Began = at, at }

// position returns where a stream is, or would be, in c.streams.
func (c *Conn) position(id uint32) int {
	if len(c.streams) == 0 || c.streams[0].ID >= id { // most answers come in the order of their requests
		return 0
	}
	low, high := 1, len(c.streams)
	for low < high {
		if middle := (low + high) / 2; c.streams[middle].ID < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// stream returns the unfinished stream with a number; nil if there is none.
func (c *Conn) stream(id uint32) *Stream {
	if i := c.position(id); i < len(c.streams) && c.streams[i].ID == id {
		return c.streams[i]
	}
	return nil
}

// Finish forgets the answer that has been read.
func (c *Conn) Finish() {
	if c.ID == 0 {
		return
	}
	if c.sending || c.more { // the server answered before it had read the request
		c.stop(c.Stream)
		c.Control.WriteRSTStream(c.ID, http2.ErrCodeCancel)
		c.urgent = true
	}
	i := c.position(c.ID)
	c.streams = slices.Delete(c.streams, i, i+1)
	if len(c.held) > 0 {
		c.release()
	}
	c.unused = append(c.unused, c.Stream)
	if c.Stream = c.idle; len(c.streams) > 0 {
		c.Stream = c.streams[0]
	}
}

// Abandon resets the stream that is being read, because its answer isn't needed further.
func (c *Conn) Abandon() {
	if c.ID != 0 {
		c.stop(c.Stream)
		c.urgent = true
		c.Control.WriteRSTStream(c.ID, http2.ErrCodeCancel)
	}
}

// Astray says that the violation which a handler is about to return is of the stream that is being read: other streams
// go on. last says that the server has ended it; otherwise it is reset.
func (c *Conn) Astray(last bool) {
	c.astray = true
	if !last {
		c.Abandon()
	}
}

// Drop implements protocol.Dropper: it resets a stream (RFC 9113, section 5.4.2).
func (c *Conn) Drop(stream uint64) bool {
	i := c.position(uint32(stream))
	if i == len(c.streams) || c.streams[i].ID != uint32(stream) {
		return false
	}
	s := c.streams[i]
	c.streams = slices.Delete(c.streams, i, i+1)
	c.stop(s)
	if s.held {
		c.held = slices.DeleteFunc(c.held, func(h *Stream) bool { return h == s })
	} else {
		c.Control.WriteRSTStream(s.ID, http2.ErrCodeCancel)
		c.urgent = true
	}
	c.release()
	c.unused = append(c.unused, s)
	if c.Stream == s {
		if c.Stream = c.idle; len(c.streams) > 0 {
			c.Stream = c.streams[0]
		}
	}
	return true
}

// Over reports whether no further stream can be opened.
func (c *Conn) Over() bool { return c.leaving || c.nextStream >= LargestStream-2 }

// Tag implements protocol.Tagged.
func (c *Conn) Tag() uint64 { return uint64(c.sent.ID) }

// Turn implements protocol.Tagged.
func (c *Conn) Turn(stream uint64) {
	if c.ID != uint32(stream) {
		if s := c.stream(uint32(stream)); s != nil {
			c.Stream = s
		}
	}
}

// Answers implements protocol.Tagged. A GOAWAY is the answer to each request that the server won't process.
func (c *Conn) Answers(buf []byte) (stream uint64, ok bool) {
	f, size, _, violation := Cut(buf)
	if size == 0 || violation != "" {
		return 0, false
	}
	if f.Type == http2.FrameGoAway && len(f.Payload) >= 8 {
		last := binary.BigEndian.Uint32(f.Payload) & LargestStream
		for _, s := range c.streams {
			if s.ID > last || s.held {
				return uint64(s.ID), true
			}
		}
	}
	if c.stream(f.StreamID) == nil {
		return 0, false
	}
	return uint64(f.StreamID), true
}

// Scan reads the answer on the stream. It is for Codec.Scan; introduction precedes the texts of violations.
func (c *Conn) Scan(buf []byte, reply *protocol.Reply, introduction string) (n int, done bool, need int) {
	if c.expired {
		c.Abandon()
		c.complete(reply)
		return 0, true, 0
	}
	for {
		f, size, need, violation := Cut(buf[n:])
		if violation == "" && size == 0 {
			if n > 0 {
				need = 0
			}
			return n, false, need
		}
		if violation == "" && f.StreamID != c.ID && c.stream(f.StreamID) != nil {
			return n, false, 0 // of another answer
		}
		finished := false
		if violation == "" {
			if f.Type == http2.FrameGoAway && c.unprocessed(&f) > 1 {
				size = 0 // it answers other requests, too
			}
			n += size
			c.Bytes += int64(size)
			finished, violation = c.take(&f, reply)
		}
		switch {
		case violation != "" && c.astray:
			c.astray = false
			failure := violation.Failure(introduction)
			failure.Fatal = false
			reply.Fail(failure)
			reply.BytesIn = c.Bytes
			c.Finish()
			reply.Fatal = c.Over() && len(c.streams) == 0
			return n, true, 0
		case violation != "":
			reply.Fail(violation.Failure(introduction))
			c.Finish()
			return len(buf), true, 0
		case finished:
			c.complete(reply)
			return n, true, 0
		}
	}
}

// complete ends the reply of an answer that is complete.
func (c *Conn) complete(reply *protocol.Reply) {
	reply.BytesIn = c.Bytes
	c.Finish()
	reply.Fatal = reply.Fatal || c.Over() && len(c.streams) == 0
}

// unprocessed returns how many requests a GOAWAY says that the server doesn't process.
func (c *Conn) unprocessed(f *Frame) (n int) {
	if len(f.Payload) < 8 {
		return 0
	}
	last := binary.BigEndian.Uint32(f.Payload) & LargestStream
	for _, s := range c.streams {
		if s.ID > last || s.held {
			n++
		}
	}
	return n
}

// ScanIdle implements protocol.IdleScanner: a GOAWAY between requests is the end of the connection.
func (c *Conn) ScanIdle(buf []byte) (n int, end *protocol.Error) {
	for !c.leaving {
		f, size, _, violation := Cut(buf[n:])
		if violation == "" && size == 0 {
			break
		}
		if violation == "" {
			n += size
			_, violation = c.take(&f, &protocol.Reply{})
		}
		if violation != "" {
			return n, protocol.Unusable(string(violation))
		}
	}
	if c.leaving {
		end = protocol.Unusable("GOAWAY")
	}
	return n, end
}

// take processes a frame. finished says that the answer is complete. During the handshake there are no streams.
func (c *Conn) take(f *Frame, reply *protocol.Reply) (finished bool, violation protocol.Violation) {
	if c.inBlock != 0 && (f.Type != http2.FrameContinuation || f.StreamID != c.inBlock) {
		return false, "headers were interrupted"
	}
	switch f.Type {
	case http2.FrameSettings, http2.FramePing, http2.FrameWindowUpdate:
		return false, c.housekeeping(f)
	case http2.FrameGoAway:
		return c.goAway(f, reply)
	case http2.FramePushPromise:
		return false, "a push, which we refused"
	case http2.FrameContinuation:
		return c.continuation(f)
	}
	if f.Type != http2.FrameData && f.Type != http2.FrameHeaders && f.Type != http2.FrameRSTStream {
		return false, "" // frames of other types must be ignored
	}
	if f.StreamID == 0 || f.StreamID >= c.nextStream || len(c.held) > 0 && f.StreamID >= c.held[0].ID {
		return false, "a frame of a stream that we didn't open"
	}
	mine := f.StreamID == c.ID
	switch f.Type {
	case http2.FrameData:
		c.account(f, mine)
		if violation = f.unpad(); violation != "" || !mine {
			return false, violation
		}
		return c.handler.Data(f.Payload, f.Flags.Has(http2.FlagDataEndStream))
	case http2.FrameRSTStream:
		if len(f.Payload) != 4 {
			return false, "a frame has a wrong length"
		}
		if mine {
			c.stop(c.Stream)
			code := http2.ErrCode(binary.BigEndian.Uint32(f.Payload))
			c.handler.Reset(code, resetFailure(code))
		}
		return mine, ""
	}
	if violation = f.unpad(); violation != "" {
		return false, violation
	}
	c.ending = f.Flags.Has(http2.FlagDataEndStream)
	if f.Flags.Has(http2.FlagHeadersEndHeaders) {
		return c.headed(f.StreamID, f.Payload)
	}
	c.inBlock, c.block = f.StreamID, append(c.block[:0], f.Payload...)
	return false, ""
}

// account counts data against our windows, and fills them up when half is used within one answer.
func (c *Conn) account(f *Frame, mine bool) {
	n := int64(len(f.Payload))
	c.unacknowledged += n
	if !mine {
		return
	}
	if c.received += n; c.received > refill {
		c.Control.WriteWindowUpdate(c.ID, uint32(c.received))
		c.received, c.urgent = 0, true
	}
	if c.unacknowledged > LargestWindow/2+refill/2 {
		c.Control.WriteWindowUpdate(0, uint32(c.unacknowledged))
		c.unacknowledged, c.urgent = 0, true
	}
}

func (c *Conn) continuation(f *Frame) (finished bool, violation protocol.Violation) {
	if c.inBlock == 0 {
		return false, "headers go on that didn't begin"
	}
	if c.block = append(c.block, f.Payload...); len(c.block) > maxBlock {
		return false, "headers are too long"
	}
	if !f.Flags.Has(http2.FlagHeadersEndHeaders) {
		return false, ""
	}
	c.inBlock = 0
	return c.headed(f.StreamID, c.block)
}

// headed processes a header block. Blocks don't depend on earlier ones, because we allow the server no dynamic
// table; a block that equals the last one of its kind needn't be decoded again.
func (c *Conn) headed(stream uint32, block []byte) (finished bool, violation protocol.Violation) {
	if stream != c.ID {
		return false, ""
	}
	kind := 0
	if c.ending {
		kind = 1
	}
	if known := c.known[kind]; len(known) > 0 && c.fields.Field == nil && bytes.Equal(block, known) {
		c.fields = c.knownText[kind]
	} else {
		c.fields = Fields{Field: c.fields.Field}
		if _, err := c.decoder.Write(block); err != nil || c.decoder.Close() != nil {
			return false, "headers that can't be decoded"
		}
		c.known[kind], c.knownText[kind] = append(known[:0], block...), c.fields
	}
	finished, violation = c.handler.Headers(&c.fields, c.ending)
	c.Opened = true
	return finished, violation
}

// goBandwidth is the content of the pings by which gRPC servers in Go measure their bandwidth, one with each request
// (google.golang.org/grpc, internal/transport/bdp_estimator.go). Their acknowledgement can wait for the next request;
// that of others can't: a server that doesn't get it closes the connection.
var goBandwidth = [8]byte{2, 4, 16, 16, 9, 14, 7, 7}

// housekeeping processes frames about the connection.
func (c *Conn) housekeeping(f *Frame) (violation protocol.Violation) {
	switch {
	case f.Type == http2.FramePing && len(f.Payload) == 8:
		if !f.Flags.Has(http2.FlagSettingsAck) {
			c.Control.WritePing(true, [8]byte(f.Payload))
			c.urgent = c.urgent || c.ID == 0 || c.Opened || [8]byte(f.Payload) != goBandwidth
		}
	case f.Type == http2.FrameWindowUpdate && len(f.Payload) == 4:
		more := int64(binary.BigEndian.Uint32(f.Payload) &^ (1 << 31))
		if f.StreamID == 0 {
			c.connectionWindow += more
		} else if s := c.stream(f.StreamID); s != nil {
			s.window += more
		}
		c.goOn()
	case f.Type == http2.FrameSettings && f.Flags.Has(http2.FlagSettingsAck) && len(f.Payload) == 0:
		c.acknowledged = true
	case f.Type == http2.FrameSettings && !f.Flags.Has(http2.FlagSettingsAck) && len(f.Payload)%6 == 0:
		c.greeted = true
		for p := f.Payload; len(p) > 0; p = p[6:] {
			c.setting(http2.SettingID(binary.BigEndian.Uint16(p)), binary.BigEndian.Uint32(p[2:]))
		}
		c.Control.WriteSettingsAck()
		c.urgent = true
		c.goOn()
		c.release()
	default:
		return "a frame has a wrong length"
	}
	if f.Type != http2.FrameWindowUpdate {
		c.waiting++
	}
	if c.waiting > maxWaiting {
		return "the server sends more pings than a connection needs"
	}
	return ""
}

func (c *Conn) setting(id http2.SettingID, value uint32) {
	switch id {
	case http2.SettingHeaderTableSize:
		c.Headers.Limit(value)
	case http2.SettingInitialWindowSize:
		for _, s := range c.streams {
			s.window += int64(value) - c.initialWindow
		}
		c.initialWindow = int64(value)
	case http2.SettingMaxFrameSize:
		c.frameLimit = int(min(max(value, FrameLimit), 1<<24-1))
	case http2.SettingMaxConcurrentStreams:
		c.most = int(min(value, LargestStream))
	}
}

// goAway records that the server ends the connection. The server hasn't processed streams after the one that the
// frame names.
func (c *Conn) goAway(f *Frame, reply *protocol.Reply) (finished bool, violation protocol.Violation) {
	if len(f.Payload) < 8 {
		return false, "a frame has a wrong length"
	}
	c.leaving = true
	last, code := binary.BigEndian.Uint32(f.Payload)&^(1<<31), http2.ErrCode(binary.BigEndian.Uint32(f.Payload[4:]))
	if c.ID == 0 || c.ID <= last && !c.Stream.held {
		return false, ""
	}
	c.stop(c.Stream)
	reply.Again = true
	reply.Fail(&protocol.Error{Class: protocol.Retryable, Code: "GOAWAY",
		Text: fmt.Sprintf("the server ends the connection and didn't look at the request (HTTP/2 error %d)", uint32(code))})
	return true, ""
}

// Draining implements protocol.Drainer.
func (c *Conn) Draining() bool { return c.leaving }

// resetFailure returns the failure for a stream that the server reset.
func resetFailure(code http2.ErrCode) *protocol.Error {
	e := &protocol.Error{Class: protocol.UnknownOutcome, Code: "RST_STREAM",
		Text: fmt.Sprintf("the server ended the stream (HTTP/2 error %d)", uint32(code))}
	if code == http2.ErrCodeRefusedStream {
		e.Class = protocol.Retryable
	}
	return e
}

// Greet exchanges settings over a new connection. It returns when the server has acknowledged ours, so that the
// server's later headers don't depend on anything that it sent before. extra is what the server sent after that. An
// answer that isn't HTTP/2 is a Mismatch.
func (c *Conn) Greet(ctx context.Context, nc net.Conn) (extra []byte, err error) {
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c.Control.greet()
	if _, err := nc.Write(c.Control.B); err != nil {
		return nil, err
	}
	c.Control.B = c.Control.B[:0]
	var buf []byte
	piece := make([]byte, 4<<10)
	for !c.greeted || !c.acknowledged {
		n, err := nc.Read(piece)
		if err != nil {
			return nil, err
		}
		buf = append(buf, piece[:n]...)
		for !c.greeted || !c.acknowledged {
			f, size, _, violation := Cut(buf)
			if violation == "" && size == 0 {
				break
			}
			if violation == "" {
				violation = c.greet(&f)
			}
			if violation != "" {
				return nil, Mismatch(violation)
			}
			buf = buf[size:]
		}
	}
	if _, err := nc.Write(c.Control.B); err != nil {
		return nil, err
	}
	c.Control.B = c.Control.B[:0]
	if !stop() {
		return nil, context.DeadlineExceeded
	}
	return buf, nil
}

// Mismatch is the error that a server doesn't speak HTTP/2.
type Mismatch string

// Error implements error.
func (m Mismatch) Error() string { return "it doesn't speak HTTP/2 (" + string(m) + ")" }

// greet processes a frame of the handshake.
func (c *Conn) greet(f *Frame) (violation protocol.Violation) {
	if !c.greeted && (f.Type != http2.FrameSettings || f.Flags.Has(http2.FlagSettingsAck)) {
		return "it doesn't begin with its settings"
	}
	_, violation = c.take(f, nil)
	if violation == "" && c.leaving {
		violation = "it ended the connection"
	}
	return violation
}
