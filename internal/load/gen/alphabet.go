package gen

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// namedAlphabet returns the characters of an alphabet, given its name.
func namedAlphabet(name string) (letters string, ok bool) {
	switch name {
	case "en":
		return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", true
	case "ru":
		return "абвгдеёжзийклмнопрстуфхцчшщъыьэюяАБВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ", true
	case "digits":
		return "0123456789", true
	case "hex":
		return "0123456789abcdef", true
	}
	return strings.CutPrefix(name, "custom:")
}

// alphabet is a set of characters for texts.
type alphabet struct {
	runes   []rune
	ascii   []byte // the runes as bytes if all are ASCII, otherwise nil
	perWord uint64 // characters that are taken from one random word, with a bias below 2^-32
}

// newAlphabet returns the union of sets of characters, given their names; without names, the set "en".
func newAlphabet(names []string) (*alphabet, *FieldError) {
	if len(names) == 0 {
		names = []string{"en"}
	}
	a := &alphabet{}
	seen := map[rune]bool{}
	for _, name := range names {
		letters, ok := namedAlphabet(name)
		if !ok {
			return nil, fault("alphabet", "%q is unknown: use en, ru, digits, hex or custom:… with the characters", name)
		}
		if letters == "" || !utf8.ValidString(letters) || strings.ContainsRune(letters, 0) {
			return nil, fault("alphabet", "%q must list at least one character, in UTF-8, without NUL", name)
		}
		for _, c := range letters {
			if !seen[c] {
				seen[c] = true
				a.runes = append(a.runes, c)
			}
		}
	}
	if slices.Max(a.runes) < utf8.RuneSelf {
		a.ascii = []byte(string(a.runes))
	}
	for p := uint64(1); p <= 1<<32/a.size() && a.perWord < 64; p *= a.size() {
		a.perWord++
	}
	return a, nil
}

func (a *alphabet) size() uint64 { return uint64(len(a.runes)) }

// append appends n random characters to dst.
func (a *alphabet) append(dst []byte, r *Rand, n uint64) []byte {
	if a.ascii != nil {
		return a.appendASCII(dst, r, n)
	}
	m := a.size()
	for n > 0 {
		w := r.Uint64()
		k := min(n, a.perWord)
		n -= k
		for ; k > 0; k-- {
			var c uint64
			c, w = bits.Mul64(w, m)
			dst = utf8.AppendRune(dst, a.runes[c])
		}
	}
	return dst
}

// appendASCII is append for ASCII characters.
func (a *alphabet) appendASCII(dst []byte, r *Rand, n uint64) []byte {
	letters, perWord, start := a.ascii, int(a.perWord), len(dst)
	m := uint64(len(letters))
	dst = slices.Grow(dst, int(n))[:start+int(n)]
	for rest := dst[start:]; len(rest) > 0; {
		w := r.Uint64()
		word := rest[:min(perWord, len(rest))]
		for i := range word {
			var c uint64
			c, w = bits.Mul64(w, m)
			word[i] = letters[c]
		}
		rest = rest[len(word):]
	}
	return dst
}

// appendCode appends a number as n digits with the alphabet's characters, the least significant first.
func (a *alphabet) appendCode(dst []byte, code, n uint64) []byte {
	m := a.size()
	for ; n > 0; n-- {
		dst = a.appendOne(dst, code%m)
		code /= m
	}
	return dst
}

func (a *alphabet) appendOne(dst []byte, c uint64) []byte {
	if a.ascii != nil {
		return append(dst, a.ascii[c])
	}
	return utf8.AppendRune(dst, a.runes[c])
}

// power returns how many texts have n characters, at most 2^64-1.
func (a *alphabet) power(n uint64) uint64 {
	if a.size() == 1 {
		return 1
	}
	p := uint64(1)
	for ; n > 0; n-- {
		hi, lo := bits.Mul64(p, a.size())
		if hi > 0 {
			return math.MaxUint64
		}
		p = lo
	}
	return p
}

// texts returns how many texts have lo to hi characters, at most 2^64-1.
func (a *alphabet) texts(lo, hi uint64) uint64 {
	if a.size() == 1 {
		return hi - lo + 1
	}
	sum := uint64(0)
	for n := lo; n <= hi && sum < math.MaxUint64; n++ {
		sum = sumUpTo(sum, a.power(n))
	}
	return sum
}
