package tarantool

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/tarantool/go-iproto"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/msgpack"
)

// request is a request of a script with its encoded body.
type request struct {
	verb    string // its verb in the record
	on      string // the space or function that it is for
	kind    iproto.Type
	body    []byte        // valid until the next request of the virtual user
	does    protocol.Verb // decides how a failure without an answer is classified
	text    string        // SQL text
	rows    rows          // what the answer's data contains
	form    []string      // names of the fields of its tuples, as far as they are known
	objects bool          // return tuples as objects
}

// rows is the kind of an answer's data.
type rows uint8

const (
	values  rows = iota // the return values of a function
	tuples              // tuples of a space
	sqlRows             // rows of an SQL result
)

// exchange is a request and its answer.
type exchange struct {
	*request
	blocking.Exchange
	address int

	end     int64 // when the answer came, or waiting for it ended
	bytes   int64 // of the answer
	failure *protocol.Error
	cut     bool // the iteration ended before the answer came
}

// newExchange returns an exchange for a request that is about to be sent.
func newExchange(r *request) *exchange {
	x := &exchange{request: r}
	x.Request = &protocol.Request{ID: int(r.kind), Verb: r.does, Text: r.text}
	return x
}

// answer returns the body of the answer, nil if there is none or it is an error.
func (x *exchange) answer() []byte {
	if len(x.Reply.Captured) == 0 {
		return nil
	}
	return x.Reply.Captured[0].B
}

// field is a field of a request's body. Its value is from a script, or a string or uint64.
type field struct {
	key   iproto.Key
	value any
}

// body writes a request's body in MessagePack (github.com/msgpack/msgpack, spec.md).
type body struct {
	out []byte
	err error
}

// head writes the header of an array or map. few is the format code for up to 15 items, many the one with a 16-bit
// length; the code with a 32-bit length is many+1.
func (b *body) head(n int, few, many byte) {
	switch {
	case n < 16:
		b.out = append(b.out, few|byte(n))
	case n < 1<<16:
		b.out = binary.BigEndian.AppendUint16(append(b.out, many), uint16(n))
	default:
		b.out = binary.BigEndian.AppendUint32(append(b.out, many+1), uint32(n))
	}
}

func (b *body) scalar(v *gen.Value) {
	out, err := msgpack.AppendValue(b.out, v)
	if err != nil {
		b.err = err
		return
	}
	b.out = out
}

// within writes a value that lies within depth arrays and objects.
func (b *body) within(x any, depth int) {
	if depth > maxDepth {
		b.err = fmt.Errorf("more than %d arrays and objects within each other: do they hold themselves?", maxDepth)
	}
	if b.err != nil {
		return
	}
	switch x := x.(type) {
	case []any:
		b.head(len(x), 0x90, 0xdc)
		for _, item := range x {
			b.within(item, depth+1)
		}
	case map[string]any:
		b.head(len(x), 0x80, 0xde)
		for _, key := range slices.Sorted(maps.Keys(x)) {
			b.scalar(&gen.Value{Kind: gen.String, B: []byte(key)})
			b.within(x[key], depth+1)
		}
	default:
		v, err := bind.Generated(x)
		if err != nil {
			b.err = err
			return
		}
		b.scalar(&v)
	}
}
