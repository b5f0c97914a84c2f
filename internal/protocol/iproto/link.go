package iproto

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
	"brunt/internal/protocol/socket"

	iproto "github.com/tarantool/go-iproto"
)

// link is a plain connection that serves one request at a time.
type link struct {
	conn     net.Conn
	in       *bufio.Reader
	out      []byte
	sync     uint64
	version  string // from the greeting, such as "2.6.0"
	maxReply int
}

const greetingSize = 128

// picodatas begins the versions of Tarantool inside Picodata, which its greeting shows, and codeNoUser is the code of
// ER_NO_SUCH_USER (Tarantool's box/errcode.h).
const picodatas, codeNoUser = "2.11.", "45"

// dialLink connects and authenticates, bounded by ctx. With TLS, the connection begins with its handshake, as the
// servers of Tarantool's Enterprise edition want it (parameter transport=ssl of box.cfg.listen).
func dialLink(ctx context.Context, t protocol.Target) (*link, *protocol.Error) {
	c, err := socket.Secure(ctx, t.Address, t.TLS)
	if err != nil {
		return nil, protocol.Unconnected(err)
	}
	l := &link{conn: c, in: bufio.NewReaderSize(c, 64<<10), maxReply: 256 << 20}
	if err := l.greet(ctx, t); err != nil {
		c.Close()
		return nil, err
	}
	return l, nil
}

// greet reads the greeting (two lines of 64 bytes: product and version, salt) and authenticates.
func (l *link) greet(ctx context.Context, t protocol.Target) *protocol.Error {
	defer l.watch(ctx)()
	greeting := make([]byte, greetingSize)
	if _, err := io.ReadFull(l.in, greeting); err != nil {
		return connectError(ctx, t, fmt.Errorf("no greeting came: %w", err))
	}
	version, ok := strings.CutPrefix(string(greeting[:64]), "Tarantool ")
	if !ok {
		return connectError(ctx, t, errors.New("what answers there doesn't speak iproto"))
	}
	l.version, _, _ = strings.Cut(version, " ")
	if t.User == "" {
		return nil
	}
	salt, err := base64.StdEncoding.DecodeString(strings.TrimRight(string(greeting[64:108]), " \n\x00"))
	if err != nil || len(salt) < sha1.Size {
		return connectError(ctx, t, errors.New("the greeting holds no salt"))
	}
	scramble := chapSHA1(t.Password, salt[:sha1.Size])
	code, answer, failure := l.ask(ctx, typeAuth, callBody(keyUser, t.User, "chap-sha1", string(scramble[:])))
	if failure == nil {
		failure = refusal(code, answer)
	}
	if failure != nil {
		failure.Class, failure.Fatal = protocol.Connect, true
		failure.Text = fmt.Sprintf("can't connect to %s as %q: %s%s", t.Address, t.User, failure.Text,
			refusalHint(l.version, failure.Code))
	}
	return failure
}

// refusalHint says what to do if a server of a version refuses a user with a code.
func refusalHint(version, code string) string {
	hint := "; check user and password"
	switch {
	case code == "":
		return ""
	case code != codeNoUser && strings.HasPrefix(version, picodatas):
		hint += ", and on Picodata that the user was created USING chap-sha1"
	}
	return hint
}

// chapSHA1 returns sha1(password) xor sha1(salt + sha1(sha1(password))) (Tarantool's manual, "IPROTO_AUTH").
func chapSHA1(password string, salt []byte) (scramble [sha1.Size]byte) {
	one := sha1.Sum([]byte(password))
	two := sha1.Sum(one[:])
	three := sha1.Sum(append(append([]byte(nil), salt...), two[:]...))
	for i := range scramble {
		scramble[i] = one[i] ^ three[i]
	}
	return scramble
}

// refusal returns an answer's error, or nil if it has none.
func refusal(code uint32, answer []byte) *protocol.Error {
	if code&errorBit == 0 {
		return nil
	}
	var reply protocol.Reply
	if new(statement).answer(answer, code, &reply) != msgpack.Fine {
		return protocolError("an error that makes no sense")
	}
	return reply.Err()
}

// watch makes reads and writes end when ctx is done, until stop is called.
func (l *link) watch(ctx context.Context) (stop func()) {
	l.conn.SetDeadline(time.Time{})
	if d, ok := ctx.Deadline(); ok {
		l.conn.SetDeadline(d)
	}
	cancel := context.AfterFunc(ctx, func() { l.conn.SetDeadline(time.Unix(1, 0)) })
	return func() { cancel() }
}

// queue appends a request to the buffer of unsent requests.
func (l *link) queue(kind byte, request []byte) {
	l.sync++
	at := len(l.out)
	l.out = appendHeader(l.out, kind, l.sync)
	l.out = append(l.out, request...)
	setLength(l.out, at)
}

// flush sends all queued requests.
func (l *link) flush() error {
	_, err := l.conn.Write(l.out)
	l.out = l.out[:0]
	return err
}

// receive reads one answer. The body is valid until the next call.
func (l *link) receive() (code uint32, sync uint64, answer []byte, err error) {
	for {
		prefix, err := l.in.Peek(1)
		if err != nil {
			return 0, 0, nil, err
		}
		size := prefixSize(prefix)
		if prefix, err = l.in.Peek(size); err != nil {
			return 0, 0, nil, err
		}
		r := read(prefix)
		length := r.Uint()
		if r.Err != msgpack.Fine || length == 0 || length > uint64(l.maxReply) {
			return 0, 0, nil, errors.New("an answer has no plausible length")
		}
		l.in.Discard(size)
		packet := make([]byte, length)
		if _, err := io.ReadFull(l.in, packet); err != nil {
			return 0, 0, nil, err
		}
		r = read(packet)
		code, sync = r.header()
		if r.Err != msgpack.Fine {
			return 0, 0, nil, errors.New("an answer's header makes no sense")
		}
		if code != codeChunk && code != codeEvent {
			return code, sync, packet[r.At:], nil
		}
	}
}

