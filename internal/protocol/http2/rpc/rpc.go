// Package rpc makes gRPC calls over connections of package http2 (gRPC over HTTP2, github.com/grpc/grpc,
// doc/PROTOCOL-HTTP2.md): the prefix of messages, several messages in an answer, and the status in its trailers, which
// may be all of an answer.
package rpc

import (
	"encoding/binary"
	"net/url"
	"strconv"

	h2 "golang.org/x/net/http2"
	"google.golang.org/grpc/codes"

	"brunt/internal/protocol"
	"brunt/internal/protocol/http2"
)

const (
	// MessageHead is the size of gRPC's prefix of a message: the compression flag and the length.
	MessageHead = 5
	maxMessage  = 256 << 20 // bytes of a message of an answer
)

// Handler takes the answer to the call that is being read.
type Handler interface {
	// Message takes a message of the answer. It is valid during the call. enough says that no further ones are wanted: the
	// call is then cancelled, and the answer is complete.
	Message(message []byte, compressed bool) (enough bool, violation protocol.Violation)
	// Status takes the end of the answer, if it isn't OK. text is as sent.
	Status(code codes.Code, text string)
	// Reset takes the failure of a call whose stream the server reset; cancelled if it says that it was cancelled.
	Reset(cancelled bool, failure *protocol.Error)
	// Streams reports whether the answer may have any number of messages. Otherwise it has one.
	Streams() bool
}

// Conn makes calls. A codec embeds it.
type Conn struct {
	http2.Conn
	handler Handler
}

// Init prepares a connection. The handler takes its answers.
func (c *Conn) Init(h Handler, headers *http2.Headers) {
	c.handler = h
	c.Conn.Init(c, headers)
}

// Headers implements http2.Handler.
func (c *Conn) Headers(f *http2.Fields, last bool) (finished bool, violation protocol.Violation) {
	finished, violation = c.headers(f, last)
	if violation != "" {
		c.Astray(last)
	}
	return finished, violation
}

func (c *Conn) headers(f *http2.Fields, last bool) (finished bool, violation protocol.Violation) {
	switch {
	case c.Opened && !last:
		return false, "headers in the midst of an answer"
	case !c.Opened && f.Status != "200":
		return c.otherStatus(f, last)
	case !last:
		c.Encoding = f.Encoding
		return false, ""
	}
	code, ok := number(f.Code)
	switch {
	case !ok:
		return false, "an answer without a status"
	case code != 0:
		text, err := url.PathUnescape(f.Text)
		if err != nil {
			text = f.Text
		}
		c.handler.Status(code, text)
		return true, ""
	case len(c.Partial) > 0:
		return false, "the answer ended in the midst of a message"
	case c.Count == 0 && !c.handler.Streams():
		return false, "an answer without a message"
	}
	return true, ""
}

// otherStatus takes the headers of an answer with an HTTP status other than 200, which isn't the service's but that of
// a proxy before it. What follows isn't read.
func (c *Conn) otherStatus(f *http2.Fields, last bool) (finished bool, violation protocol.Violation) {
	status, err := strconv.ParseUint(f.Status, 10, 16)
	if err != nil || status < 200 {
		return false, protocol.Violation("HTTP status " + strconv.Quote(f.Status))
	}
	code, given := number(f.Code)
	text := f.Text
	if !given || code == 0 {
		code, text = codeOf(status), "HTTP status "+f.Status+" instead of an answer of gRPC"
	}
	c.handler.Status(code, text)
	if !last {
		c.Abandon()
	}
	return true, ""
}

// unknownMethod is the status that there is no such service or method.
const unknownMethod = codes.Code(12)

// codeOf returns the status that gRPC's clients make of an HTTP status (github.com/grpc/grpc,
// doc/http-grpc-status-mapping.md).
func codeOf(httpStatus uint64) codes.Code {
	switch httpStatus {
	case 400:
		return codes.Internal
	case 401:
		return codes.Unauthenticated
	case 403:
		return codes.PermissionDenied
	case 404:
		return unknownMethod
	case 429, 502, 503, 504:
		return codes.Unavailable
	}
	return codes.Unknown
}

func number(text string) (code codes.Code, ok bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return codes.Code(n), err == nil
}

// Data implements http2.Handler.
func (c *Conn) Data(data []byte, last bool) (finished bool, violation protocol.Violation) {
	finished, violation = c.data(data, last)
	if violation != "" {
		c.Astray(last)
	}
	return finished, violation
}

func (c *Conn) data(data []byte, last bool) (finished bool, violation protocol.Violation) {
	switch {
	case last:
		return false, "the stream ended without a status"
	case !c.Opened:
		return false, "data came before headers"
	}
	for len(data) > 0 {
		message := data
		if len(c.Partial) > 0 {
			missing := MessageHead
			if len(c.Partial) >= MessageHead {
				missing += int(binary.BigEndian.Uint32(c.Partial[1:]))
			}
			n := min(len(data), missing-len(c.Partial))
			c.Partial, data = append(c.Partial, data[:n]...), data[n:]
			message = c.Partial
		}
		size, violation := c.measure(message)
		switch {
		case violation != "":
			return false, violation
		case size == 0 && len(c.Partial) == 0:
			c.Partial = append(c.Partial, data...)
			return false, ""
		case size == 0:
			continue
		case len(c.Partial) == 0:
			data = data[size:]
		}
		c.Partial = c.Partial[:0]
		c.Count++
		enough, violation := c.handler.Message(message[MessageHead:size], message[0] == 1)
		if enough {
			c.Abandon()
		}
		if enough || violation != "" {
			return enough, violation
		}
	}
	return false, ""
}

// measure returns the size of the message at the start of b, with its prefix; 0 if it isn't complete.
func (c *Conn) measure(b []byte) (size int, violation protocol.Violation) {
	if c.Count > 0 && !c.handler.Streams() {
		return 0, "more than one message"
	}
	if len(b) < MessageHead {
		return 0, ""
	}
	length := int64(binary.BigEndian.Uint32(b[1:]))
	switch {
	case b[0] > 1:
		return 0, "a message with an unknown prefix"
	case length > maxMessage:
		return 0, "the message is too long"
	case int64(len(b)-MessageHead) < length:
		return 0, ""
	}
	return MessageHead + int(length), ""
}

// Reset implements http2.Handler.
func (c *Conn) Reset(code h2.ErrCode, failure *protocol.Error) {
	c.handler.Reset(code == h2.ErrCodeCancel, failure)
}

// Seal writes the prefix of the message that b[from:] holds after MessageHead bytes of room.
func Seal(b []byte, from int, compressed bool) {
	b[from] = 0
	if compressed {
		b[from] = 1
	}
	binary.BigEndian.PutUint32(b[from+1:], uint32(len(b)-from-MessageHead))
}
