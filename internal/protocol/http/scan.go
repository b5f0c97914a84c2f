package http

import (
	"bytes"

	"brunt/internal/protocol"
)

// stage is the part of an answer that comes next.
type stage uint8

const (
	atStatus    stage = iota
	atField           // a header field or the empty line
	inBody            // length is known; left bytes remain
	atChunk           // a chunk's size
	inChunk           // left bytes remain
	atChunkEnd        // the line break after a chunk
	atTrailer         // a trailer field or the empty line
	untilClosed       // the body ends with the connection
)

const (
	maxHead      = 64 << 10 // bytes of one answer's header and trailer lines, interim answers included
	maxChunkLine = 4 << 10  // bytes of one line with a chunk's size
	noLength     = -1
)

// answer is the state of the answer being read.
type answer struct {
	stage  stage
	begun  bool
	status int
	minor  byte // HTTP/1.minor, as a digit
	head   int  // bytes of header lines so far
	length int64
	left   int64
	bytes  int64
	// of them, those of the body
	bodyBytes int64
	hash      uint64
	hashing   bool

	coded     bool // there is a Transfer-Encoding
	chunked   bool // its last encoding is "chunked"
	close     bool
	keepAlive bool

	last      lastField
	capturing int // number of the capture that the last field filled, from 1; 0 if none
}

// Scan reads the answer to req. If the answer says that the connection will be closed, reply is Fatal with class
// OK, which isn't a failure.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	r := &c.plan.requests[req.ID]
	if !c.begun {
		c.begin(r, req.ID)
	}
	if c.clock.running && len(buf) > 0 {
		c.clock.first()
	}
	for {
		var used int
		var violation protocol.Violation
		switch c.stage {
		case inBody, inChunk, untilClosed:
			used, done = c.skip(buf[n:], r, reply)
		default:
			used, done, violation = c.line(buf[n:], r, reply)
		}
		n += used
		switch {
		case violation != "":
			c.answer = answer{}
			reply.Fail(violation.Failure(""))
			return len(buf), true, 0
		case done:
			if c.finish(r, reply); r.raw && c.more(r, req.ID, reply) {
				continue
			}
			return n, true, 0
		case used == 0:
			return n, false, 0
		}
	}
}

// ScanIdle implements protocol.IdleScanner: what a server sends between requests (status 408) is the end, except for an
// empty line, which some send after a body.
func (c *codec) ScanIdle(buf []byte) (n int, end *protocol.Error) {
	if len(bytes.TrimLeft(buf, "\r\n")) > 0 {
		end = protocol.Unusable("")
	}
	return len(buf), end
}

// Stateless implements protocol.Stateless.
func (*codec) Stateless() bool { return true }

// ScanEOF completes an answer whose body ends with the connection.
func (c *codec) ScanEOF(req *protocol.Request, reply *protocol.Reply) (done bool) {
	if c.stage != untilClosed {
		return false
	}
	c.close = true
	c.finish(&c.plan.requests[req.ID], reply)
	return true
}

func (c *codec) begin(r *request, id int) {
	hashing := false
	if every := r.web.HashEvery; every > 0 {
		hashing = c.seen[id]%every == 0
		c.seen[id]++
	}
	c.answer = answer{begun: true, length: noLength, hash: fnvOffset, hashing: hashing}
}

// finish fills in the reply and prepares for the next answer.
func (c *codec) finish(r *request, reply *protocol.Reply) {
	reply.Status = c.status
	reply.BytesIn += c.bytes
	reply.Parts.BodyBytes += c.bodyBytes
	if c.clock.running {
		c.clock.end(&reply.Parts)
	}
	reply.BadHash = c.hashing && c.hash != r.web.Hash
	reply.Fatal = c.close
	if c.curious {
		c.hear(r, "")
	}
	if !c.plan.options.isGood(c.status) {
		reply.Failure = statusFailure(c.status, c.close)
	}
	c.answer = answer{}
}

// hear records what the server reveals about itself in the session's first answer.
func (c *codec) hear(r *request, server string) {
	c.curious = false
	c.plan.heard.note(r.origin.address, server, "HTTP/1."+string(rune(c.minor)))
}

// skip consumes the available bytes of a body or chunk.
func (c *codec) skip(buf []byte, r *request, reply *protocol.Reply) (used int, done bool) {
	used = len(buf)
	if c.stage != untilClosed && int64(used) > c.left {
		used = int(c.left)
	}
	c.bytes += int64(used)
	c.bodyBytes += int64(used)
	if r.keepsBody > 0 {
		keepText(&reply.Captured[r.keepsBody-1], buf[:used])
	}
	if c.hashing {
		c.hash = fnv1a(c.hash, buf[:used])
	}
	if c.stage == untilClosed {
		return used, false
	}
	c.left -= int64(used)
	if c.left > 0 {
		return used, false
	}
	if c.stage == inBody {
		return used, true
	}
	c.stage = atChunkEnd
	return used, false
}

// line consumes one line, if buf holds a complete one.
func (c *codec) line(buf []byte, r *request, reply *protocol.Reply) (
	used int, done bool, violation protocol.Violation) {
	end := bytes.IndexByte(buf, '\n')
	size := end + 1
	if end < 0 {
		size = len(buf)
	}
	switch {
	case c.stage == atChunk || c.stage == atChunkEnd:
		if size > maxChunkLine {
			return 0, false, "the line of a chunk's size is too long"
		}
	case c.head+size > maxHead:
		return 0, false, "the answer's header is larger than 64 KiB"
	}
	if end < 0 {
		return 0, false, c.implausible(buf)
	}
	if c.stage != atChunk && c.stage != atChunkEnd {
		c.head += size
	}
	c.bytes += int64(size)
	text := buf[:end]
	if end > 0 && text[end-1] == '\r' {
		text = text[:end-1]
	}
	done, violation = c.understand(text, r, reply)
	return size, done, violation
}

// implausible detects early that the server doesn't speak HTTP and may never send a line break.
func (c *codec) implausible(buf []byte) (violation protocol.Violation) {
	const start = "HTTP/1."
	if c.stage == atStatus && !bytes.HasPrefix(buf[:min(len(buf), len(start))],
		[]byte(start)[:min(len(buf), len(start))]) {
		return "the answer doesn't begin with HTTP/1"
	}
	return ""
}

// understand processes a line without its line break.
func (c *codec) understand(text []byte, r *request, reply *protocol.Reply) (done bool, violation protocol.Violation) {
	switch c.stage {
	case atStatus:
		return false, c.statusLine(text)
	case atField:
		if r.keepsHead > 0 && c.status >= 200 {
			keepText(&reply.Captured[r.keepsHead-1], text)
			keepText(&reply.Captured[r.keepsHead-1], []byte{'\n'})
		}
		if len(text) == 0 {
			return c.endOfHeader(r)
		}
		return false, c.field(text, r, reply)
	case atChunk:
		return false, c.chunkSize(text)
	case atChunkEnd:
		if len(text) != 0 {
			return false, "a chunk is longer than it says"
		}
		c.stage = atChunk
		return false, ""
	default: // atTrailer
		return len(text) == 0, ""
	}
}

// FNV-1a with 64 bits, with the parameters published by its authors (draft-eastlake-fnv).
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnv1a continues a hash over b.
func fnv1a(hash uint64, b []byte) uint64 {
	for _, c := range b {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	return hash
}
