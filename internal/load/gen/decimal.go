package gen

import (
	"math/bits"
	"slices"
)

// TextLength returns how many bytes AppendText appends for v, if that is known in advance: for integers, texts and
// JSON.
func (v *Value) TextLength() (n int, ok bool) {
	switch v.Kind {
	case Int:
		if v.I < 0 {
			return 1 + digitsOf(-uint64(v.I)), true
		}
		return digitsOf(uint64(v.I)), true
	case Uint:
		return digitsOf(uint64(v.I)), true
	case String, JSON:
		return len(v.B), true
	}
	return 0, false
}

var powersOf10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19}

// digitsOf returns the number of decimal digits of u. (Warren: "Hacker's Delight", section 11-4: 1233/4096 is close to
// log₁₀ 2.)
func digitsOf(u uint64) int {
	n := bits.Len64(u|1) * 1233 >> 12
	if u|1 >= powersOf10[n] {
		n++
	}
	return n
}

const twoDigits = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

func appendInt(dst []byte, i int64) []byte {
	if i < 0 {
		return appendUint(append(dst, '-'), -uint64(i))
	}
	return appendUint(dst, uint64(i))
}

// appendUint appends u in decimal. It writes the digits directly to their places, which takes half as long as
// strconv.AppendUint.
func appendUint(dst []byte, u uint64) []byte {
	n, from := digitsOf(u), len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	digits := dst[from:]
	for n > 1 {
		pair := u % 100
		u /= 100
		n -= 2
		digits[n], digits[n+1] = twoDigits[2*pair], twoDigits[2*pair+1]
	}
	if n == 1 {
		digits[0] = '0' + byte(u)
	}
	return dst
}
