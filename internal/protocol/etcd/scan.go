package etcd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
)

const (
	maxMessage = 256 << 20 // bytes of an answer
	maxBlock   = 64 << 10  // bytes of a header block that comes in several frames
)

// answer is the state of an answer.
type answer struct {
	stream  uint32 // 0: none
	bytes   int64
	opened  bool   // its first headers have arrived
	parsed  bool   // its message has been read
	partial []byte // part of the message, if it comes in several frames
}

// headerBlock is what a connection knows of header blocks.
type headerBlock struct {
	block   []byte // part of a header block that comes in several frames
	inBlock uint32 // the stream of that block; 0: none
	ending  bool   // that block ends the stream

	decoder                *hpack.Decoder
	status, code, text     string // from the headers decoded last
	plainHead, plainTrails []byte // encoded headers known to mean status 200 and gRPC status 0
}

// Scan reads the answer to req.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	r := &c.requests[req.ID]
	c.current = req
	for {
		f, size, need, violation := cut(buf[n:])
		if violation == "" && size == 0 {
			if n > 0 {
				need = 0
			}
			return n, false, need
		}
		if violation == "" && f.StreamID != c.stream && c.answers[f.StreamID] != nil {
			return n, false, 0 // of another answer
		}
		finished := false
		if violation == "" {
			n += size
			c.bytes += int64(size)
			finished, violation = c.take(&f, r, reply)
		}
		switch {
		case violation != "":
			reply.Fail(violation.Failure("the answer isn't gRPC: "))
			c.finish()
			return len(buf), true, 0
		case finished:
			reply.BytesIn = c.bytes
			reply.Fatal = reply.Fatal || c.leaving || c.nextStream >= largestStream-2
			c.finish()
			return n, true, 0
		}
	}
}

// ScanIdle implements protocol.IdleScanner: a GOAWAY between requests is the end of the connection.
func (c *codec) ScanIdle(buf []byte) (n int, over bool) {
	for !c.leaving {
		f, size, _, violation := cut(buf[n:])
		if violation == "" && size == 0 {
			break
		}
		if violation == "" {
			n += size
			_, violation = c.take(&f, nil, &protocol.Reply{})
		}
		if violation != "" {
			return n, true
		}
	}
	return n, c.leaving
}

// take processes a frame. finished says that the answer is complete. r is nil during the handshake, when there
// are no streams.
func (c *codec) take(f *frame, r *request, reply *protocol.Reply) (finished bool, violation protocol.Violation) {
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
		return c.continuation(f, r, reply)
	}
	if f.Type != http2.FrameData && f.Type != http2.FrameHeaders && f.Type != http2.FrameRSTStream {
		return false, "" // frames of other types must be ignored
	}
	if f.StreamID == 0 || f.StreamID >= c.nextStream {
		return false, "a frame of a stream that we didn't open"
	}
	mine := f.StreamID == c.stream
	switch f.Type {
	case http2.FrameData:
		c.unacknowledged += int64(len(f.payload))
		if violation = f.unpad(); violation != "" || !mine {
			return false, violation
		}
		return false, c.data(f, r, reply)
	case http2.FrameRSTStream:
		if len(f.payload) != 4 {
			return false, "a frame has a wrong length"
		}
		if mine {
			reply.Fail(resetFailure(http2.ErrCode(binary.BigEndian.Uint32(f.payload))))
		}
		return mine, ""
	}
	if violation = f.unpad(); violation != "" {
		return false, violation
	}
	c.ending = f.Flags.Has(http2.FlagDataEndStream)
	if f.Flags.Has(http2.FlagHeadersEndHeaders) {
		return c.headed(f.StreamID, f.payload, r, reply)
	}
	c.inBlock, c.block = f.StreamID, append(c.block[:0], f.payload...)
	return false, ""
}

func (c *codec) continuation(f *frame, r *request, reply *protocol.Reply) (
	finished bool, violation protocol.Violation) {
	if c.inBlock == 0 {
		return false, "headers go on that didn't begin"
	}
	if c.block = append(c.block, f.payload...); len(c.block) > maxBlock {
		return false, "headers are too long"
	}
	if !f.Flags.Has(http2.FlagHeadersEndHeaders) {
		return false, ""
	}
	c.inBlock = 0
	return c.headed(f.StreamID, c.block, r, reply)
}

