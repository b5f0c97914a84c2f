// Package keyspace is records that are numbered without gaps, as YCSB's core workload has them:
// their keys, what their fields hold, and which record an operation uses. Everything is a pure
// function of the seed and the operation's number, but for choices that follow the records inserted
// during the run.
package keyspace

import (
	"errors"
	"fmt"
	"strconv"
)

// Spec says what records look like and how operations choose among them. It is pure data.
type Spec struct {
	Keys      Keys
	Fields    []string // their names, in order
	Lengths   Lengths  // of the fields' contents
	Integrity bool     // contents that can be checked, instead of random letters
	Rows      int      // records an operation; 0 means 1

	InsertFrom int64   // number of the first record that an operation inserts
	Strict     bool    // records count as inserted up to the first whose insert failed, not beyond
	Choice     *Choice // of the operations that use records; nil if all operations insert

	ScanLeast, ScanMost int64 // how many records a scan asks for
	ScanZipfian         bool  // few, most often; otherwise each number alike

	Create *Create // made before the load, by drivers that must
}

// Create is the table of records that a driver of key-value records makes before a load.
type Create struct {
	Table       string
	FieldLength int  // bytes that a column must hold
	Drop        bool // what is there is dropped first
}

// rows is how many records an operation has.
func (s *Spec) rows() int { return max(s.Rows, 1) }

// Validate reports what is wrong with s, as "what; what to do".
func (s *Spec) Validate() error {
	if len(s.Fields) == 0 {
		return errors.New("records without fields; name some")
	}
	if s.ScanMost < s.ScanLeast {
		return fmt.Errorf("scans of at most %d and at least %d records; swap them", s.ScanMost, s.ScanLeast)
	}
	if _, err := s.Lengths.prepare(); err != nil {
		return err
	}
	if s.Choice != nil {
		return s.Choice.validate()
	}
	return nil
}

// Part is what a parameter holds of a record.
type Part string

// The parts.
const (
	Key          Part = "key"
	Field        Part = "field"        // what a field holds
	Document     Part = "document"     // all fields as JSON, the contents in Base64
	TextDocument Part = "textdocument" // all fields as JSON, the contents as they are
	ScanLength   Part = "scanlength"   // how many records a scan asks for
)

// Parts are all parts.
func Parts() []Part { return []Part{Key, Field, Document, TextDocument, ScanLength} }

// Check is what the values that a read captures are compared with. A record that isn't there at all
// passes, as in go-ycsb.
type Check string

// The checks.
const (
	CheckFields   Check = "fields"   // each capture is a field, in order, and null is wrong
	CheckSome     Check = "some"     // each capture is a field, in order, or null
	CheckDocument Check = "document" // the only capture is a Document
)

const (
	fnvBasis = 0xCBF29CE484222325
	fnvPrime = 1099511628211
)

// Flavor is whose keys are meant: the two implementations hash the bytes of a number in opposite
// orders.
type Flavor string

// The flavors.
const (
	GoYCSB Flavor = "goycsb" // go-ycsb: most significant byte first; also what "" means
	Java   Flavor = "java"   // YCSB: least significant byte first
)

// Hash is FNV-1a 64 over the 8 bytes of n in the flavor's order, as a signed number without its
// sign. (FNV-1a: Fowler, Noll, Vo.)
func (f Flavor) Hash(n int64) int64 {
	h, big := uint64(fnvBasis), f != Java
	for k := range 8 {
		shift := 8 * k
		if big {
			shift = 56 - shift
		}
		h = (h ^ uint64(n)>>shift&0xff) * fnvPrime
	}
	if s := int64(h); s < 0 {
		return -s
	} else {
		return s
	}
}

// Keys writes the keys of numbered records.
type Keys struct {
	Prefix  string
	Ordered bool // the number itself instead of its hash
	Padding int  // least number of digits
	Flavor  Flavor
}

// Append appends the key of record number n to dst.
func (k *Keys) Append(dst []byte, n int64) []byte {
	dst = append(dst, k.Prefix...)
	if !k.Ordered {
		n = k.Flavor.Hash(n)
	}
	width := k.Padding
	if n < 0 {
		dst = append(dst, '-')
		width--
	}
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], magnitude(n), 10)
	for range width - len(d) {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// magnitude is |n|; the least number, whose hash keeps its sign, has one too.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
