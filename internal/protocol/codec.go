package protocol

import (
	"context"
	"net"
	"time"

	"brunt/internal/load/gen"
)

// CodecDriver is a Driver with a codec. The same codec is used in two ways: by the event loops of engine/loop
// over the bare socket, and by a goroutine over a net.Conn (package blocking), which is what Dial returns.
type CodecDriver interface {
	Driver
	// Takes reports whether the codec can run the program over this target. If not, why gives the reason in one line
	// for users (a proxy, a verb that the codec lacks). It doesn't consider TLS, which event loops can't use; see
	// LoopsTake.
	Takes(t Target, p *Program) (why string, ok bool)
	// Open connects, authenticates and prepares the program within Target.ConnectTimeout. It is called from a
	// goroutine, never from an event loop. An error is an *Error.
	Open(ctx context.Context, t Target, p *Program) (CodecConn, error)
}

// LoopsTake reports whether event loops can run a program over a target with d's codec. If not, why gives the
// reason in one line for users. Event loops need a socket without TLS.
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

// Securer is implemented by drivers that decide by more than Target.TLS whether connections use TLS.
type Securer interface {
	// Secures reports whether connections to the target use TLS.
	Secures(t Target) bool
}

// CodecConn is a connection that is ready for requests. No deadlines are set on it.
type CodecConn struct {
	Net   net.Conn // TCP, a Unix socket, or TLS over one of them
	Codec Codec    // state of this connection
	Extra []byte   // bytes already read from Net that follow the set-up done by Open; usually empty
	// Cancel asks the server to stop the work that it is doing for this connection. It is nil if closing the
	// connection suffices, or if the protocol has no way to ask. It is called from a goroutine after the connection
	// has been given up with requests outstanding, again until the server has ended it; see Abandon. ctx bounds it.
	Cancel func(ctx context.Context)
}

// Codec encodes the requests and scans the answers of one connection. It does no I/O and is used by one
// goroutine at a time. Requests are answered in the order in which they were sent, unless the codec is Tagged.
type Codec interface {
	// Encode appends the request to dst. If it fails (for instance, because a value is too large for the format),
	// nothing is sent and the operation counts as a client error.
	Encode(dst []byte, req *Request, args []gen.Value) ([]byte, *Error)
	// Scan reads the answer to req, the oldest request that hasn't been answered in full. buf holds all unread bytes
	// and must not be kept. Scan returns how many bytes it has consumed and whether the answer is complete. If it
	// isn't, Scan is called again with the remaining bytes and more. Scan may consume part of an answer and keep
	// state. It records failures in reply; reply.Fatal closes the connection. It consumes unsolicited messages of
	// the server (notices) along with answers. When done is false and n is 0, need is the least number of bytes that
	// buf must hold before another call can make progress (0 if unknown).
	Scan(buf []byte, req *Request, reply *Reply) (n int, done bool, need int)
}

// EOFScanner is implemented by codecs whose answers may end with the connection (HTTP/1.0 bodies without a
// length). ScanEOF reports whether the answer is complete at the end of the stream.
type EOFScanner interface {
	ScanEOF(req *Request, reply *Reply) (done bool)
}

// IdleScanner is implemented by codecs whose servers say that they are about to close an idle connection (FATAL in
// PostgreSQL, GOAWAY in HTTP/2, status 408 in HTTP/1.1). Without it, bytes that arrive while no request is outstanding
// are kept for Scan.
type IdleScanner interface {
	// ScanIdle reads bytes that arrived while no request was outstanding, and returns how many it has consumed. end, if
	// not nil, says that the server accepts no further request over the connection, and why.
	ScanIdle(buf []byte) (n int, end *Error)
}

// RowReader is implemented by codecs whose answers hold rows to pass to Reply.Each. It is used over blocking
// connections only; event loops don't read rows.
type RowReader interface {
	// Rows reads once more an answer that Scan has found complete and free of failures, and calls each for every
	// row. answer holds all bytes that Scan consumed for it, unsolicited messages included.
	Rows(answer []byte, req *Request, each func(columns []string, row []gen.Value)) *Error
}

