package protocol

import (
	"context"
	"net"

	"brunt/internal/gen"
)

// CodecDriver is a Driver with a codec: its sessions can be driven by event loops.
type CodecDriver interface {
	Driver
	// Takes reports whether the codec can do the program over this target; if not, why is one
	// line for people (TLS, a verb that the codec lacks) and the library tier is used.
	Takes(t Target, p *Program) (why string, ok bool)
	// Takeover connects, authenticates and prepares with the library, then gives up the socket.
	// It is called from a goroutine, never from a loop.
	Takeover(ctx context.Context, t Target, p *Program) (CodecConn, error)
}

// CodecConn is a socket that is ready for requests.
type CodecConn struct {
	FD    int    // a connected, non-blocking stream socket that the loop owns from now on
	Codec Codec  // state of this session
	Extra []byte // bytes that the library had already read; usually empty
	// Cancel asks the server to stop what it does for the session, where closing the socket doesn't; nil
	// where it does, or nothing can. It is called from a goroutine, once the session has been given up
	// with requests outstanding. ctx bounds it.
	Cancel func(ctx context.Context)
}

// TakeOver returns a CodecConn over the socket of a connection. The connection is closed if it has no socket
// that can be taken over.
func TakeOver(c net.Conn, codec Codec, extra []byte) (CodecConn, error) {
	fd, err := Detach(c)
	if err != nil {
		c.Close()
		return CodecConn{}, Unconnected(err)
	}
	return CodecConn{FD: fd, Codec: codec, Extra: extra}, nil
}

// Codec encodes requests and scans replies of one session. It is used by one loop, never
// concurrently. Requests are answered in the order sent, unless it is Tagged.
type Codec interface {
	// Encode appends the request to dst. It may fail (a value too large for the format): the
	// loop then counts the operation as a client error and sends nothing.
	Encode(dst []byte, req *Request, args []gen.Value) ([]byte, *Error)
	// Scan reads the answer to req, the oldest request that has no full answer yet. buf holds
	// all unread bytes. Scan returns how many bytes it has consumed and whether the answer is
	// complete; when it is not, it is called again with the rest and more. It may consume part
	// of an answer and keep state. Failures go into reply; reply.Fatal makes the loop close
	// the session. Answers the server sends unasked (notices) are consumed in passing.
	// When done is false and n is 0, need is the least number of bytes that buf must hold
	// before a further call can make progress (0 if unknown).
	Scan(buf []byte, req *Request, reply *Reply) (n int, done bool, need int)
}

// EOFScanner is implemented by codecs whose answers may end with the connection (HTTP/1.0
// bodies without a length). ScanEOF reports whether the answer is complete at end of stream.
type EOFScanner interface {
	ScanEOF(req *Request, reply *Reply) (done bool)
}

// Asker is implemented by codecs whose servers take requests for others when asked in another way.
type Asker interface {
	// EncodeAsk is Encode for a request that belongs to another server. It still has one answer.
	EncodeAsk(dst []byte, req *Request, args []gen.Value) ([]byte, *Error)
}

// Tagged is implemented by codecs whose servers say in each answer which request it is to, and may answer
// them in any order. Where the answer to another request begins before the present one's is complete, Scan
// returns what it has consumed; it is called again with the rest at the other's turn, and with another
// Reply at the present one's: what it learnt of that it keeps itself.
type Tagged interface {
	// Tag is that of the request that was encoded last. It is the session's only one with that tag.
	Tag() uint64
	// Answers is the tag of the request whose answer buf begins with; ok is false if that can't be told, as
	// in the midst of an answer.
	Answers(buf []byte) (tag uint64, ok bool)
	// Turn says to which request the answer is that is scanned next.
	Turn(tag uint64)
}

// Unordered is implemented by protocols whose servers may answer a session's requests in another
// order than they were sent. Their sessions have one request in flight, whatever the pipeline.
type Unordered interface{ Unordered() }
