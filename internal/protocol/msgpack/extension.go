package msgpack

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
)

// exactExtension sets v to a value of one of Tarantool's MessagePack extensions, if there is a kind that holds all of
// it: a decimal, a UUID, or a time in UTC with microseconds.
func exactExtension(v *gen.Value, kind byte, b []byte) bool {
	switch kind {
	case ExtUUID:
		if len(b) == 16 {
			v.Kind, v.B = gen.UUID, append(v.B[:0], b...)
			return true
		}
	case ExtDatetime:
		at, ok := readDatetime(b)
		if !ok || at.zoned || at.nanos%1000 != 0 || at.seconds != min(max(at.seconds, -maxSeconds), maxSeconds) {
			return false
		}
		v.Kind, v.I = gen.Datetime, at.micros()
		return true
	case ExtDecimal:
		return readDecimal(v, b)
	}
	return false
}

// ReadExtension sets v to a value of an extension as it is shown: times are cut to microseconds and lose their zone,
// intervals and errors become texts, and extensions that aren't known become hexadecimal digits.
func ReadExtension(v *gen.Value, kind byte, b []byte) {
	if exactExtension(v, kind, b) {
		return
	}
	switch at, ok := readDatetime(b); {
	case kind == ExtDatetime && ok && at.seconds == min(max(at.seconds, -maxSeconds), maxSeconds):
		v.Kind, v.I = gen.Datetime, at.micros()
		return
	case kind == ExtDatetime && ok:
		v.SetString(time.Unix(at.seconds, at.nanos).UTC().Format(time.RFC3339Nano))
		return
	}
	text, ok := "", false
	switch kind {
	case ExtInterval:
		text, ok = intervalText(b)
	case ExtError:
		text, ok = errorText(b)
	}
	if !ok {
		text = hex.EncodeToString(b)
	}
	v.SetString(text)
}

// maxSeconds is the last second that microseconds in an int64 can count.
const maxSeconds = math.MaxInt64/1_000_000 - 1

// datetime is a time of Tarantool.
type datetime struct {
	seconds int64
	nanos   int64
	zoned   bool // it has a zone other than UTC, or a name of one
}

func (d *datetime) micros() int64 { return d.seconds*1e6 + d.nanos/1000 }

// readDatetime reads the extension of a time: seconds, and optionally nanoseconds, the offset and the number of the
// zone.
func readDatetime(b []byte) (d datetime, ok bool) {
	if len(b) != 8 && len(b) != 16 {
		return d, false
	}
	d.seconds = int64(binary.LittleEndian.Uint64(b))
	if len(b) == 16 {
		d.nanos = int64(int32(binary.LittleEndian.Uint32(b[8:])))
		d.zoned = binary.LittleEndian.Uint32(b[12:]) != 0
	}
	return d, true
}

// mostPlain is the greatest number of digits that are written without an exponent. Tarantool's decimals have at most 38
// digits, and as many after the point.
const mostPlain = 100

// readDecimal sets v to a decimal: a Decimal if it fits into one, and otherwise a Number. It returns false if b isn't
// one.
func readDecimal(v *gen.Value, b []byte) bool {
	r := Reader{B: b}
	f, n := r.Head()
	packed := b[r.At:]
	if r.Err != Fine || f != Unsigned && f != Signed || len(packed) == 0 {
		return false
	}
	scale := int64(n)
	digits := make([]byte, 0, 2*len(packed))
	for _, c := range packed {
		digits = append(digits, '0'+c>>4, '0'+c&15)
	}
	last := len(digits) - 1
	negative := digits[last] == '0'+0x0d || digits[last] == '0'+0x0b
	digits = digits[:last]
	for _, c := range digits {
		if c > '9' {
			return false
		}
	}
	if len(digits) > mostPlain || scale > mostPlain || scale < -mostPlain {
		return false
	}
	for ; scale < 0; scale++ {
		digits = append(digits, '0')
	}
	for int64(len(digits)) <= scale { // one digit before the point
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - int(scale)
	for point > 1 && digits[0] == '0' {
		digits, point = digits[1:], point-1
	}
	v.B = v.B[:0]
	if negative {
		v.B = append(v.B, '-')
	}
	v.B = append(v.B, digits[:point]...)
	if scale > 0 {
		v.B = append(append(v.B, '.'), digits[point:]...)
	}
	var fits bool
	if v.I, v.Scale, fits = gen.ParseDecimal(v.B); fits {
		v.Kind = gen.Decimal
	} else {
		v.Kind = gen.Number
	}
	return true
}

// intervalText returns an interval in Tarantool's notation, such as "+1 years, 2 days".
func intervalText(b []byte) (text string, ok bool) {
	r := Reader{B: b}
	fields := map[uint64]int64{}
	if count := r.Take(1); len(count) == 1 { // the number of fields is a byte
		for range count[0] {
			key := r.Uint()
			f, n := r.Head()
			if f != Unsigned && f != Signed && f != Bool {
				r.Fail(Bad)
			}
			fields[key] = int64(n)
		}
	}
	if r.Err != Fine {
		return "", false
	}
	var parts []string
	for key, unit := range []string{"years", "months", "weeks", "days", "hours", "minutes", "seconds", "nanoseconds"} {
		if n := fields[uint64(key)]; n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit))
		}
	}
	if len(parts) == 0 {
		return "0 seconds", true
	}
	if text = strings.Join(parts, ", "); text[0] != '-' {
		text = "+" + text
	}
	return text, true
}

// errorText returns the message of an error object, which is a map of a stack of maps.
func errorText(b []byte) (text string, ok bool) {
	r := Reader{B: b}
	const stack, message = 0, 3
	for n := r.Map(); n > 0 && r.Err == Fine; n-- {
		if r.Uint() != stack {
			r.Skip()
			continue
		}
		if r.Array() == 0 {
			return "", false
		}
		for k := r.Map(); k > 0 && r.Err == Fine; k-- {
			if r.Uint() == message {
				return string(r.Text()), r.Err == Fine
			}
			r.Skip()
		}
	}
	return "", false
}

// Present makes a Packed value one that can be shown: see ReadExtension. b is its encoding.
func Present(v *gen.Value) {
	if v.Kind != gen.Packed {
		return
	}
	r := Reader{B: v.B}
	if f, n := r.Head(); f == Extension {
		if content := r.Body(n + 1); len(content) > 0 {
			content = append([]byte(nil), content...)
			ReadExtension(v, content[0], content[1:])
			return
		}
	}
	v.SetString(strconv.Quote(string(v.B)))
}
