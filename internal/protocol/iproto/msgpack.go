package iproto

import (
	"math"

	iproto "github.com/tarantool/go-iproto"
)

// The reader follows the MessagePack specification (github.com/msgpack/msgpack, spec.md).

// readError is the reason why a reader stopped.
type readError uint8

const (
	fine  readError = iota
	short           // the input ends too early
	bad             // the input isn't of the requested type
)

// reader decodes MessagePack. It keeps the first error; all reads after that return zero values.
type reader struct {
	b  []byte
	at int
	readError
}

func (r *reader) fail(t readError) {
	if r.readError == fine {
		r.readError = t
	}
}

// take returns the next n bytes.
func (r *reader) take(n int) []byte {
	if r.readError != fine {
		return nil
	}
	if n < 0 || n > len(r.b)-r.at {
		r.fail(short)
		return nil
	}
	b := r.b[r.at : r.at+n]
	r.at += n
	return b
}

// peek returns the first byte of the next value, or 0xc1 (which is never used) at the end.
func (r *reader) peek() byte {
	if r.readError != fine || r.at >= len(r.b) {
		r.fail(short)
		return 0xc1
	}
	return r.b[r.at]
}

// big reads a big-endian integer of n bytes.
func (r *reader) big(n int) uint64 {
	var x uint64
	for _, c := range r.take(n) {
		x = x<<8 | uint64(c)
	}
	return x
}

// head reads the first bytes of a value: its family, and its number or size.
func (r *reader) head() (f family, n uint64) {
	b := r.take(1)
	if b == nil {
		return none, 0
	}
	switch c := b[0]; {
	case c < 0x80:
		return unsigned, uint64(c)
	case c < 0x90:
		return mapping, uint64(c & 15)
	case c < 0xa0:
		return array, uint64(c & 15)
	case c < 0xc0:
		return str, uint64(c & 31)
	case c >= 0xe0:
		return signed, uint64(int64(int8(c)))
	case c == 0xc0:
		return null, 0
	case c == 0xc2, c == 0xc3:
		return boolean, uint64(c & 1)
	case c >= 0xc4 && c <= 0xc6:
		return binaryData, r.big(1 << (c - 0xc4))
	case c >= 0xc7 && c <= 0xc9:
		return ext, r.big(1 << (c - 0xc7))
	case c == 0xca:
		return float, math.Float64bits(float64(math.Float32frombits(uint32(r.big(4)))))
	case c == 0xcb:
		return float, r.big(8)
	case c >= 0xcc && c <= 0xcf:
		return unsigned, r.big(1 << (c - 0xcc))
	case c >= 0xd0 && c <= 0xd3:
		size := 1 << (c - 0xd0)
		shift := 64 - 8*size
		return signed, uint64(int64(r.big(size)<<shift) >> shift)
	case c >= 0xd4 && c <= 0xd8:
		return ext, 1 << (c - 0xd4)
	case c >= 0xd9 && c <= 0xdb:
		return str, r.big(1 << (c - 0xd9))
	case c == 0xdc, c == 0xdd:
		return array, r.big(2 << (c - 0xdc))
	case c == 0xde, c == 0xdf:
		return mapping, r.big(2 << (c - 0xde))
	}
	r.fail(bad)
	return none, 0
}

// family is a group of formats that differ only in size.
type family uint8

const (
	none family = iota
	null
	boolean
	unsigned
	signed
	float
	str
	binaryData
	array
	mapping
	ext
)

// sized reads the head of a value of the given family and returns its number or size.
func (r *reader) sized(want family) uint64 {
	f, n := r.head()
	if f != want {
		r.fail(bad)
		return 0
	}
	return n
}

func (r *reader) array() uint64   { return r.sized(array) }
func (r *reader) mapping() uint64 { return r.sized(mapping) }

// uint reads a non-negative integer.
func (r *reader) uint() uint64 {
	f, n := r.head()
	if f != unsigned && !(f == signed && int64(n) >= 0) {
		r.fail(bad)
		return 0
	}
	return n
}

// text reads a string. The result is a part of the input.
func (r *reader) text() []byte { return r.body(r.sized(str)) }

func (r *reader) body(n uint64) []byte {
	if n > math.MaxInt32 {
		r.fail(short)
		return nil
	}
	return r.take(int(n))
}

// skip skips one value of any type, without recursion.
func (r *reader) skip() {
	for left := uint64(1); left > 0 && r.readError == fine; left-- {
		switch f, n := r.head(); f {
		case str, binaryData:
			r.body(n)
		case ext:
			r.body(n + 1)
		case array:
			left += n
		case mapping:
			left += 2 * n
		}
	}
}

// Keys of request bodies and types of requests, as bytes.
const (
	keySpace    = byte(iproto.IPROTO_SPACE_ID)
	keyIndex    = byte(iproto.IPROTO_INDEX_ID)
	keyLimit    = byte(iproto.IPROTO_LIMIT)
	keyOffset   = byte(iproto.IPROTO_OFFSET)
	keyIterator = byte(iproto.IPROTO_ITERATOR)
	keyBase     = byte(iproto.IPROTO_INDEX_BASE)
	keyKey      = byte(iproto.IPROTO_KEY)
	keyTuple    = byte(iproto.IPROTO_TUPLE)
	keyFunction = byte(iproto.IPROTO_FUNCTION_NAME)
	keyExpr     = byte(iproto.IPROTO_EXPR)
	keyOps      = byte(iproto.IPROTO_OPS)
	keyUser     = byte(iproto.IPROTO_USER_NAME)
	keySQLText  = byte(iproto.IPROTO_SQL_TEXT)
	keySQLBind  = byte(iproto.IPROTO_SQL_BIND)
	keyStmt     = byte(iproto.IPROTO_STMT_ID)

	typeSelect  = byte(iproto.IPROTO_SELECT)
	typeInsert  = byte(iproto.IPROTO_INSERT)
	typeReplace = byte(iproto.IPROTO_REPLACE)
	typeUpdate  = byte(iproto.IPROTO_UPDATE)
	typeDelete  = byte(iproto.IPROTO_DELETE)
	typeAuth    = byte(iproto.IPROTO_AUTH)
	typeEval    = byte(iproto.IPROTO_EVAL)
	typeUpsert  = byte(iproto.IPROTO_UPSERT)
	typeCall    = byte(iproto.IPROTO_CALL)
	typeExecute = byte(iproto.IPROTO_EXECUTE)
	typePrepare = byte(iproto.IPROTO_PREPARE)
	typePing    = byte(iproto.IPROTO_PING)

	codeChunk = 0x80 // a message pushed by a function before its answer
	codeEvent = 76   // a watcher's event

	maxAnswer = 1 << 31 // bytes; no server sends larger packets

	dispatcher = ".proc_sql_dispatch"
)
