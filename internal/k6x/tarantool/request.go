package tarantool

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/tarantool/go-iproto"

	"brunt/internal/gen"
	"brunt/internal/k6x/bind"
	"brunt/internal/msgpack"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// request is what a script asks for, its body encoded.
type request struct {
	verb    string // as the record names it
	on      string // what it is about: a space, a function
	kind    iproto.Type
	body    []byte        // valid until the next request of the virtual user
	does    protocol.Verb // for failures without an answer
	text    string        // of SQL
	rows    rows          // what its data is
	form    []string      // names of the fields of its tuples, as far as they are known
	objects bool          // tuples are wanted as objects
}

// rows is what an answer's data holds.
type rows uint8

const (
	values  rows = iota // what a function returned
	tuples              // tuples of a space
	sqlRows             // rows of SQL
)

// exchange is a request and its answer.
type exchange struct {
	*request
	blocking.Exchange
	address int

	end     int64 // when the answer came, or the waiting for it was over
	bytes   int64 // of the answer
	failure *protocol.Error
	cut     bool // the iteration ended before the answer came
}

// newExchange returns an exchange of a request that is about to be sent.
func newExchange(r *request) *exchange {
	x := &exchange{request: r}
	x.Request = &protocol.Request{ID: int(r.kind), Verb: r.does, Text: r.text}
	return x
}

// answer is the body of the answer; nil if it is none, or an error.
func (x *exchange) answer() []byte {
	if len(x.Reply.Captured) == 0 {
		return nil
	}
	return x.Reply.Captured[0].B
}

// body writes a request's body in MessagePack (github.com/msgpack/msgpack, spec.md).
type body struct {
	out []byte
	err error
}

func (b *body) mapping(n int) { b.head(n, 0x80, 0xde) }

// head writes the header of an array or map: its format of few items, or of 16 bits, which the one of 32
// bits follows.
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

func (b *body) number(key iproto.Key, n uint64) {
	b.out = append(b.out, byte(key))
	b.scalar(&gen.Value{Kind: gen.Uint, I: int64(n)})
}

func (b *body) text(key iproto.Key, s string) {
	b.out = append(b.out, byte(key))
	b.scalar(&gen.Value{Kind: gen.String, B: []byte(s)})
}

func (b *body) value(key iproto.Key, x any) {
	b.out = append(b.out, byte(key))
	b.any(x)
}

// any writes what a script gave.
func (b *body) any(x any) { b.within(x, 0) }

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
