// Package keyspace implements records that are numbered without gaps, like those of YCSB's core workload: their keys,
// the contents of their fields, and the choice of the record that an operation uses. Everything is a pure function of
// the seed and the operation's number, except for choices that depend on the records inserted during the run.
package keyspace

import (
	"errors"
	"fmt"
	"strconv"
)

// Spec specifies the records and how operations choose among them.
type Spec struct {
	Keys      Keys
	Fields    []string // names, in order
	Lengths   Lengths  // lengths of the fields' contents
	Integrity bool     // contents that reads can verify, instead of random letters
	Rows      int      // records per operation; 0 means 1

	InsertFrom int64   // number of the first record that operations insert
	Strict     bool    // records count as inserted only up to the first failed insert
	Choice     *Choice // for operations that use existing records; nil if all operations insert

	ScanLeast, ScanMost int64 // range of the number of records that a scan requests
	ScanZipfian         bool  // small numbers most often; otherwise uniform

	Create *Create // the table to create before the load, for drivers that need it
}

// Create describes the table that a driver of key-value records creates before a load.
type Create struct {
	Table       string
	FieldLength int  // bytes that a column must be able to hold
	Drop        bool // drop an existing table first
}

// rows returns the number of records per operation.
func (s *Spec) rows() int { return max(s.Rows, 1) }

// Validate returns an error if s is invalid, with a text of the form "what is wrong; what to do".
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

// Part is the part of a record that a parameter holds.
type Part string

// The parts.
const (
	Key          Part = "key"
	Field        Part = "field"        // the content of a field
	Document     Part = "document"     // all fields as JSON, with contents in Base64
	TextDocument Part = "textdocument" // all fields as JSON, with contents as they are
	ScanLength   Part = "scanlength"   // the number of records that a scan requests
)

// Parts returns all parts.
func Parts() []Part { return []Part{Key, Field, Document, TextDocument, ScanLength} }

// Check says what the captures of a read are compared with. A record that doesn't exist passes, as in go-ycsb.
type Check string

// The checks.
const (
	CheckFields   Check = "fields"   // each capture is a field, in order; null is an error
	CheckSome     Check = "some"     // each capture is a field, in order, or null
	CheckDocument Check = "document" // the only capture is a Document
)

const (
	fnvBasis = 0xCBF29CE484222325
	fnvPrime = 1099511628211
)

// Flavor selects the implementation of YCSB whose keys are used. The two hash the bytes of a number in opposite orders.
type Flavor string

// The flavors.
const (
	GoYCSB Flavor = "goycsb" // go-ycsb: most significant byte first; also ""
	Java   Flavor = "java"   // YCSB: least significant byte first
)

// Hash returns the absolute value of the FNV-1a 64 hash (Fowler, Noll, Vo) of the 8 bytes of n in the flavor's order,
// taken as a signed number. The least int64 stays negative.
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

// Keys specifies the keys of numbered records.
type Keys struct {
	Prefix  string
	Ordered bool // use the number itself instead of its hash
	Padding int  // minimum number of digits
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

// magnitude returns |n|, also for the least int64, to which Hash can't give a positive value.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
