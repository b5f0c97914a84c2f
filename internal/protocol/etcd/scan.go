package etcd

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
)

// Scan reads the answer to req.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	c.current, c.reply = req, reply
	return c.Conn.Scan(buf, reply, "the answer isn't gRPC: ")
}

// Message implements rpc.Handler.
func (c *codec) Message(message []byte, compressed bool) (_ bool, violation protocol.Violation) {
	if compressed {
		return false, "the message is compressed, which we didn't ask for"
	}
	r := &c.requests[c.current.ID]
	if r.command == nil {
		return false, parse(&r.Request, message, c.reply)
	}
	revision, violation := r.command.read(message, c.reply)
	c.revision = max(c.revision, revision)
	return false, violation
}

// Streams implements rpc.Handler.
func (*codec) Streams() bool { return false }

// Reset implements rpc.Handler.
func (c *codec) Reset(_ bool, failure *protocol.Error) { c.reply.Fail(failure) }

// Status implements rpc.Handler.
func (c *codec) Status(code codes.Code, text string) {
	captured := c.reply.Captured
	*c.reply = protocol.Reply{Captured: captured}
	c.reply.Reset(len(captured))
	if r := &c.requests[c.current.ID]; r.command != nil && r.command.accepts(text) {
		return
	}
	c.reply.Fail(statusFailure(c.current, code, protocol.Line(text, "")))
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