// Adder is implemented by codecs that accept requests which aren't part of their program. It works over blocking
// connections only.
type Adder interface {
	// Add prepares a request, see AdHoc.Add. No other request is in flight on the connection; Add may query the
	// server through x.
	Add(ctx context.Context, x Exchanger, r *Request) error
}

// Exchanger is a connection over which a codec can query the server for its own purposes, for instance to
// prepare a statement or to look up a table.
type Exchanger interface {
	// Exchange sends out and passes the answer to scan, as to Codec.Scan, until scan reports done. After a failure
	// the connection is closed.
	Exchange(ctx context.Context, out []byte, scan func(buf []byte) (n int, done bool, need int)) *Error
}

// Parting is implemented by codecs whose servers expect a final message before the connection is closed.
type Parting interface {
	// Part appends that message to dst. It may be called while another method of the codec runs.
	Part(dst []byte) []byte
}

// Asker is implemented by codecs whose servers accept requests for keys of another server if the request is
// marked as such (ASKING in Redis Cluster).
type Asker interface {
	// EncodeAsk is Encode for a request that another server is responsible for. The request still has exactly one
	// answer.
	EncodeAsk(dst []byte, req *Request, args []gen.Value) ([]byte, *Error)
}

// Tagged is implemented by codecs whose servers label each answer with the tag of its request and may answer in
// any order. If the answer to another request begins before the current answer is complete, Scan returns what it
// has consumed so far. It is called again with the remaining bytes and the other request's Reply, and later with
// the Reply of the interrupted answer. The codec itself must keep the state of interrupted answers.
type Tagged interface {
	// Tag returns the tag of the request that was encoded last. No other request in flight on the connection has the
	// same tag.
	Tag() uint64
	// Answers returns the tag of the request whose answer begins at the start of buf. ok is false if buf doesn't
	// show it, for instance in the middle of an answer.
	Answers(buf []byte) (tag uint64, ok bool)
	// Turn tells the codec which request the answer to be scanned next belongs to.
	Turn(tag uint64)
}

// Dropper is implemented by Tagged codecs that can give up a request whose answer is late while others are in flight
// on the connection.
type Dropper interface {
	// Drop forgets the request with a tag, which is in flight, and reports whether it could. If the codec is a Speaker,
	// Speak then says what tells the server. What arrives of the answer is skipped.
	Drop(tag uint64) bool
}

// Speaker is implemented by codecs whose servers wait for more than requests: for acknowledgements during a long
// answer, or for the rest of a request that they read in parts (flow control in HTTP/2).
type Speaker interface {
	// Speak appends what must be sent now to dst. It is called after Scan and ScanIdle, and while no other method runs.
	Speak(dst []byte) []byte
}

// Pacer is implemented by Tagged codecs some of whose requests are sent in parts, each at its time, or end at a time
// without an answer of the server (streams of gRPC). The arguments of such a request must stay as they are until it has
// been answered or dropped. The codec must be a Speaker, too.
type Pacer interface {
	// Due returns how long it is until Pace has something to do; ok is false if it has nothing to do before Scan or Encode
	// is called.
	Due() (wait time.Duration, ok bool)
	// Pace has Speak send what is due. It returns the tag of a request that ends now, or 0: Scan must then be called for
	// it, with whatever has arrived or nothing, and Pace once more.
	Pace() (ends uint64)
}

// Drainer is implemented by codecs whose servers may say that they take no further requests over a connection, but
// still answer those that they have (GOAWAY in HTTP/2). When the last of them has been answered, its reply is Fatal.
type Drainer interface {
	// Draining reports whether the connection takes no further requests.
	Draining() bool
}

// Limits of a connection, whichever way its codec is driven.
const (
	// MostPending is the maximum number of bytes of an answer that a codec may leave unconsumed.
	MostPending = 256 << 20
	// AgainAtMost is the maximum number of times that a request is sent again because its server asks for it
	// (Reply.Again).
	AgainAtMost = 8
)
