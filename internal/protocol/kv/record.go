package kv

import (
	"encoding/binary"
	"errors"
	"slices"

	"brunt/internal/load/gen"
)

// An encoded record is a sequence of fields: the name's length (uvarint), the name, the value's length
// (uvarint), the value.

var errRecord = errors.New("the stored value isn't a record of brunt's")

// AppendRecord appends a record with the given fields to dst.
func AppendRecord(dst []byte, fields []string, values []gen.Value) []byte {
	var number [binary.MaxVarintLen64]byte
	for i, f := range fields {
		dst = binary.AppendUvarint(dst, uint64(len(f)))
		dst = append(dst, f...)
		from := len(dst)
		dst = AppendText(dst, &values[i])
		n := binary.PutUvarint(number[:], uint64(len(dst)-from))
		dst = append(dst, number[:n]...)
		copy(dst[from+n:], dst[from:len(dst)-n])
		copy(dst[from:], number[:n])
	}
	return dst
}

// next splits off the first field of a record.
func next(record []byte) (name, value, rest []byte, err error) {
	name, rest, err = chunk(record)
	if err == nil {
		value, rest, err = chunk(rest)
	}
	return name, value, rest, err
}

func chunk(b []byte) (head, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, errRecord
	}
	return b[used : used+int(n)], b[used+int(n):], nil
}

// Field returns a field's value, as a part of record.
func Field(record []byte, field string) (value []byte, ok bool, err error) {
	for len(record) > 0 {
		name, v, rest, err := next(record)
		if err != nil {
			return nil, false, err
		}
		if string(name) == field {
			return v, true, nil
		}
		record = rest
	}
	return nil, false, nil
}

// names returns the names of a record's fields.
func names(record []byte) (all []string) {
	for len(record) > 0 {
		name, _, rest, err := next(record)
		if err != nil {
			break
		}
		all, record = append(all, string(name)), rest
	}
	return all
}

// Verify decodes the whole record, as a reader of all its fields would, and returns the number of fields.
func Verify(record []byte) (fields int, err error) {
	for len(record) > 0 {
		if _, _, record, err = next(record); err != nil {
			return fields, err
		}
		fields++
	}
	return fields, nil
}

// MergeRecord appends to dst the record old with the given fields replaced or added.
func MergeRecord(dst, old []byte, fields []string, values []gen.Value) ([]byte, error) {
	for len(old) > 0 {
		name, _, rest, err := next(old)
		if err != nil {
			return dst, err
		}
		if !slices.Contains(fields, string(name)) {
			dst = append(dst, old[:len(old)-len(rest)]...)
		}
		old = rest
	}
	return AppendRecord(dst, fields, values), nil
}