// housekeeping processes frames about the connection.
func (c *codec) housekeeping(f *frame) (violation protocol.Violation) {
	switch {
	case f.Type == http2.FramePing && len(f.payload) == 8:
		if !f.Flags.Has(http2.FlagSettingsAck) {
			c.control.WritePing(true, [8]byte(f.payload))
		}
	case f.Type == http2.FrameWindowUpdate && len(f.payload) == 4:
		if f.StreamID == 0 {
			c.connectionWindow += int64(binary.BigEndian.Uint32(f.payload) &^ (1 << 31))
		}
	case f.Type == http2.FrameSettings && f.Flags.Has(http2.FlagSettingsAck) && len(f.payload) == 0:
		c.acknowledged = true
	case f.Type == http2.FrameSettings && !f.Flags.Has(http2.FlagSettingsAck) && len(f.payload)%6 == 0:
		c.greeted = true
		for p := f.payload; len(p) > 0; p = p[6:] {
			c.setting(http2.SettingID(binary.BigEndian.Uint16(p)), binary.BigEndian.Uint32(p[2:]))
		}
		c.control.WriteSettingsAck()
	default:
		return "a frame has a wrong length"
	}
	if len(c.control.b) > maxBlock {
		return "the server asks for too many acknowledgements"
	}
	return ""
}

func (c *codec) setting(id http2.SettingID, value uint32) {
	switch id {
	case http2.SettingHeaderTableSize:
		c.headers.limit(value)
	case http2.SettingInitialWindowSize:
		c.streamWindow = int64(value)
	case http2.SettingMaxFrameSize:
		c.frameLimit = int(min(max(value, frameLimit), 1<<24-1))
	}
}

// goAway records that the server ends the connection. The server hasn't processed streams after the one that the
// frame names.
func (c *codec) goAway(f *frame, reply *protocol.Reply) (finished bool, violation protocol.Violation) {
	if len(f.payload) < 8 {
		return false, "a frame has a wrong length"
	}
	c.leaving = true
	last, code := binary.BigEndian.Uint32(f.payload)&^(1<<31), http2.ErrCode(binary.BigEndian.Uint32(f.payload[4:]))
	if c.stream == 0 || c.stream <= last {
		return false, ""
	}
	reply.Again = true
	reply.Fail(&protocol.Error{Class: protocol.Retryable, Code: "GOAWAY", Fatal: true,
		Text: fmt.Sprintf("the server ends the connection and didn't look at the request (HTTP/2 error %d)", uint32(code))})
	return true, ""
}

// resetFailure returns the failure for a stream that the server reset.
func resetFailure(code http2.ErrCode) *protocol.Error {
	e := &protocol.Error{Class: protocol.UnknownOutcome, Code: "RST_STREAM",
		Text: fmt.Sprintf("the server ended the stream (HTTP/2 error %d)", uint32(code))}
	if code == http2.ErrCodeRefusedStream {
		e.Class = protocol.Retryable
	}
	return e
}

// data processes a part of the message.
func (c *codec) data(f *frame, r *request, reply *protocol.Reply) (violation protocol.Violation) {
	message := f.payload
	switch {
	case f.Flags.Has(http2.FlagDataEndStream):
		return "the stream ended without a status"
	case !c.opened:
		return "data came before headers"
	case len(message) == 0:
		return ""
	case c.parsed:
		return "more than one message"
	}
	if len(c.partial) > 0 || !whole(message) {
		c.partial = append(c.partial, message...)
		message = c.partial
	}
	if len(message) < messageHead {
		return ""
	}
	length := int64(binary.BigEndian.Uint32(message[1:]))
	switch have := int64(len(message) - messageHead); {
	case message[0] != 0:
		return "the message is compressed, which we didn't ask for"
	case length > maxMessage:
		return "the message is too long"
	case have > length:
		return "more than one message"
	case have < length:
		return ""
	}
	c.parsed = true
	if r.command == nil {
		return parse(&r.Request, message[messageHead:], reply)
	}
	revision, violation := r.command.read(message[messageHead:], reply)
	c.revision = max(c.revision, revision)
	return violation
}

func whole(message []byte) bool {
	return len(message) >= messageHead && len(message)-messageHead == int(binary.BigEndian.Uint32(message[1:]))
}

