package iproto

import (
	"context"
	"math"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// codec encodes the requests and scans the answers of one connection.
type codec struct {
	statements []statement
	options    options
	sent       uint64             // sync of the last request
	inFlight   int                // requests that were encoded and not answered in full
	small      bool               // the server is Picodata: see mostSmall
	turn       uint64             // sync of the request whose answer is next
	discard    uint64             // remaining bytes of the current packet to skip
	finishing  bool               // the answer is complete once these bytes have been skipped
	renewals   map[uint64]renewal // by the sync of a request whose statement is prepared again before it
	dropped    map[uint64]bool    // syncs of requests that were given up and not answered yet
}

// renewal is the state of preparing a statement again.
type renewal struct {
	over bool
	err  *protocol.Error
}

var (
	_ protocol.Tagged  = (*codec)(nil)
	_ protocol.Dropper = (*codec)(nil)
)

// window is how many bytes of a larger packet must be available before it is read in part.
const window = 64 << 10

// Encode appends a request. It allocates nothing unless dst must grow or an argument is invalid.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	s := &c.statements[req.ID]
	before, sync, renew := len(dst), nextSync(c.sent, c.small || c.inFlight == 0), s.mustRenew()
	if c.small && c.inFlight >= mostSmall {
		return dst, protocol.Bad("more than %d requests in flight: Picodata can't number them", mostSmall)
	}
	if renew {
		dst = append(appendHeader(dst, typePrepare, sync), s.renewal...)
		setLength(dst, before)
	}
	at := len(dst)
	out := appendHeader(dst, s.code, sync)
	out, err := s.appendBody(out, args)
	if err == nil && len(out)-at > math.MaxInt32 {
		err = protocol.Bad("a request is too large for the protocol")
	}
	if err != nil {
		return out[:before], err
	}
	setLength(out, at)
	c.sent, c.turn = sync, sync
	c.inFlight++
	if renew {
		if c.renewals == nil {
			c.renewals = map[uint64]renewal{}
		}
		c.renewals[sync] = renewal{}
	}
	return out, nil
}

// mostSmall is the greatest number of a request whose answer Picodata (up to 26.3) can give: in answers to EXECUTE it
// writes a greater one as eight bytes after the marker of a shorter integer, which no reader understands.
const mostSmall = 127

// nextSync returns the number of the request after number sent. If numbers may be used again, they go up to mostSmall
// and begin at 1 again, which every server understands.
func nextSync(sent uint64, again bool) uint64 {
	if again && sent >= mostSmall {
		return 1
	}
	return sent + 1
}

// Tag implements protocol.Tagged. The tag is the request's sync.
func (c *codec) Tag() uint64 { return c.sent }

// Turn implements protocol.Tagged.
func (c *codec) Turn(sync uint64) { c.turn = sync }

// Drop implements protocol.Dropper. Tarantool has no request that ends another one. Numbers that are used again would
// make a late answer another request's.
func (c *codec) Drop(sync uint64) bool {
	if c.small {
		return false
	}
	if c.finishing && c.turn == sync { // the rest of its answer is being skipped
		c.finishing = false
		c.inFlight--
		return true
	}
	if c.dropped == nil {
		c.dropped = map[uint64]bool{}
	}
	c.dropped[sync] = true
	return true
}

// Answers implements protocol.Tagged.
func (c *codec) Answers(buf []byte) (sync uint64, ok bool) {
	if c.discard > 0 {
		return 0, false
	}
	r := read(buf)
	r.Uint()
	code, sync := r.header()
	return sync, r.Err == msgpack.Fine && code != codeEvent
}

// Scan reads an answer. It reads only the beginning of an answer larger than 64 KiB and skips the rest, so that
// memory is bounded by the size of the first row.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	for {
		if c.discard > 0 {
			pass := int(min(c.discard, uint64(len(buf)-n)))
			n += pass
			c.discard -= uint64(pass)
			if c.discard > 0 {
				return n, false, 0
			}
			if c.finishing {
				c.finishing = false
				c.inFlight--
				return n, true, 0
			}
		}
		if n > 0 {
			if sync, ok := c.Answers(buf[n:]); ok && sync != c.turn {
				return n, false, 0
			}
		}
		used, status, need := c.packet(buf[n:], req, reply)
		switch status {
		case waiting:
			if n > 0 {
				need = 0
			}
			return n, false, need
		case broken:
			return len(buf), true, 0
		case complete:
			c.inFlight--
			return n + used, true, 0
		}
		n += used
	}
}

