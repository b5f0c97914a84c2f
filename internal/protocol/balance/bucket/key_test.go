package bucket

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/test/testserver"
)

func num(i int64) gen.Value     { return gen.Value{Kind: gen.Int, I: i} }
func text(s string) gen.Value   { return gen.Value{Kind: gen.String, B: []byte(s)} }
func float(f float64) gen.Value { return gen.Value{Kind: gen.Float, F: f} }

// oracle is a Tarantool program that returns the hashes of keys. The keys are Lua literals in its text, so that no
// encoding of ours is between a key and its hash.
const oracle = `
local digest, msgpack, ffi, packed = require('digest'), require('msgpack'), require('ffi'), require('msgpackffi')
local uuid, decimal = require('uuid'), require('decimal')
local function num(v) return v end
local function double(v) return {double = v} end
local function raw(v)
	if type(v) == 'string' then return v end
	if type(v) == 'table' then return msgpack.encode(ffi.cast('double', v.double)) end
	return msgpack.encode(v)
end
-- What a program gets of a client's value.
local function got(v)
	local bytes = raw(v)
	if type(v) == 'string' then return v end
	return (msgpack.decode(bytes))
end
local out = {}
local function key(...)
	local murmur, mp, str = '', digest.crc32.new(), digest.crc32.new()
	for i = 1, select('#', ...) do
		local v = select(i, ...)
		murmur = murmur .. raw(v)
		v = got(v)
		mp:update(type(v) == 'string' and v or packed.encode(v))
		str:update(tostring(v))
	end
	table.insert(out, string.format('%d %d %d', digest.murmur(murmur), mp:result(), str:result()))
end
`

// literal returns a value as a Lua literal.
func literal(v *gen.Value) string {
	switch v.Kind {
	case gen.Bool:
		return strconv.FormatBool(v.I != 0)
	case gen.Int:
		return fmt.Sprintf("tonumber64('%d')", v.I)
	case gen.Uint:
		return fmt.Sprintf("tonumber64('%d')", uint64(v.I))
	case gen.Float:
		if math.IsInf(v.F, 0) {
			return fmt.Sprintf("double(%d/0)", int(math.Copysign(1, v.F)))
		}
		return fmt.Sprintf("double(%s)", strconv.FormatFloat(v.F, 'e', -1, 64))
	case gen.Decimal:
		return fmt.Sprintf("decimal.new('%s')", gen.AppendDecimal(nil, v.I, v.Scale))
	case gen.UUID:
		return fmt.Sprintf("uuid.fromstr('%x-%x-%x-%x-%x')", v.B[:4], v.B[4:6], v.B[6:8], v.B[8:10], v.B[10:])
	case gen.String:
		var b strings.Builder
		for _, c := range v.B {
			fmt.Fprintf(&b, `\%03d`, c)
		}
		return `"` + b.String() + `"`
	}
	return "box.NULL"
}

// drawn returns a random value of a kind.
func drawn(r *rand.Rand, kind gen.Kind) gen.Value {
	v := gen.Value{Kind: kind, I: int64(r.Uint64() >> r.IntN(64))}
	switch kind {
	case gen.Bool:
		v.I &= 1
	case gen.Int:
		if r.IntN(2) == 0 {
			v.I = -v.I
		}
	case gen.Float:
		switch r.IntN(3) {
		case 0:
			v.F = float64(int64(r.Uint64()>>r.IntN(64)) - 1<<20)
		case 1:
			v.F = r.NormFloat64()
		default:
			v.F = math.Exp(r.NormFloat64()*10 - 20)
		}
	case gen.Decimal:
		v.I, v.Scale = v.I%1e17, uint8(r.IntN(5))
	case gen.String, gen.UUID:
		n := 16
		if kind == gen.String {
			n = r.IntN(300)
		}
		v.B = make([]byte, n)
		for i := range v.B {
			v.B[i] = byte(r.Uint32())
		}
		if kind == gen.UUID {
			v.B[8] = v.B[8]&0x3f | 0x80 // Tarantool supports only the variant of RFC 9562
		}
	}
	return v
}

// keys returns keys at the limits of formats, and many random ones.
func keys() (all [][]gen.Value) {
	for _, v := range []gen.Value{
		{}, {Kind: gen.Bool}, {Kind: gen.Bool, I: 1}, num(0), num(-1), num(math.MaxInt64), num(math.MinInt64),
		{Kind: gen.Uint, I: -1}, {Kind: gen.Uint, I: 5}, num(99999999999998), num(99999999999999), num(100000000000000),
		num(-99999999999998), num(-99999999999999), num(-100000000000000), text(""), text("a"), text("ab"), text("abc"),
		text("abcd"), text("ключ"), float(0), float(1), float(-1), float(1.5), float(1e15), float(1e14), float(123456.789),
		float(0.0001), float(0.00001), float(-2.5e-300), float(1 << 62), float(math.Inf(1)),
		float(math.Inf(-1)), {Kind: gen.Decimal, I: 150, Scale: 2}, {Kind: gen.Decimal, I: -7},
	} {
		all = append(all, []gen.Value{v})
	}
	for shift := range 63 {
		all = append(all, []gen.Value{num(1 << shift)}, []gen.Value{num(1<<shift - 1)}, []gen.Value{num(-1 << shift)},
			[]gen.Value{num(-1<<shift - 1)})
	}
	r := rand.New(rand.NewPCG(7, 23))
	kinds := []gen.Kind{gen.Null, gen.Bool, gen.Int, gen.Uint, gen.Float, gen.Decimal, gen.String, gen.UUID}
	for i := range 3000 {
		var key []gen.Value
		for range 1 + i%4 {
			key = append(key, drawn(r, kinds[r.IntN(len(kinds))]))
		}
		all = append(all, key)
	}
	return all
}

