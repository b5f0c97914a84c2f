package mysql

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Commands and headers of the client/server protocol (dev.mysql.com/doc/dev/mysql-server: "Client/Server Protocol").
const (
	comQuit    = 0x01
	comQuery   = 0x03
	comPing    = 0x0e
	comPrepare = 0x16
	comExecute = 0x17

	headerOK    = 0x00
	headerLocal = 0xfb
	headerEOF   = 0xfe
	headerERR   = 0xff

	packetHeader = 4
	mostPacket   = 1<<24 - 1 // of a packet; longer requests and answers are split
)

// Flags of the status in OK and EOF packets.
const (
	statusMoreResults = 0x0008
	statusNoEscapes   = 0x0200
)

// Types of parameters.
const (
	typeDouble   = 0x05
	typeNull     = 0x06
	typeLongLong = 0x08
	typeString   = 0xfe
	unsigned     = 0x80
)

// codec is the codec of one session.
type codec struct {
	statements []codecStatement
	secret     string
	link       capabilities
	status     uint16
	answer
}

// capabilities are what client and server have agreed on.
type capabilities struct {
	deprecateEOF  bool // columns aren't followed by EOF, and rows are by OK
	cacheMetadata bool // MariaDB leaves out columns that the client knows
}

// codecStatement is a request prepared for sending.
type codecStatement struct {
	kind   protocol.Kind
	id     uint32
	query  []byte   // the whole packet of a text without parameters
	pieces []string // of a text with parameters, one more than order
	order  []int    // number of the argument for each parameter
	params int      // number of arguments
	// verbatim says that the first argument is the text, with question marks for the others; all, that every row is
	// captured.
	verbatim, all bool
}

var (
	_ protocol.Codec       = (*codec)(nil)
	_ protocol.IdleScanner = (*codec)(nil)
	_ protocol.Parting     = (*codec)(nil)
)

// Part appends COM_QUIT. Without it, the server counts an aborted connection.
func (*codec) Part(dst []byte) []byte { return append(dst, 1, 0, 0, 0, comQuit) }

// Encode appends COM_STMT_EXECUTE for a prepared statement, otherwise COM_QUERY.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	st := &c.statements[req.ID]
	if refused := protocol.Arguments(args, st.params); refused != nil {
		return dst, refused
	}
	if st.verbatim {
		text, order, refused := questionMarks(string(args[0].B), st.params-1)
		if refused != nil {
			return dst, refused
		}
		st = &codecStatement{pieces: splitAtMarks(text), order: order}
		args = args[1:]
	}
	if refused := notFinite(args); refused != nil {
		return dst, refused
	}
	if st.query != nil {
		return append(dst, st.query...), nil
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if st.pieces != nil {
		dst = st.appendText(append(dst, comQuery), args, c.status&statusNoEscapes != 0)
	} else {
		dst = st.appendExecute(append(dst, comExecute), args)
	}
	length := len(dst) - at - packetHeader
	if length >= mostPacket {
		return dst[:at], protocol.Bad("a request of %d bytes is too large for a packet of 16 MiB", length)
	}
	putLength(dst[at:], length)
	return dst, nil
}

// notFinite returns a failure if an argument is NaN or infinite: the server has no such numbers, and in its lenient
// modes stores null or the greatest number instead.
func notFinite(args []gen.Value) *protocol.Error {
	for i := range args {
		if v := &args[i]; v.Kind == gen.Float && (math.IsNaN(v.F) || math.IsInf(v.F, 0)) {
			return protocol.Bad("parameter $%d is %s, and MySQL has no such number", i+1, v.AppendText(nil))
		}
	}
	return nil
}

// putLength writes the length of a packet into its header.
func putLength(header []byte, length int) {
	header[0], header[1], header[2] = byte(length), byte(length>>8), byte(length>>16)
}

// packet returns a whole packet.
func packet(command byte, text string) []byte {
	b := append(append(make([]byte, 0, packetHeader+1+len(text)), 0, 0, 0, 0, command), text...)
	putLength(b, len(text)+1)
	return b
}

// appendExecute appends the parameters of COM_STMT_EXECUTE in binary form.
func (st *codecStatement) appendExecute(dst []byte, args []gen.Value) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, st.id)
	dst = append(dst, 0, 1, 0, 0, 0) // no cursor, one iteration
	n := len(st.order)
	if n == 0 {
		return dst
	}
	nulls := len(dst)
	for range (n + 7) / 8 {
		dst = append(dst, 0)
	}
	dst = append(dst, 1) // types follow
	for i, from := range st.order {
		v := &args[from]
		switch v.Kind {
		case gen.Null:
			dst[nulls+i/8] |= 1 << (i % 8)
			dst = append(dst, typeNull, 0)
		case gen.Int, gen.Bool:
			dst = append(dst, typeLongLong, 0)
		case gen.Uint:
			dst = append(dst, typeLongLong, unsigned)
		case gen.Float:
			dst = append(dst, typeDouble, 0)
		default:
			dst = append(dst, typeString, 0)
		}
	}
	for _, from := range st.order {
		v := &args[from]
		switch v.Kind {
		case gen.Null:
		case gen.Int, gen.Bool, gen.Uint:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v.I))
		case gen.Float:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.F))
		case gen.String, gen.Bytes, gen.JSON, gen.Number:
			dst = append(appendLength(dst, uint64(len(v.B))), v.B...)
		default:
			text := textOf(v)
			dst = append(appendLength(dst, uint64(len(text))), text...)
		}
	}
	return dst
}

// textOf returns the text of a value that is sent as text.
func textOf(v *gen.Value) string {
	switch v.Kind {
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().Format("2006-01-02 15:04:05.999999")
	case gen.UUID:
		return string(gen.AppendUUID(nil, v.B))
	}
	return fmt.Sprint(v.Any())
}

// appendLength appends a length-encoded integer.
func appendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(dst, byte(n))
	case n < 1<<16:
		return append(dst, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(dst, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 0xfe), n)
}

// appendText appends a statement with its arguments as literals.
func (st *codecStatement) appendText(dst []byte, args []gen.Value, plain bool) []byte {
	for i, from := range st.order {
		dst = appendLiteral(append(dst, st.pieces[i]...), &args[from], plain)
	}
	return append(dst, st.pieces[len(st.pieces)-1]...)
}

// appendLiteral appends a value as a literal. plain says that backslashes in strings stand for themselves
// (NO_BACKSLASH_ESCAPES).
func appendLiteral(dst []byte, v *gen.Value, plain bool) []byte {
	switch v.Kind {
	case gen.Null:
		return append(dst, "NULL"...)
	case gen.Int, gen.Bool:
		return fmt.Append(dst, v.I)
	case gen.Uint:
		return fmt.Append(dst, uint64(v.I))
	case gen.Float:
		return fmt.Appendf(dst, "%g", v.F)
	case gen.Number:
		return append(dst, v.B...)
	case gen.Bytes:
		return fmt.Appendf(dst, "_binary x'%x'", v.B)
	case gen.String, gen.JSON:
		return appendQuoted(dst, v.B, plain)
	}
	return appendQuoted(dst, []byte(textOf(v)), plain)
}

// appendQuoted appends a string literal.
func appendQuoted(dst, text []byte, plain bool) []byte {
	dst = append(dst, '\'')
	for _, b := range text {
		switch {
		case b == '\'':
			dst = append(dst, '\'')
		case b == '\\' && !plain:
			dst = append(dst, '\\')
		case b == 0 && !plain:
			dst = append(dst, '\\', '0')
			continue
		}
		dst = append(dst, b)
	}
	return append(dst, '\'')
}
