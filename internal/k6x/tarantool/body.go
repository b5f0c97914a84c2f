//go:build !nok6

package tarantool

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/tarantool/go-iproto"

	ours "brunt/internal/driver/iproto"
	"brunt/internal/gen"
	"brunt/internal/k6x/bind"
)

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
	out, err := ours.AppendValue(b.out, v)
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
		v, ok := bind.Generated(x)
		if !ok {
			b.err = fmt.Errorf("a %T can't be sent; give null, true, false, a number, BigInt (64 bits), string, Date, bytes, array or object", x)
			return
		}
		b.scalar(&v)
	}
}
