package protocol

import (
	"context"
	"net"

	"brunt/internal/gen"
)

// CodecDriver is a Driver with a codec. The same codec is driven in two ways: by the event loops of engine/loop,
// over the bare socket, and by a goroutine over a net.Conn (package blocking), which is what Dial returns.
type CodecDriver interface {
	Driver
	// Takes reports whether the codec can do the program over this target; if not, why is one line for people
	// (a proxy, a verb that the codec lacks). That event loops need a socket without TLS is not its concern.
	Takes(t Target, p *Program) (why string, ok bool)
	// Open connects, authenticates and prepares the program within Target.ConnectTimeout. It is called from a
	// goroutine, never from a loop. An error is an *Error.
	Open(ctx context.Context, t Target, p *Program) (CodecConn, error)
}

// LoopsTake reports whether event loops can do a program over a target by d's codec; if not, why is one line for
// people. They need a socket without TLS.
func LoopsTake(d CodecDriver, t Target, p *Program) (why string, ok bool) {
	secured := t.TLS != nil
	if s, ok := d.(Securer); ok {
		secured = s.Secures(t)
	}
	if secured {
		return "TLS needs the library tier", false
	}
	return d.Takes(t, p)
}

// Securer is implemented by drivers that tell by more than Target.TLS whether connections have TLS.
type Securer interface {
	// Secures reports whether connections to the target have TLS.
	Secures(t Target) bool
}

// CodecConn is a connection that is ready for requests. Its deadlines are unset.
type CodecConn struct {
	Net   net.Conn // TCP, a Unix socket, or TLS over one of them
	Codec Codec    // state of this connection
	Extra []byte   // bytes that were read from Net and belong to what comes after Open; usually empty
	// Cancel asks the server to stop what it does for the connection, where closing that doesn't; nil
	// where it does, or nothing can. It is called from a goroutine, once the connection has been given up
	// with requests outstanding. ctx bounds it.
	Cancel func(ctx context.Context)
}

// Codec encodes requests and scans answers of one connection, and does no I/O. It is used by one goroutine at a
// time. Requests are answered in the order sent, unless it is Tagged.
type Codec interface {
	// Encode appends the request to dst. It may fail (a value too large for the format): the
	// operation then counts as a client error and nothing is sent.
	Encode(dst []byte, req *Request, args []gen.Value) ([]byte, *Error)
	// Scan reads the answer to req, the oldest request that has no full answer yet. buf holds
	// all unread bytes; it must not be kept. Scan returns how many bytes it has consumed and whether the
	// answer is complete; when it is not, it is called again with the rest and more. It may consume part
	// of an answer and keep state. Failures go into reply; reply.Fatal closes
	// the connection. Answers the server sends unasked (notices) are consumed in passing.
	// When done is false and n is 0, need is the least number of bytes that buf must hold
	// before a further call can make progress (0 if unknown).
	Scan(buf []byte, req *Request, reply *Reply) (n int, done bool, need int)
}

// EOFScanner is implemented by codecs whose answers may end with the connection (HTTP/1.0
// bodies without a length). ScanEOF reports whether the answer is complete at end of stream.
type EOFScanner interface {
	ScanEOF(req *Request, reply *Reply) (done bool)
}

// RowReader is implemented by codecs whose answers hold rows that Reply.Each may be called with. It is used over
// blocking connections only: event loops want no rows.
type RowReader interface {
	// Rows reads an answer once more that Scan has found complete and free of failures, and calls each with its
	// rows. answer is all that Scan consumed for it, what came in passing included.
	Rows(answer []byte, req *Request, each func(columns []string, row []gen.Value)) *Error
}

// Adder is implemented by codecs that take requests which weren't part of their program, over blocking
// connections.
type Adder interface {
	// Add makes a request ready, as AdHoc says. Nothing else is under way on the connection, which x may be used
	// to ask the server over.
	Add(ctx context.Context, x Exchanger, r *Request) error
}

// Exchanger is a connection to ask the server over for what is no request of a program: to prepare a statement,
// to look up a table.
type Exchanger interface {
	// Exchange sends bytes and gives what comes to scan, as it would be given to Codec.Scan, until that is done.
	// After a failure the connection is closed.
	Exchange(ctx context.Context, out []byte, scan func(buf []byte) (n int, done bool, need int)) *Error
}

// Parting is implemented by codecs whose servers expect a last message before the connection is closed.
type Parting interface {
	// Part appends that message to dst. It may be called while another method of the codec runs.
	Part(dst []byte) []byte
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
	// Tag is that of the request that was encoded last. It is the connection's only one with that tag.
	Tag() uint64
	// Answers is the tag of the request whose answer buf begins with; ok is false if that can't be told, as
	// in the midst of an answer.
	Answers(buf []byte) (tag uint64, ok bool)
	// Turn says to which request the answer is that is scanned next.
	Turn(tag uint64)
}

// Unordered is implemented by protocols whose servers may answer a connection's requests in another
// order than they were sent. Their connections have one request in flight, whatever the pipeline.
type Unordered interface{ Unordered() }

// Bounds of what a connection may hold, whichever way its codec is driven.
const (
	// MostPending is the most of an answer that a codec may leave unconsumed, in bytes.
	MostPending = 256 << 20
	// AgainAtMost bounds how often one request is sent again because its server asks for it (Reply.Again).
	AgainAtMost = 8
)