// asked returns Tarantool's hashes of keys.
func asked(t *testing.T, all [][]gen.Value) []string {
	t.Helper()
	s := testserver.Tarantool(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var said []string
	for len(all) > 0 {
		n := min(len(all), 500)
		var b strings.Builder
		b.WriteString(oracle)
		for _, key := range all[:n] {
			var literals []string
			for i := range key {
				literals = append(literals, literal(&key[i]))
			}
			fmt.Fprintf(&b, "key(%s)\n", strings.Join(literals, ", "))
		}
		all = all[n:]
		b.WriteString("return table.concat(out, '\\n')")
		p := &protocol.Program{Requests: []protocol.Request{{Name: "oracle", Verb: protocol.Eval, Text: b.String(),
			Capture: []protocol.Capture{{Kind: gen.String}}}}}
		conn, err := iproto.New().Dial(ctx, protocol.Target{Address: s.Addr, User: s.User, Password: s.Password}, p)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var reply protocol.Reply
		reply.Reset(1)
		conn.Do(ctx, &p.Requests[0], nil, &reply)
		if reply.Class != protocol.OK {
			t.Fatalf("%s", reply.Text)
		}
		said = append(said, strings.Split(string(reply.Captured[0].B), "\n")...)
	}
	return said
}

// Key computes the same buckets as Tarantool's own hash functions.
func TestTarantoolHashesSo(t *testing.T) {
	all := keys()
	said := asked(t, all)
	if len(said) != len(all) {
		t.Fatalf("%d answers for %d keys", len(said), len(all))
	}
	const buckets = math.MaxInt32 // a large number keeps most bits of the hash
	for h, hash := range Hashes() {
		t.Run(hash, func(t *testing.T) {
			for i, key := range all {
				var by []int
				var kinds []gen.Kind
				for at := range key {
					by, kinds = append(by, at), append(kinds, key[at].Kind)
				}
				k, err := NewKey(hash, buckets, by, kinds)
				if err != nil {
					continue // refused
				}
				want, _ := strconv.ParseUint(strings.Fields(said[i])[h], 10, 32)
				if got := k.Bucket(key); got != want%buckets+1 {
					t.Errorf("key %d: bucket %d, want %d: %s", i, got, want%buckets+1, describe(key))
				}
			}
		})
	}
}

func describe(key []gen.Value) (s string) {
	for i := range key {
		s += literal(&key[i]) + " "
	}
	return s
}

func TestKeysThatCannotBeHashed(t *testing.T) {
	for name, c := range map[string]struct {
		hash    string
		buckets int
		by      []int
		kind    gen.Kind
		say     string
	}{
		"hash":    {"md5", 1, []int{0}, gen.Int, "unknown hash"},
		"buckets": {Murmur3, 0, []int{0}, gen.Int, "0 buckets"},
		"key":     {Murmur3, 1, nil, gen.Int, "no parameter"},
		"time":    {Murmur3, 1, []int{0}, gen.Datetime, "times"},
		"bytes":   {CRC32MP, 1, []int{0}, gen.Bytes, "bytes"},
		"JSON":    {CRC32MP, 1, []int{0}, gen.JSON, "JSON"},
		"decimal": {CRC32Text, 1, []int{0}, gen.Decimal, "decimals"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewKey(c.hash, c.buckets, c.by, []gen.Kind{c.kind})
			if err == nil || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want a line with %q", err, c.say)
			}
		})
	}
}

func TestBucketAllocatesNothing(t *testing.T) {
	args := []gen.Value{num(-5e9), text(strings.Repeat("x", 500)), float(1.25), {Kind: gen.UUID, B: make([]byte, 16)}}
	for _, hash := range Hashes() {
		t.Run(hash, func(t *testing.T) {
			k, err := NewKey(hash, 3000, []int{0, 1, 2, 3}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { k.Bucket(args) }); n != 0 {
				t.Errorf("%g allocations", n)
			}
		})
	}
}

func BenchmarkBucket(b *testing.B) {
	args := []gen.Value{num(123456789)}
	for _, hash := range Hashes() {
		b.Run(hash, func(b *testing.B) {
			k, err := NewKey(hash, 3000, []int{0}, nil)
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				k.Bucket(args)
			}
		})
	}
}

// Key computes the buckets in Picodata's manual and in its own tests for tables with 3000 buckets.
func TestPicodataHashesSo(t *testing.T) {
	for _, c := range []struct {
		key  []gen.Value
		want uint64
	}{
		{[]gen.Value{num(1)}, 1934},
		{[]gen.Value{num(2)}, 1410},
		{[]gen.Value{num(3)}, 1958},
		{[]gen.Value{num(4)}, 2752},
		{[]gen.Value{num(5)}, 219},
		{[]gen.Value{text("2"), num(1)}, 2997},
		{[]gen.Value{text("lol"), num(5)}, 442},
	} {
		k, err := NewKey(Murmur3, 3000, []int{0, 1}[:len(c.key)], []gen.Kind{gen.Int})
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Bucket(c.key); got != c.want {
			t.Errorf("key %s: bucket %d, want %d", describe(c.key), got, c.want)
		}
	}
}
