package keyspace

import (
	"bytes"
	"fmt"

	"brunt/internal/load/gen"
)

// Space is the set of records of one run: a Spec, and the records inserted so far. It is safe for concurrent use.
type Space struct {
	spec    *Spec
	inserts *Inserts
	choose  Chooser
	memo    *Memo // nil if choose is a pure function
	values  *values
	field   gen.Stream // random stream for fields
	scan    gen.Stream // random stream for scan lengths
}

// New returns the records of a run with the given seed. s must be valid.
func New(s *Spec, seed uint64) (*Space, error) {
	k := &Space{
		spec: s, inserts: NewInserts(s.InsertFrom, s.rows()),
		field: gen.NewStream(seed, "ycsb", "field"), scan: gen.NewStream(seed, "ycsb", "scan"),
	}
	k.inserts.Strict = s.Strict
	var err error
	if k.values, err = newValues(s, seed); err != nil || s.Choice == nil {
		return k, err
	}
	var follows bool
	k.choose, follows, err = NewChooser(*s.Choice, gen.NewStream(seed, "ycsb", "record"), k.inserts)
	if follows {
		k.memo = NewMemo(k.choose)
		k.choose = k.memo.Number
	}
	return k, err
}

// Follow sets which operations insert records; by default all do. is must be a pure function. Follow must be called
// before the first use.
func (k *Space) Follow(is func(i uint64) bool) { k.inserts.Follow(is) }

// Share declares which operations this process sends, if other processes send the rest; see Inserts.Share.
func (k *Space) Share(first uint64, mine func(i uint64) bool) { k.inserts.Share(first, mine) }

// Last returns the number up to which all records exist, except for those whose insert failed. With Spec.Strict, it is
// the number up to which none is missing.
func (k *Space) Last() int64 { return k.inserts.Last() }

// Draw returns a function that draws one of n fields for operation i. other selects a second draw for the same
// operation.
func (k *Space) Draw(n int, other bool) func(i uint64) int {
	if !other {
		return func(i uint64) int { return int(k.field.Uint64n(i, uint64(n))) }
	}
	return func(i uint64) int { return int(k.field.Uint64n(i, uint64(n))+k.scan.Uint64n(i, uint64(n))) % n }
}

// Generator returns a generator for a part of the record that belongs to an index: the next record to insert, or a
// chosen one, which requires a Choice in the Spec. For the part Field, field returns which field. An index is the
// number of an operation, or number·rows + row in a batch.
func (k *Space) Generator(part Part, insert bool, field func(i uint64) int) (gen.Generator, gen.Kind, error) {
	s := source{record: k.choose, field: field}
	if insert {
		s.record, s.row = k.inserts.Number, true
	}
	switch part {
	case Key:
		return gen.Func(func(v *gen.Value, i uint64) {
			v.Kind, v.B = gen.String, k.spec.Keys.Append(v.B[:0], s.record(i))
		}), gen.String, nil
	case Document:
		return k.values.document(s), gen.String, nil
	case TextDocument:
		return k.values.textDocument(s), gen.String, nil
	case ScanLength:
		return k.counts(), gen.Int, nil
	case Field:
		return k.values.one(s), gen.String, nil
	}
	return nil, gen.Null, fmt.Errorf("unknown part of a record %q", part)
}

// counts returns a generator for the number of records that a scan requests.
func (k *Space) counts() gen.Generator {
	least, span := k.spec.ScanLeast, k.spec.ScanMost-k.spec.ScanLeast+1
	z := NewZipf(span)
	return gen.Func(func(v *gen.Value, i uint64) {
		if k.spec.ScanZipfian {
			v.SetInt(least + z.Rank(k.scan.Float64(i)))
			return
		}
		v.SetInt(least + int64(k.scan.Uint64n(i, uint64(span))))
	})
}

// Done reports that an operation has completed, and whether it succeeded.
func (k *Space) Done(insert bool, i uint64, ok bool) {
	if insert {
		k.inserts.Acknowledge(i, ok)
		return
	}
	if k.memo != nil {
		rows := uint64(k.spec.rows())
		for r := range rows {
			k.memo.Forget(i*rows + r)
		}
	}
}

// Mismatch compares the values captured from the record with the given key with those that it must have. It returns a
// description of the first difference; "" if there is none or the record doesn't exist. first is the index of the first
// captured field.
func (k *Space) Mismatch(check Check, key []byte, first int, captured []gen.Value) string {
	absent := true
	for i := range captured {
		absent = absent && captured[i].Kind == gen.Null
	}
	if absent {
		return ""
	}
	var room [512]byte
	for i := range captured {
		null := captured[i].Kind == gen.Null
		if null && check == CheckSome {
			continue
		}
		want := room[:0]
		if check == CheckDocument {
			want = k.values.expectedDocument(want, key)
		} else {
			want = k.values.expected(want, key, (first+i)%len(k.spec.Fields))
		}
		if null || !bytes.Equal(want, captured[i].B) {
			return fmt.Sprintf("unexpected deterministic value, expect %q, but got %q", want, captured[i].B)
		}
	}
	return ""
}
