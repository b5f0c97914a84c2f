package redis

import (
	"bytes"
	"errors"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// maxBulk is the maximum length that a bulk string may declare. Content that isn't captured is skipped as it
// arrives, so long strings need no memory.
const maxBulk = 1 << 40

// verbatimPrefix is the length of a verbatim string's prefix: three letters for the format and a colon.
const verbatimPrefix = 4

// beginBulk processes the header line of a bulk string.
func (c *codec) beginBulk(kind byte, line []byte, r *request, reply *protocol.Reply) (
	finished bool, violation protocol.Violation) {
	n, ok := parseInteger(line)
	switch {
	case !ok || n > maxBulk || n < -1 || n == -1 && kind != '$' || kind == '=' && n < verbatimPrefix:
		return false, "a string's length isn't possible"
	case n == -1:
		switch {
		case c.depth == 0:
			reply.Missing = true
		case c.depth == 1 && c.asides == 0:
			c.nils++
		}
		return c.end(), ""
	}
	c.bulk, c.role, c.verbatim, c.skipped = n+2, passedOver, kind == '=', 0
	if c.asides > 0 {
		return false, ""
	}
	if kind == '!' {
		c.role, c.text = errorText, c.text[:0]
		return false, ""
	}
	if c.depth == 0 {
		reply.Rows = 1
	}
	if i := c.wanted(r); i >= 0 {
		c.role, c.into = captured, i
		reply.Captured[i].B = reply.Captured[i].B[:0]
	}
	return false, ""
}

// content consumes the available bytes of a bulk string and of the line break after it.
func (c *codec) content(buf []byte, r *request, reply *protocol.Reply) (
	used int, finished bool, violation protocol.Violation) {
	used = int(min(int64(len(buf)), max(c.bulk-2, 0)))
	if used > 0 {
		if c.role != passedOver {
			c.keep(buf[:used], reply)
		}
		c.bulk -= int64(used)
	}
	for _, want := range [2]byte{'\r', '\n'} {
		if used == len(buf) {
			return used, false, ""
		}
		if c.bulk == 2 && want == '\r' || c.bulk == 1 && want == '\n' {
			if buf[used] != want {
				return used, false, "a string is longer than it says"
			}
			used++
			c.bulk--
		}
	}
	switch c.role {
	case errorText:
		c.fail(c.text, reply)
	case captured:
		v := &reply.Captured[c.into]
		template.SetText(v, r.captures[c.into].kind, v.B)
	}
	return used, c.end(), ""
}

// keep stores a piece of a bulk string's content.
func (c *codec) keep(b []byte, reply *protocol.Reply) {
	if c.verbatim && c.skipped < verbatimPrefix {
		n := min(len(b), verbatimPrefix-c.skipped)
		c.skipped += n
		b = b[n:]
	}
	if c.role == errorText {
		c.text = append(c.text, b[:min(len(b), maxErrorText-len(c.text))]...)
		return
	}
	v := &reply.Captured[c.into]
	if len(v.B)+len(b) > maxCaptured {
		c.role = passedOver
		v.B = v.B[:0]
		if reply.Class == protocol.OK {
			reply.Failure = protocol.Failure{Class: protocol.Client, Text: "a captured element is larger than 1 MiB"}
		}
		return
	}
	v.B = append(v.B, b...)
}

// checkSimple returns what is wrong with a one-line element, or "".
func checkSimple(kind byte, line []byte) (violation protocol.Violation) {
	ok := true
	switch kind {
	case ':':
		_, ok = parseInteger(line)
	case ',':
		_, err := strconv.ParseFloat(string(line), 64)
		ok = err == nil || errors.Is(err, strconv.ErrRange)
	case '#':
		ok = len(line) == 1 && (line[0] == 't' || line[0] == 'f')
	case '_':
		ok = len(line) == 0
	case '(':
		digits := line
		if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
			digits = digits[1:]
		}
		ok = len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
	}
	if !ok {
		return "an element's content doesn't fit its kind"
	}
	return ""
}

// setSimple sets v to a one-line element. If want is gen.Null, the element's type decides the kind.
func setSimple(v *gen.Value, want gen.Kind, kind byte, line []byte) {
	if want == gen.Null {
		switch kind {
		case ':':
			want = gen.Int
		case ',':
			want = gen.Float
		case '#':
			want = gen.Bool
		}
	}
	template.SetText(v, want, line)
}

// parseInteger parses a decimal integer with an optional sign. ok is false if it doesn't fit an int64.
func parseInteger(text []byte) (n int64, ok bool) {
	if bytes.IndexByte(text, '.') >= 0 {
		return 0, false
	}
	return gen.ParseInteger(text)
}
