package http

import (
	"bytes"
	"slices"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// statusLine parses "HTTP/1.x NNN reason" (RFC 9112, 4).
func (c *codec) statusLine(text []byte) (violation protocol.Violation) {
	const start = "HTTP/1."
	if len(text) < 12 || string(text[:7]) != start || !digit(text[7]) || text[8] != ' ' || len(text) > 12 &&
		text[12] != ' ' {
		return "the answer doesn't begin with a status line of HTTP/1"
	}
	if !digit(text[9]) || !digit(text[10]) || !digit(text[11]) || text[9] == '0' {
		return "the status isn't a number of three digits"
	}
	c.minor = text[7]
	c.status = int(text[9]-'0')*100 + int(text[10]-'0')*10 + int(text[11]-'0')
	if c.status == 101 {
		return "the server wants to change the protocol"
	}
	c.stage, c.last = atField, noField
	return ""
}

// lastField says what the last header field was, for lines that continue it (obs-fold in RFC 9112, 5.2).
type lastField uint8

const (
	noField lastField = iota
	anyField
	framing // it decides where the answer ends
)

func digit(b byte) bool { return b >= '0' && b <= '9' }

// field processes one header field. Only few fields matter. The others are recognized by their first letter, so
// that they cost almost nothing; of their syntax, only the first byte is checked.
func (c *codec) field(text []byte, r *request, reply *protocol.Reply) (violation protocol.Violation) {
	if (text[0] == ' ' || text[0] == '\t') && c.last != noField {
		return c.folded(trim(text), r, reply)
	}
	c.last = anyField
	if first := text[0] | 0x20; first != 'c' && first != 't' && !(c.curious && first == 's') && len(r.captures) == 0 &&
		isTokenByte(text[0]) {
		return ""
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 || text[colon-1] == ' ' || text[colon-1] == '\t' || text[0] == ' ' || text[0] == '\t' {
		return "a header line has no name"
	}
	name := text[:colon]
	switch {
	case c.status < 200: // interim
		return ""
	case colon == len("content-length") && foldEqual(name, "content-length"):
		c.last = framing
		if violation := c.contentLength(trim(text[colon+1:])); violation != "" {
			return violation
		}
	case colon == len("transfer-encoding") && foldEqual(name, "transfer-encoding"):
		c.last = framing
		c.coded = true
		c.chunked = lastToken(trim(text[colon+1:]), "chunked")
	case colon == len("connection") && foldEqual(name, "connection"):
		c.last = framing
		value := trim(text[colon+1:])
		if foldEqual(value, "keep-alive") {
			c.keepAlive = true
			break
		}
		c.close = c.close || hasToken(value, "close")
		c.keepAlive = c.keepAlive || hasToken(value, "keep-alive")
	case c.curious && colon == len("server") && foldEqual(name, "server"):
		c.hear(r, string(trim(text[colon+1:])))
	}
	for i := range r.captures {
		k := &r.captures[i]
		if v := &reply.Captured[i]; v.Kind == gen.Null && len(k.name) == colon && foldEqual(name, k.name) {
			template.SetText(v, k.kind, trim(text[colon+1:]))
			c.capturing = i + 1
		} else if c.capturing == i+1 {
			c.capturing = 0
		}
	}
	return ""
}

// folded continues the value of the last field.
func (c *codec) folded(text []byte, r *request, reply *protocol.Reply) (violation protocol.Violation) {
	switch {
	case len(text) == 0:
	case c.last == framing:
		return "a field that decides where the answer ends is folded"
	case c.capturing > 0:
		v := &reply.Captured[c.capturing-1]
		template.SetText(v, r.captures[c.capturing-1].kind, append(append(slices.Clone(v.B), ' '), text...))
	}
	return ""
}

// contentLength parses a length. Several values are accepted if they are equal (RFC 9112, 6.3).
func (c *codec) contentLength(value []byte) (violation protocol.Violation) {
	for {
		one, rest, more := bytes.Cut(value, []byte{','})
		n, ok := parseLength(trim(one))
		if !ok {
			return "the Content-Length isn't a number"
		}
		if c.length != noLength && c.length != n {
			return "there are two different Content-Lengths"
		}
		c.length = n
		if !more {
			return ""
		}
		value = rest
	}
}

// maxLength limits lengths so that sums of them can't overflow.
const maxLength = 1 << 62

func parseLength(text []byte) (n int64, ok bool) {
	for _, d := range text {
		if !digit(d) || n > (maxLength-9)/10 {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	return n, len(text) > 0
}

// endOfHeader determines how the body ends (RFC 9112, 6.3).
func (c *codec) endOfHeader(r *request) (done bool, violation protocol.Violation) {
	if c.status < 200 {
		c.stage = atStatus
		return false, ""
	}
	if c.minor == '0' && !c.keepAlive || r.closes {
		c.close = true
	}
	if c.coded && c.length != noLength {
		c.length, c.close = noLength, true // the coding counts, and the connection isn't trusted further (RFC 9112, 6.3)
	}
	switch {
	case r.head || r.raw && c.whole[0].head() || c.status == 204 || c.status == 304:
		return true, ""
	case c.chunked:
		c.stage = atChunk
	case c.length == 0 && !c.coded:
		return true, ""
	case c.length > 0:
		c.left, c.stage = c.length, inBody
	default:
		c.stage = untilClosed
	}
	return false, ""
}

// chunkSize parses a chunk's size in hexadecimal; extensions are ignored (RFC 9112, 7.1).
func (c *codec) chunkSize(text []byte) (violation protocol.Violation) {
	var n int64
	i := 0
	for ; i < len(text); i++ {
		d, ok := hexDigit(text[i])
		if !ok {
			break
		}
		if n > maxLength>>4 {
			return "a chunk's size is out of range"
		}
		n = n<<4 | int64(d)
	}
	if rest := trim(text[i:]); i == 0 || len(rest) > 0 && rest[0] != ';' {
		return "a chunk's size isn't a hexadecimal number"
	}
	if n == 0 {
		c.stage = atTrailer
		return ""
	}
	c.left, c.stage = n, inChunk
	return ""
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case digit(b):
		return b - '0', true
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10, true
	case b >= 'A' && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

// foldEqual reports whether b equals a lower-case text, ignoring the case of ASCII letters.
func foldEqual(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// trim removes spaces and tabs from both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// hasToken reports whether a comma-separated list contains token.
func hasToken(list []byte, token string) bool {
	for {
		one, rest, more := bytes.Cut(list, []byte{','})
		if foldEqual(trim(one), token) {
			return true
		}
		if !more {
			return false
		}
		list = rest
	}
}

// lastToken reports whether token is the last element of a comma-separated list.
func lastToken(list []byte, token string) bool {
	return foldEqual(trim(list[bytes.LastIndexByte(list, ',')+1:]), token)
}
