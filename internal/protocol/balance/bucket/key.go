// Package bucket finds the bucket of a key in a sharded Tarantool or Picodata cluster, and the node that has the
// bucket. The bucket is a function of the key that clients and servers share. The node is asked of the cluster.
package bucket

import (
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/protocol/msgpack"
)

// The hash functions of keys.
const (
	// Murmur3 is Tarantool's hash of a tuple by a key definition: MurmurHash3 with seed 13 of the values' MessagePack,
	// where strings are hashed without their headers. Picodata hashes the columns of DISTRIBUTED BY in this way, each
	// value by its own type (Tarantool's src/box/tuple_hash.cc, tuple_hash_field; Picodata's src/sql/router.rs,
	// calculate_bucket_id).
	Murmur3 = "murmur3"
	// CRC32MP is vshard's bucket_id_mpcrc32: CRC-32C without the final inversion, of the values' MessagePack, where
	// strings are hashed without their headers (vshard/hash.lua). Numbers are converted as in Lua: 1.0 is hashed as 1.
	CRC32MP = "crc32-mp"
	// CRC32Text is vshard's bucket_id_strcrc32: the same CRC of the values as printed by Lua's tostring.
	CRC32Text = "crc32-text"
)

// Hashes returns the names of the hash functions.
func Hashes() []string { return []string{Murmur3, CRC32MP, CRC32Text} }

// Key computes the bucket of a request from its arguments. It is immutable and safe for concurrent use.
type Key struct {
	hash    string
	buckets uint32
	by      []int // indices of the arguments that form the key, in order
	table   *crc32.Table
}

// NewKey returns a key that consists of the arguments with the indices by, and is mapped to one of the given number of
// buckets. kinds are the kinds of these arguments. An error is one line that says what to change.
func NewKey(hash string, buckets int, by []int, kinds []gen.Kind) (*Key, error) {
	if !slices.Contains(Hashes(), hash) {
		return nil, fmt.Errorf("unknown hash %q of a bucket's key: use one of %q", hash, Hashes())
	}
	if buckets < 1 || buckets > math.MaxInt32 {
		return nil, fmt.Errorf("%d buckets: use the number of the cluster's", buckets)
	}
	if len(by) == 0 {
		return nil, fmt.Errorf("a bucket's key of no parameter")
	}
	for _, kind := range kinds {
		switch kind {
		case gen.Bytes, gen.JSON, gen.Datetime:
			return nil, fmt.Errorf("a bucket's key can't have %s: use numbers, strings, booleans, uuids or decimals",
				map[gen.Kind]string{gen.Bytes: "bytes", gen.JSON: "JSON", gen.Datetime: "times"}[kind])
		case gen.Decimal, gen.Float:
			if hash == CRC32Text {
				return nil, fmt.Errorf("a bucket's key of %s can't have decimals or floating-point numbers: use whole ones",
					CRC32Text)
			}
		}
	}
	return &Key{hash, uint32(buckets), by, crc32.MakeTable(crc32.Castagnoli)}, nil
}

// Bucket returns the bucket, from 1, of a request with these arguments. It allocates nothing.
func (k *Key) Bucket(args []gen.Value) uint64 {
	var room [64]byte
	if k.hash == Murmur3 {
		m := newMurmur()
		for _, at := range k.by {
			m.write(packed(room[:0], &args[at]))
		}
		return uint64(m.sum()%k.buckets) + 1
	}
	sum := ^uint32(0)
	for _, at := range k.by {
		piece := room[:0]
		if k.hash == CRC32MP {
			piece = packedByLua(piece, &args[at])
		} else {
			piece = printed(piece, &args[at])
		}
		sum = k.crc(sum, piece)
	}
	return uint64(sum%k.buckets) + 1
}

// crc continues a CRC-32. Unlike crc32.Update, it doesn't let its argument escape.
func (k *Key) crc(sum uint32, b []byte) uint32 {
	for _, c := range b {
		sum = k.table[byte(sum)^c] ^ sum>>8
	}
	return sum
}

// packed returns a value in the form in which it is hashed: the bytes of a string, or otherwise MessagePack, appended
// to dst. Strings are not copied.
func packed(dst []byte, v *gen.Value) []byte {
	if v.Kind == gen.String {
		return v.B
	}
	out, err := msgpack.AppendValue(dst, v)
	if err != nil {
		return dst
	}
	return out
}

// packedByLua returns a value as a Lua program packs it after receiving it from a client: whole floating-point numbers
// below 2⁶⁴ become integers (Tarantool's msgpackffi.encode).
func packedByLua(dst []byte, v *gen.Value) []byte {
	if v.Kind != gen.Float || v.F != math.Trunc(v.F) || v.F < -1<<63 || v.F >= 1<<64 {
		return packed(dst, v)
	}
	whole := gen.Value{Kind: gen.Int, I: int64(v.F)}
	if v.F >= 1<<63 {
		whole.Kind, whole.I = gen.Uint, int64(uint64(v.F))
	}
	return packed(dst, &whole)
}

// luaWhole is the lowest integer that a Lua program receives from a client as a 64-bit integer instead of a
// floating-point number (Tarantool's src/lua/utils.h).
const luaWhole = 1e14

// printed appends a value as Lua's tostring prints it in a program that received it from a client.
func printed(dst []byte, v *gen.Value) []byte {
	switch v.Kind {
	case gen.Null:
		return append(dst, "cdata<void *>: NULL"...)
	case gen.Bool:
		return strconv.AppendBool(dst, v.I != 0)
	case gen.Int:
		if dst = strconv.AppendInt(dst, v.I, 10); v.I >= luaWhole {
			return append(dst, "ULL"...)
		} else if v.I <= -luaWhole {
			return append(dst, "LL"...)
		}
		return dst
	case gen.Uint:
		if dst = strconv.AppendUint(dst, uint64(v.I), 10); uint64(v.I) >= luaWhole {
			return append(dst, "ULL"...)
		}
		return dst
	case gen.UUID:
		return gen.AppendUUID(dst, v.B)
	}
	return packed(dst, v)
}
