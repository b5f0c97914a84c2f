package redis

import (
	"bytes"
	"math"
	"strings"

	"brunt/internal/protocol"
)

const (
	maxDepth    = 32       // nesting of lists
	maxLine     = 64 << 10 // bytes of a line: a simple string, an error, a number
	maxCaptured = 1 << 20  // bytes of one captured element
)

// frame is a list whose elements are being read.
type frame struct {
	left int64 // elements that haven't been read
	// aside says that the list isn't part of the answer but an attribute or a push message.
	aside bool
}

// role says what to do with the bytes of a bulk string.
type role uint8

const (
	passedOver role = iota
	captured
	errorText
)

// scanner is the state of the answer being read.
type scanner struct {
	bytes    int64
	depth    int
	frames   [maxDepth]frame
	elements int64 // number of elements of the outermost list
	nils     int64 // number of these read so far that are nil
	asides   int   // number of frames that are aside

	// The bulk string being read.
	bulk     int64 // remaining bytes of its content and the line break after it; 0 means no string
	role     role
	verbatim bool // its first four bytes name the format
	skipped  int  // how many of these four bytes have been skipped
	into     int  // number of the capture, if the role is captured
	text     []byte
}

// Scan reads the answer to req.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	r := &c.requests[req.ID]
	if n = c.atOnce(buf, r, reply); n > 0 {
		return n, true, 0
	}
	n, done = c.permission(buf)
	c.bytes += int64(n)
	if !done {
		return 0, false, 0
	}
	for {
		var used int
		var finished bool
		var violation protocol.Violation
		if c.bulk > 0 {
			used, finished, violation = c.content(buf[n:], r, reply)
		} else {
			used, finished, violation = c.element(buf[n:], r, reply)
		}
		n += used
		c.bytes += int64(used)
		switch {
		case violation != "":
			c.reset()
			c.answered++
			reply.Fail(violation.Failure("the answer isn't RESP: "))
			return len(buf), true, 0
		case finished:
			reply.BytesIn = c.bytes
			reply.Missing = reply.Class == protocol.OK && r.missed(reply, c.nils)
			c.reset()
			c.answered++
			return n, true, 0
		case used == 0:
			return n, false, 0
		}
	}
}

// atOnce consumes the most common answer: a string that buf holds completely and from which nothing is captured.
// For any other answer it consumes nothing and returns 0.
func (c *codec) atOnce(buf []byte, r *request, reply *protocol.Reply) (n int) {
	if c.bytes != 0 || len(r.captures) > 0 || r.missing == ifSome || len(c.asked) > 0 ||
		len(buf) < len("$0\r\n\r\n") || buf[0] != '$' {
		return 0
	}
	const mostDigits = 6
	size, i := 0, 1
	for ; i <= mostDigits && i < len(buf) && buf[i] >= '0' && buf[i] <= '9'; i++ {
		size = size*10 + int(buf[i]-'0')
	}
	end := i + len("\r\n") + size
	if i == 1 || end+2 > len(buf) || buf[i] != '\r' || buf[i+1] != '\n' || buf[end] != '\r' || buf[end+1] != '\n' {
		return 0
	}
	reply.Rows, reply.BytesIn = 1, int64(end+2)
	c.answered++
	return end + 2
}

// reset prepares the scanner for the next answer. Frames need no reset, because each is set before it is read.
func (c *codec) reset() {
	c.bytes, c.depth, c.elements, c.nils, c.asides = 0, 0, 0, 0, 0
	c.bulk, c.role, c.verbatim, c.skipped, c.into, c.text = 0, passedOver, false, 0, 0, c.text[:0]
}

// element reads the line that begins an element. used is 0 if buf doesn't hold the complete line.
func (c *codec) element(buf []byte, r *request, reply *protocol.Reply) (
	used int, finished bool, violation protocol.Violation) {
	end := bytes.IndexByte(buf, '\n')
	switch {
	case end > maxLine || end < 0 && len(buf) > maxLine:
		return 0, false, "a line is too long"
	case end < 0:
		if len(buf) > 0 && !knownKind(buf[0]) {
			return 0, false, "an element of an unknown kind"
		}
		return 0, false, ""
	case end < 2 || buf[end-1] != '\r':
		return 0, false, "a line doesn't end in CR LF"
	}
	kind, line := buf[0], buf[1:end-1]
	used = end + 1
	switch kind {
	case '$', '!', '=':
		finished, violation = c.beginBulk(kind, line, r, reply)
	case '*', '~', '%', '>', '|':
		finished, violation = c.beginList(kind, line, reply)
	case '+', '-', ':', ',', '#', '(', '_':
		finished, violation = c.simple(kind, line, r, reply)
	default:
		violation = "an element of an unknown kind"
	}
	return used, finished, violation
}

