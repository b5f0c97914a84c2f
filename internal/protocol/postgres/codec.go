package postgres

import (
	"encoding/binary"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// maxMessage is the maximum size of a message sent, in bytes. Servers accept up to 1 GiB − 1.
const maxMessage = 1<<30 - 1

func tooLarge(bytes int) *protocol.Error {
	return protocol.Bad("a request of %d bytes is too large for the protocol", bytes)
}

// codec is the codec of one session.
type codec struct {
	statements []*statement
	secret     string
	program    *sharedProgram
	product    string          // the server's product, once it has been asked for
	named      map[string]bool // names of Late statements that the session has prepared
	scanner
}

var _ protocol.Parting = (*codec)(nil)

// Part appends Terminate. Without it, the server logs an error.
func (*codec) Part(dst []byte) []byte { return append(dst, 'X', 0, 0, 0, 4) }

// Encode appends the messages of a request: Bind, Execute and Sync for a prepared statement, Query otherwise. It
// allocates nothing unless dst must grow or the arguments are invalid.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	st, err := find(c.statements, req, args)
	switch {
	case err != nil:
		return dst, err
	case st.script != nil:
		return c.encodeScripted(dst, st, args)
	case st.query != nil:
		return append(dst, st.query...), nil
	case st.literal != nil:
		return st.literal.appendMessage(dst, args)
	}
	if !st.each && c.program.pooled.Load() {
		st.unnamed()
	}
	if !st.stale {
		return st.appendRequest(dst, args)
	}
	before := len(dst)
	if dst, err = st.appendRenewal(dst); err == nil {
		dst, err = st.appendRequest(dst, args)
	}
	if err != nil { // nothing is sent
		st.stale, st.renewing = true, false
		return dst[:before], err
	}
	return dst, nil
}

// appendRequest appends Bind, Execute and Sync.
func (st *statement) appendRequest(dst []byte, args []gen.Value) (_ []byte, err *protocol.Error) {
	at := len(dst)
	dst = append(dst, st.bind...)
	for i := range args {
		if args[i].Kind == gen.Null {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		start := len(dst)
		var format int16
		dst, format, err = appendValue(append(dst, 0, 0, 0, 0), st.params[i], &args[i])
		if err != nil {
			return dst[:at], err
		}
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
		dst[at+st.formatsAt+2*i+1] = byte(format)
	}
	dst = append(dst, st.tail...)
	length := len(dst) - at - 1 - afterBind
	if length > maxMessage {
		return dst[:at], tooLarge(length)
	}
	binary.BigEndian.PutUint32(dst[at+1:], uint32(length))
	return dst, nil
}

// own returns a session's copy of a shared statement.
func (st *statement) own() *statement {
	own := *st
	own.shared = false
	if st.script != nil {
		script := *st.script
		own.script = &script
	}
	return &own
}

// find returns the session's own statement for a request. It fails if the number of arguments is wrong.
func find(statements []*statement, req *protocol.Request, args []gen.Value) (*statement, *protocol.Error) {
	st := statements[req.ID]
	if st.shared {
		st = st.own()
		statements[req.ID] = st
	}
	if len(args) != len(st.req.Params) {
		return nil, protocol.Refused(req, "the count of arguments isn't that of its parameters")
	}
	return st, nil
}