// header is called with each decoded header field.
func (a *headerBlock) header(h hpack.HeaderField) {
	switch h.Name {
	case ":status":
		a.status = h.Value
	case "grpc-status":
		a.code = h.Value
	case "grpc-message":
		a.text = h.Value
	}
}

// headed processes a header block. Blocks don't depend on earlier ones, because we allow the server no dynamic
// table; a block that equals a known one needn't be decoded again.
func (c *codec) headed(stream uint32, block []byte, r *request, reply *protocol.Reply) (
	finished bool, violation protocol.Violation) {
	if stream != c.stream {
		return false, ""
	}
	head := !c.opened && !c.ending
	known := c.plainTrails
	if head {
		known = c.plainHead
	}
	c.status, c.code, c.text = "", "", ""
	if len(known) > 0 && bytes.Equal(block, known) {
		c.status, c.code = "200", "0"
	} else if _, err := c.decoder.Write(block); err != nil || c.decoder.Close() != nil {
		return false, "headers that can't be decoded"
	}
	switch {
	case c.opened && !c.ending:
		return false, "headers in the midst of an answer"
	case !c.opened && c.status != "200":
		return false, protocol.Violation("HTTP status " + strconv.Quote(c.status))
	case head:
		c.opened, c.plainHead = true, append(c.plainHead[:0], block...)
		return false, ""
	}
	code, err := strconv.ParseUint(c.code, 10, 31)
	if err != nil {
		return false, "an answer without a status"
	}
	if code == 0 {
		if !c.parsed {
			return false, "an answer without a message"
		}
		c.plainTrails = append(c.plainTrails[:0], block...)
		return true, ""
	}
	text, err := url.PathUnescape(c.text)
	if err != nil {
		text = c.text
	}
	captured := reply.Captured
	*reply = protocol.Reply{Captured: captured}
	reply.Reset(len(captured))
	if r != nil && r.command != nil && r.command.accepts(text) {
		return true, ""
	}
	reply.Fail(statusFailure(c.current, codes.Code(code), protocol.Line(text, "")))
	return true, ""
}

// Numbers of the fields that matter (etcd's rpc.proto and kv.proto).
const (
	rangeRecords   = 2 // of RangeResponse
	deletedCount   = 2 // of DeleteRangeResponse
	previousRecord = 2 // of PutResponse
	recordValue    = 5 // of KeyValue
)

const malformed = "the message isn't a protocol buffer"

// eachField calls take for each field of a message with its number, its type and the bytes after its tag. It
// stops at the first violation.
func eachField(message []byte,
	take func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation) (
	violation protocol.Violation) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return malformed
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return malformed
		}
		if violation = take(number, kind, message); violation != "" {
			return violation
		}
		message = message[size:]
	}
	return ""
}

// parse reads an answer's message into reply.
func parse(r *kv.Request, message []byte, reply *protocol.Reply) (violation protocol.Violation) {
	method := methodOf(r.Verb)
	violation = eachField(message, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
		switch {
		case method == methodRange && number == rangeRecords && kind == protowire.BytesType:
			record, _ := protowire.ConsumeBytes(rest)
			return takeRecord(r, record, reply)
		case method == methodDelete && number == deletedCount && kind == protowire.VarintType:
			deleted, _ := protowire.ConsumeVarint(rest)
			reply.Affected = int64(deleted)
		case method == methodPut && number == previousRecord:
			reply.Missing = r.Creates
		}
		return ""
	})
	if violation != "" {
		return violation
	}
	switch r.Verb {
	case protocol.Read:
		reply.Missing = reply.Rows == 0
	case protocol.Delete:
		reply.Missing = reply.Affected == 0
	case protocol.Insert, protocol.Update:
		reply.Affected = 1
	}
	return ""
}

// takeRecord adds one key-value pair to the reply.
func takeRecord(r *kv.Request, record []byte, reply *protocol.Reply) (violation protocol.Violation) {
	reply.Rows++
	if len(r.Captures) == 0 || reply.Rows > 1 {
		return ""
	}
	var value []byte
	violation = eachField(record, func(number protowire.Number, kind protowire.Type, rest []byte) protocol.Violation {
		if number == recordValue && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(rest)
		}
		return ""
	})
	if violation != "" {
		return violation
	}
	if err := capture(r, value, reply); err != nil && reply.Class == protocol.OK {
		reply.Fail(err)
	}
	return ""
}