func knownKind(kind byte) bool { return bytes.IndexByte([]byte("$!=*~%>|+-:,#(_"), kind) >= 0 }

// simple processes a one-line element.
func (c *codec) simple(kind byte, line []byte, r *request, reply *protocol.Reply) (
	finished bool, violation protocol.Violation) {
	if violation = checkSimple(kind, line); violation != "" {
		return false, violation
	}
	if c.asides == 0 {
		switch {
		case kind == '-':
			c.fail(line, reply)
		case c.depth == 0:
			c.whole(kind, line, reply)
		case c.depth == 1 && kind == '_':
			c.nils++
		}
		if i := c.wanted(r); i >= 0 && kind != '-' && kind != '_' {
			setSimple(&reply.Captured[i], r.captures[i].kind, kind, line)
		}
	}
	return c.end(), ""
}

// whole records an answer that isn't a list.
func (c *codec) whole(kind byte, line []byte, reply *protocol.Reply) {
	if kind == '_' {
		reply.Missing = true
		return
	}
	reply.Rows = 1
	if kind == ':' {
		reply.Affected, _ = parseInteger(line)
	}
}

// fail records an error. Only the first error of an answer counts.
func (c *codec) fail(text []byte, reply *protocol.Reply) {
	if reply.Class == protocol.OK {
		reply.Failure = serverFailure(text)
		if c.single && reply.Misdirected {
			reply.Failure.Text += clusterHint
		}
	}
}

// clusterHint is added to a redirection that nothing follows, because the target isn't said to be a cluster.
const clusterHint = "; the server is a node of a cluster: set the option mode to cluster (in YCSB redis.mode=cluster)"

// wanted returns the number of the capture for the element that begins here, or −1.
func (c *codec) wanted(r *request) int {
	if len(r.captures) == 0 || c.asides > 0 || c.depth > 1 {
		return -1
	}
	number := int64(0)
	if c.depth == 1 {
		number = c.elements - c.frames[0].left
	}
	for i := range r.captures {
		if int64(r.captures[i].element) == number {
			return i
		}
	}
	return -1
}

// end moves on after an element and reports whether the answer is complete.
func (c *codec) end() (finished bool) {
	for c.depth > 0 {
		f := &c.frames[c.depth-1]
		f.left--
		if f.left > 0 {
			return false
		}
		c.depth--
		if f.aside {
			c.asides--
			return false
		}
	}
	return true
}

// beginList processes the header line of a list.
func (c *codec) beginList(kind byte, line []byte, reply *protocol.Reply) (finished bool, violation protocol.Violation) {
	n, ok := parseInteger(line)
	aside := kind == '|' || kind == '>'
	switch {
	case !ok || n < -1 || n == -1 && kind != '*':
		return false, "a list's length isn't a number"
	case n > math.MaxInt32:
		return false, "a list is too long"
	case kind == '>' && c.depth > 0:
		return false, "a message was pushed within an answer"
	}
	if c.depth == 0 && !aside {
		reply.Missing = n < 0
		reply.Rows = max(n, 0)
	}
	if kind == '%' || kind == '|' {
		n *= 2
	}
	if n <= 0 {
		return !aside && c.end(), ""
	}
	if c.depth == maxDepth {
		return false, "lists are nested too deeply"
	}
	if c.depth == 0 {
		c.elements = n
	}
	c.frames[c.depth] = frame{n, aside}
	c.depth++
	if aside {
		c.asides++
	}
	return false, ""
}

// classOf returns the class of an error by its first word.
func classOf(code string) protocol.Class {
	switch code {
	case "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", // the cluster is moving slots
		"LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", // the node can't serve the request now
		"BUSY": // a script blocks the server
		return protocol.Retryable
	}
	return protocol.Server
}

// maxErrorText is the maximum length of error text that is kept, in bytes.
const maxErrorText = 300

// serverFailure returns the failure for an error response "CODE message".
func serverFailure(text []byte) protocol.Failure {
	s := string(text[:min(len(text), maxErrorText)])
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	code, _, _ := strings.Cut(s, " ")
	if !isCode(code) {
		code = ""
	}
	return protocol.Failure{Class: classOf(code), Code: code, Text: s, Misdirected: code == "MOVED" || code == "ASK"}
}

// isCode reports whether word is an error code, by convention in capitals.
func isCode(word string) bool {
	return word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
