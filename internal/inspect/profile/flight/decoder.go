package flight

import "unicode/utf8"

// decoder reads values of a chunk. After the first value that isn't there, failed is set, and all further values are 0.
type decoder struct {
	data   []byte
	at     int64
	budget int64 // of values that may still be read: values without bytes would otherwise cost time without end
	room   int64 // of bytes of texts that may still be kept
	failed bool
}

// newDecoder returns a decoder of a chunk, which reads each of its bytes a few times at most.
func newDecoder(data []byte) decoder {
	size := int64(len(data)) + 1<<16
	return decoder{data: data, budget: 4 * size, room: 2 * size}
}

// seek continues at an offset.
func (d *decoder) seek(at int64) {
	d.at = at
	d.failed = d.failed || at < 0 || at > int64(len(d.data))
}

// fail marks the chunk as broken.
func (d *decoder) fail() { d.failed = true }

// left returns the number of bytes that follow.
func (d *decoder) left() int64 {
	if d.failed {
		return 0
	}
	return int64(len(d.data)) - d.at
}

// spend takes a value from the budget, and reports whether there was one.
func (d *decoder) spend() bool {
	d.budget--
	d.failed = d.failed || d.budget < 0
	return !d.failed
}

// keep takes the bytes of a text from the room, and reports whether there was enough.
func (d *decoder) keep(n int) bool {
	d.room -= int64(n)
	d.failed = d.failed || d.room < 0
	return !d.failed
}

// bytes returns the next n bytes, which it doesn't copy.
func (d *decoder) bytes(n int64) []byte {
	if n < 0 || n > d.left() {
		d.fail()
		return nil
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

// long reads an integer: seven bits in each byte, the lowest first, and eight in the ninth.
func (d *decoder) long() int64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := d.bytes(1)
		if b == nil {
			return 0
		}
		if shift == 56 {
			return int64(v | uint64(b[0])<<shift)
		}
		v |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return int64(v)
		}
	}
}

// count reads the number of items that follow, each of which has at least one byte.
func (d *decoder) count() int64 {
	n := d.long()
	if n < 0 || n > d.left() {
		d.fail()
		return 0
	}
	return n
}

// The encodings of texts.
const (
	textNull = iota
	textEmpty
	textConstant // a reference to one of the constants
	textUTF8
	textChars
	textLatin1
)

// text reads a text. One that is a constant is read as "": the names of methods and classes are none.
func (d *decoder) text() string {
	b := d.bytes(1)
	if b == nil {
		return ""
	}
	switch b[0] {
	case textNull, textEmpty:
	case textConstant:
		d.long()
	case textUTF8:
		if raw := d.bytes(d.long()); d.keep(len(raw)) {
			return string(raw)
		}
	case textChars:
		n := d.count()
		var text []byte
		for i := int64(0); i < n && d.keep(1); i++ {
			text = utf8.AppendRune(text, rune(d.long()&0xffff))
		}
		return string(text)
	case textLatin1:
		var text []byte
		for _, c := range d.bytes(d.long()) {
			if !d.keep(1) {
				break
			}
			text = utf8.AppendRune(text, rune(c))
		}
		return string(text)
	default:
		d.fail()
	}
	return ""
}

// The sizes of numbers with a point, in bytes.
const (
	doubleSize = 8
	floatSize  = 4
)
