package keyspace

import (
	"bytes"
	"fmt"

	"brunt/internal/gen"
)

// Space is the records of one run: a Spec made ready, and what has been inserted so far. It is safe
// for concurrent use.
type Space struct {
	spec    *Spec
	inserts *Inserts
	choose  Chooser
	memo    *Memo // nil: choose is pure
	values  *values
	field   gen.Stream // which field
	scan    gen.Stream // how many records
}

// New makes the records of a run with a seed. s must be valid.
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

// Follow sets which operations insert; before, all do. is must be pure, and Follow come before the
// first use.
func (k *Space) Follow(is func(i uint64) bool) { k.inserts.Follow(is) }

// Share says which operations are this process's, if others send the rest; see Inserts.Share.
func (k *Space) Share(first uint64, mine func(i uint64) bool) { k.inserts.Share(first, mine) }

// Last is the number up to which all records are there, but for those whose insert failed; with
// Spec.Strict, up to which none is missing.
func (k *Space) Last() int64 { return k.inserts.Last() }

// Draw gives the field, of n, that operation number i uses. other is for a further draw of the
// same operation.
func (k *Space) Draw(n int, other bool) func(i uint64) int {
	if !other {
		return func(i uint64) int { return int(k.field.Uint64n(i, uint64(n))) }
	}
	return func(i uint64) int { return int(k.field.Uint64n(i, uint64(n))+k.scan.Uint64n(i, uint64(n))) % n }
}

// Generator gives a part of the record that an index uses: the next one to insert, or one that is
// chosen, for which the Spec needs a Choice. For Field, field says which one. An index is the number of an
// operation, or in a batch number·rows + row.
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

// counts gives how many records a scan asks for.
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

// Done tells that an operation is over, and whether it succeeded.
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

// Mismatch compares what was captured of the record with a key with what it must hold, and says
// what is wrong, or nothing. first is the number of the first field captured.
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