type progress uint8

const (
	waiting  progress = iota // more bytes are needed
	further                  // something was consumed; continue
	complete                 // the answer is complete
	broken                   // the following bytes can't be understood
)

// packet reads the packet at the start of buf.
func (c *codec) packet(buf []byte, req *protocol.Request, reply *protocol.Reply) (used int, status progress, need int) {
	r := read(buf)
	length := r.Uint()
	switch {
	case r.Err == msgpack.Short:
		return 0, waiting, prefixSize(buf)
	case r.Err == msgpack.Bad, length == 0, length > maxAnswer:
		return c.fail(reply, "an answer has no plausible length")
	}
	prefix := r.At
	total := uint64(prefix) + length
	seen := buf[prefix:min(uint64(len(buf)), total)]
	whole := uint64(len(seen)) == length
	if !whole && len(seen) < window {
		return 0, waiting, int(min(total, window+uint64(prefix)))
	}
	r = read(seen)
	code, sync := r.header()
	if r.Err == msgpack.Bad || r.Err == msgpack.Short && whole {
		return c.fail(reply, "an answer's header makes no sense")
	}
	if r.Err == msgpack.Short {
		return 0, waiting, int(min(total, 2*uint64(len(buf))))
	}
	if code == codeChunk || code == codeEvent {
		c.discard, c.finishing = length-uint64(len(seen)), false
		return prefix + len(seen), further, 0
	}
	if c.dropped[sync] {
		if again, renews := c.renewals[sync]; renews && !again.over {
			c.renewals[sync] = renewal{over: true} // the answer to the request itself follows
		} else {
			delete(c.renewals, sync)
			delete(c.dropped, sync)
			c.inFlight--
		}
		c.discard, c.finishing = length-uint64(len(seen)), false
		return prefix + len(seen), further, 0
	}
	if sync != c.turn {
		return c.fail(reply, "an answer came to a request that wasn't sent")
	}
	s := &c.statements[req.ID]
	again, renews := c.renewals[sync]
	if renews && !again.over {
		if !whole {
			return 0, waiting, int(total)
		}
		c.renewals[sync] = renewal{true, s.renewed(seen[r.At:], code)}
		return prefix + len(seen), further, 0
	}
	understood := msgpack.Fine
	if again.err == nil {
		understood = s.answer(seen[r.At:], code, reply)
	} else {
		reply.Fail(again.err) // its error says more than that of the request
	}
	switch understood {
	case msgpack.Bad:
		return c.fail(reply, "an answer makes no sense")
	case msgpack.Short:
		if whole {
			return c.fail(reply, "an answer ends too early")
		}
		return 0, waiting, int(min(total, 2*uint64(len(buf))))
	}
	if renews {
		delete(c.renewals, sync)
	}
	reply.BytesIn = int64(total)
	used = prefix + len(seen)
	if whole {
		return used, complete, 0
	}
	c.discard, c.finishing = length-uint64(len(seen)), true
	return used, further, 0
}

func (c *codec) fail(reply *protocol.Reply, text string) (int, progress, int) {
	reply.Fail(protocolError(text))
	return 0, broken, 0
}

// prefixSize returns the number of bytes of a packet's length field.
func prefixSize(buf []byte) int {
	if len(buf) > 0 && buf[0] >= 0xcc && buf[0] <= 0xcf {
		return 1 + 1<<(buf[0]-0xcc)
	}
	return 1
}

// Takes refuses what Dial refuses too.
func (*Driver) Takes(t protocol.Target, p *protocol.Program) (why string, ok bool) {
	if _, err := admit(t, p); err != nil {
		return err.Text, false
	}
	return "", true
}

// Open connects, authenticates and prepares within Target.ConnectTimeout.
func (d *Driver) Open(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.CodecConn, error) {
	o, err := admit(t, p)
	if err != nil {
		return protocol.CodecConn{}, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return protocol.CodecConn{}, err
	}
	statements, small, err := compile(ctx, l, o, p)
	if err != nil {
		l.Close()
		return protocol.CodecConn{}, err
	}
	l.conn.SetDeadline(time.Time{})
	extra, _ := l.in.Peek(l.in.Buffered())
	return protocol.CodecConn{Net: l.conn, Extra: extra,
		Codec: &codec{statements: statements, options: o, sent: l.sync, turn: l.sync, small: small}}, nil
}