// ask sends a request and waits for its answer.
func (l *link) ask(ctx context.Context, kind byte, request []byte) (code uint32, answer []byte,
	failure *protocol.Error) {
	defer l.watch(ctx)()
	l.sync = nextSync(l.sync, true) - 1 // nothing else is in flight
	l.queue(kind, request)
	if err := l.flush(); err != nil {
		return 0, nil, protocol.Unanswered(ctx, nil, err, "")
	}
	code, sync, answer, err := l.receive()
	if err != nil {
		return 0, nil, protocol.Unanswered(ctx, nil, err, "")
	}
	if sync != l.sync {
		return 0, nil, protocolError("an answer to another request came")
	}
	return code, answer, nil
}

// connectError returns the failure to open a session.
func connectError(ctx context.Context, t protocol.Target, err error) *protocol.Error {
	return protocol.Unconnected(socket.Explain(ctx, t.Address, err))
}

// Close ends the connection; it is safe to call twice.
func (l *link) Close() error {
	if err := l.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// appendHeader appends a packet's length, to be filled in by setLength, and its header. Picodata refuses EXECUTE
// without a schema version; 0 means any version.
func appendHeader(dst []byte, kind byte, sync uint64) []byte {
	if kind == typeExecute {
		dst = append(dst, 0xce, 0, 0, 0, 0, 0x83, 0x05, 0x00, 0x00, kind, 0x01, 0xcf)
	} else {
		dst = append(dst, 0xce, 0, 0, 0, 0, 0x82, 0x00, kind, 0x01, 0xcf)
	}
	return binary.BigEndian.AppendUint64(dst, sync)
}

// setLength fills in the length of the packet that begins at offset at and extends to the end of dst.
func setLength(dst []byte, at int) {
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-5))
}

// header reads an answer's header.
func (r *reader) header() (code uint32, sync uint64) {
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		switch r.Uint() {
		case 0:
			code = uint32(r.Uint())
		case 1:
			sync = r.Uint()
		default:
			r.Skip()
		}
	}
	return code, sync
}

// errorBit marks an answer as an error; the other bits of its code are the error number.
const errorBit = 0x8000

// classOf returns the class of an error by its number (Tarantool's errcode.h, as in package go-iproto) and,
// because Picodata uses few numbers, by its message. fatal says that a new session must be opened because this
// one's prepared statements are lost.
func classOf(code uint32, message string) (class protocol.Class, fatal bool) {
	switch iproto.Error(code) {
	case iproto.ER_READONLY, iproto.ER_TRANSACTION_CONFLICT, iproto.ER_LOADING,
		iproto.ER_LOCAL_INSTANCE_ID_IS_READ_ONLY, iproto.ER_CASCADE_ROLLBACK,
		iproto.ER_SYNC_QUORUM_TIMEOUT, iproto.ER_SYNC_ROLLBACK, iproto.ER_SYNC_MASTER_MISMATCH,
		iproto.ER_QUORUM_WAIT, iproto.ER_INTERFERING_PROMOTE, iproto.ER_INTERFERING_ELECTIONS,
		iproto.ER_NOT_LEADER, iproto.ER_SYNC_QUEUE_UNCLAIMED, iproto.ER_SYNC_QUEUE_FOREIGN,
		iproto.ER_SYNC_QUEUE_FULL, iproto.ER_TRANSACTION_TIMEOUT:
		return protocol.Retryable, false
	case iproto.ER_TIMEOUT:
		return protocol.Timeout, false
	case iproto.ER_PASSWORD_EXPIRED:
		return protocol.Connect, true
	}
	if isOutdated(code, message) || protocol.Picodata(message).Passing {
		return protocol.Retryable, false
	}
	return protocol.Server, false
}

// isOutdated reports whether an error says that a prepared statement is invalid: any change of the schema
// invalidates all of them.
func isOutdated(code uint32, message string) bool {
	switch iproto.Error(code) {
	case iproto.ER_WRONG_QUERY_ID:
		return true
	case iproto.ER_SQL_EXECUTE:
		return strings.Contains(message, "statement has expired")
	}
	return false
}

// Picodata's own error numbers begin with 10000, "other". Nearly all of its errors have that number or 10028,
// "of SQL". The numbers of its plugins' errors begin with 20000.
const (
	firstOfPicodata = 10000
	firstOfPlugins  = 20000
)

// ServerError returns the failure for an error response of the server.
func ServerError(code uint32, message string) *protocol.Error {
	if e := shardingFailure(message); e != nil {
		return e
	}
	class, fatal := classOf(code, message)
	e := protocol.Picodata(message)
	number, text := strconv.FormatUint(uint64(code), 10), e.Cause
	if code >= firstOfPicodata && code < firstOfPlugins {
		number, text = e.Of(number)
	}
	return &protocol.Error{Class: class, Code: number, Text: protocol.Line(text, ""), Fatal: fatal}
}

func protocolError(text string) *protocol.Error {
	return &protocol.Error{Class: protocol.Protocol, Text: text, Fatal: true}
}
