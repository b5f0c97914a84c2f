package keyspace

import (
	"encoding/base64"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
)

// values generates the contents of fields.
type values struct {
	*Spec
	lengths       lengths
	rows, changes []gen.Stream // one per field: for inserted rows, for updates
	order         []int        // of the fields, sorted by name
}

// newValues returns the values of a spec, with random streams for a seed.
func newValues(spec *Spec, seed uint64) (*values, error) {
	v := &values{Spec: spec}
	var err error
	if v.lengths, err = spec.Lengths.prepare(); err != nil {
		return nil, err
	}
	for i, f := range v.Fields {
		v.rows = append(v.rows, gen.NewStream(seed, "ycsb", "row", f))
		v.changes = append(v.changes, gen.NewStream(seed, "ycsb", "update", f))
		v.order = append(v.order, i)
	}
	slices.SortFunc(v.order, func(a, b int) int { return strings.Compare(v.Fields[a], v.Fields[b]) })
	return v, nil
}

// source says which record and field a value belongs to. All functions are pure in idx, the index of an operation or,
// in a batch, of one of its rows.
type source struct {
	record Chooser              // which record
	field  func(idx uint64) int // which field
	row    bool                 // the value is the record's initial one: it depends on the record only
}

// one returns a generator for one field.
func (v *values) one(s source) gen.Generator {
	return gen.Func(func(out *gen.Value, idx uint64) {
		out.Kind = gen.String
		out.B = v.append(out.B[:0], s, s.field(idx), idx)
	})
}

// document returns a generator for all fields of a record as JSON text; see appendDocument.
func (v *values) document(s source) gen.Generator {
	return gen.Func(func(out *gen.Value, idx uint64) {
		var room [256]byte
		out.Kind, out.B = gen.String, v.appendDocument(out.B[:0], func(dst []byte, field int) []byte {
			return base64.StdEncoding.AppendEncode(dst, v.append(room[:0], s, field, idx))
		})
	})
}

// textDocument is like document, but with the contents as they are. They are not escaped, so they must consist of
// letters, digits and characters that need no escaping in JSON.
func (v *values) textDocument(s source) gen.Generator {
	return gen.Func(func(out *gen.Value, idx uint64) {
		out.Kind, out.B = gen.String, v.appendDocument(out.B[:0], func(dst []byte, field int) []byte {
			return v.append(dst, s, field, idx)
		})
	})
}

// appendDocument appends a JSON object with the fields in byte order of their names. content appends the value of a
// field. With values in Base64, the result is what Go's encoding/json makes of a map[string][]byte.
func (v *values) appendDocument(dst []byte, content func(dst []byte, field int) []byte) []byte {
	dst = append(dst, '{')
	for k, field := range v.order {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendQuote(dst, v.Fields[field]), ':', '"')
		dst = append(content(dst, field), '"')
	}
	return append(dst, '}')
}

// expected appends the integrity value of a field of the record with the given key.
func (v *values) expected(dst, key []byte, field int) []byte {
	return AppendIntegrity(dst, key, v.Fields[field], v.Lengths.Most)
}

// expectedDocument appends document's text for the integrity values of the record with the given key.
func (v *values) expectedDocument(dst, key []byte) []byte {
	return v.appendDocument(dst, func(dst []byte, field int) []byte {
		return base64.StdEncoding.AppendEncode(dst, v.expected(nil, key, field))
	})
}

func (v *values) append(dst []byte, s source, field int, idx uint64) []byte {
	if v.Integrity {
		var room [320]byte
		return v.expected(dst, v.Keys.Append(room[:0], s.record(idx)), field)
	}
	stream, at := v.changes[field], idx
	if s.row {
		stream, at = v.rows[field], uint64(s.record(idx))
	}
	r := stream.At(at)
	return AppendLetters(dst, &r, v.lengths.draw(&r))
}

// Letters are drawn in pairs, four pairs from each random word. The bias of the fourth pair is below 2^-18.
const (
	letters     = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letterCount = uint64(len(letters))
	pairs       = letterCount * letterCount
	pairsAWord  = 4
)

// AppendLetters appends n random letters a–z and A–Z with equal probabilities.
func AppendLetters(dst []byte, r *gen.Rand, n int) []byte {
	for n > 0 {
		w := r.Uint64()
		for k := 0; k < pairsAWord && n > 0; k++ {
			var pair uint64
			pair, w = bits.Mul64(w, pairs)
			dst = append(dst, letters[pair/letterCount])
			if n > 1 {
				dst = append(dst, letters[pair%letterCount])
			}
			n -= 2
		}
	}
	return dst
}

// AppendIntegrity appends the value that a field must have, so that a read can be verified: the key, a colon, the
// field's name in lower case, and then repeatedly a colon and the decimal FNV-1a 64 hash of everything before. The
// value is truncated to length bytes.
func AppendIntegrity(dst []byte, key []byte, field string, length int) []byte {
	start := len(dst)
	dst = append(append(dst, key...), ':')
	dst = append(dst, strings.ToLower(field)...)
	h, hashed := uint64(fnvBasis), start
	for len(dst)-start < length {
		dst = append(dst, ':')
		for ; hashed < len(dst); hashed++ {
			h = (h ^ uint64(dst[hashed])) * fnvPrime
		}
		dst = strconv.AppendUint(dst, h, 10)
	}
	return dst[:start+length]
}
