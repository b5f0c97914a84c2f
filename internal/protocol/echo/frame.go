// Package echo is a protocol of 64-byte requests and answers over plain TCP, and its server. It is used to
// measure the generator itself: any real server adds its own time to these results.
package echo

import (
	"encoding/binary"
	"math"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Size is the length of every request and answer, in bytes.
const Size = 64

// Slots is the number of numeric parameters that a frame has room for.
const Slots = 4

// Layout of a frame, in little-endian byte order: 4 bytes magic, 1 byte status, 3 bytes zero, 8 bytes sequence
// number within the connection, 4 bytes request number, 4 bytes number of parameters, Slots numbers of 8 bytes
// each, 8 bytes zero.
const (
	magic      = "ECHO"
	statusAt   = 4
	sequenceAt = 8
	requestAt  = 16
	countAt    = 20
	slotsAt    = 24
)

// Status is the outcome of a request, as the server reports it.
type Status uint8

// The statuses. Any other value violates the protocol.
const (
	Done    Status = iota
	Refused        // class server
	Later          // class retryable
	Fatal          // class server; the server closes the connection
)

// Frame is one request or answer, Size bytes long.
type Frame []byte

// SetStatus sets the status of an answer.
func (f Frame) SetStatus(s Status) { f[statusAt] = byte(s) }

// Request returns the number of the request in its program.
func (f Frame) Request() int { return int(binary.LittleEndian.Uint32(f[requestAt:])) }

// Number returns the number in a slot.
func (f Frame) Number(slot int) int64 {
	return int64(binary.LittleEndian.Uint64(f[slotsAt+8*slot:]))
}

// SetNumber sets the number in a slot.
func (f Frame) SetNumber(slot int, v int64) {
	binary.LittleEndian.PutUint64(f[slotsAt+8*slot:], uint64(v))
}

func (f Frame) sequence() uint64 { return binary.LittleEndian.Uint64(f[sequenceAt:]) }

// Codec encodes requests and scans answers of one connection. It implements protocol.Codec.
type Codec struct{ sent, answered uint64 }

// Encode appends a request. It fails if there are more than Slots parameters, or if one isn't a number.
func (c *Codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	if len(args) > Slots {
		return dst, protocol.Bad("an echo request has room for 4 parameters")
	}
	before := len(dst)
	var zero [Size]byte
	dst = append(dst, zero[:]...)
	f := Frame(dst[before:])
	copy(f, magic)
	binary.LittleEndian.PutUint64(f[sequenceAt:], c.sent)
	binary.LittleEndian.PutUint32(f[requestAt:], uint32(req.ID))
	binary.LittleEndian.PutUint32(f[countAt:], uint32(len(args)))
	for i := range args {
		switch a := &args[i]; a.Kind {
		case gen.Null:
		case gen.Bool, gen.Int, gen.Uint, gen.Decimal, gen.Datetime:
			f.SetNumber(i, a.I)
		case gen.Float:
			f.SetNumber(i, int64(math.Float64bits(a.F)))
		default:
			return dst[:before], protocol.Bad("an echo request takes numbers only")
		}
	}
	c.sent++
	return dst, nil
}

// Scan reads one answer; see protocol.Codec.
func (c *Codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	if len(buf) < Size {
		return 0, false, Size
	}
	f := Frame(buf[:Size])
	if string(f[:len(magic)]) != magic || f.sequence() != c.answered || f.Request() != req.ID {
		reply.Failure = protocol.Failure{Class: protocol.Protocol, Text: "the answer isn't the echo of the request",
			Fatal: true}
		return 0, false, 0
	}
	c.answered++
	reply.Rows, reply.BytesIn = 1, Size
	switch Status(f[statusAt]) {
	case Done:
		for i := range reply.Captured {
			if slot := req.Capture[i].Column; slot >= 0 && slot < Slots {
				reply.Captured[i].SetInt(f.Number(slot))
			}
		}
	case Refused:
		reply.Failure = protocol.Failure{Class: protocol.Server, Code: "refused", Text: "the echo server refused"}
	case Later:
		reply.Failure = protocol.Failure{Class: protocol.Retryable, Code: "later", Text: "the echo server refused for now"}
	case Fatal:
		reply.Failure = protocol.Failure{Class: protocol.Server, Code: "fatal", Text: "the echo server gave up", Fatal: true}
	default:
		reply.Failure = protocol.Failure{Class: protocol.Protocol, Text: "the answer has an unknown status", Fatal: true}
	}
	return Size, true, 0
}
