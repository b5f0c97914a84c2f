package mysql

import (
	"encoding/binary"
	"fmt"

	"brunt/internal/protocol"
)

// part is what of an answer comes next.
type part uint8

const (
	firstPart   part = iota // OK, ERR, or the number of columns
	columnsPart             // definitions of columns
	columnsEnd              // EOF after them
	rowsPart                // rows, or what ends them
	longPart                // the rest of a row that doesn't fit a packet
)

// answer is how far the answer to a request has been scanned.
type answer struct {
	part    part
	columns uint64 // definitions that are to come
	all     bool   // every row is captured
	bytes   int    // captured so far
}

const violated = protocol.Violation("the server's answer isn't one of MySQL's protocol")

// Scan implements protocol.Codec. Rows are counted and not decoded.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	c.all = c.statements[req.ID].all
	for {
		if len(buf)-n < packetHeader {
			return n, false, packetHeader
		}
		length := int(buf[n]) | int(buf[n+1])<<8 | int(buf[n+2])<<16
		end := n + packetHeader + length
		if len(buf) < end {
			return n, false, packetHeader + length
		}
		body := buf[n+packetHeader : end]
		reply.BytesIn += int64(packetHeader + length)
		n = end
		over, v := c.packet(body, reply)
		if v != "" {
			reply.Fail(v.Failure(""))
			c.answer = answer{}
			return n, true, 0
		}
		if over {
			c.answer = answer{}
			if reply.Class == protocol.OK && req.Verb == protocol.SQL {
				reply.Missing = c.statements[req.ID].kind.Missed(reply.Rows, reply.Affected)
			}
			return n, true, 0
		}
	}
}

// ScanIdle implements protocol.IdleScanner: servers say why they close a connection (wait_timeout, shutdown).
func (c *codec) ScanIdle(buf []byte) (n int, end *protocol.Error) {
	if len(buf) <= packetHeader {
		return 0, nil
	}
	length := int(buf[0]) | int(buf[1])<<8 | int(buf[2])<<16
	if len(buf) < packetHeader+length || buf[packetHeader] != headerERR {
		return 0, nil
	}
	var reply protocol.Reply
	if n = packetHeader + length; c.failed(buf[packetHeader:n], &reply) != "" {
		return n, protocol.Unusable("")
	}
	return n, reply.Failure.Err()
}

// packet takes the next packet of an answer, and reports whether it is the last.
func (c *codec) packet(b []byte, reply *protocol.Reply) (over bool, v protocol.Violation) {
	if c.part == longPart { // the rest of a row has any content
		if len(b) < mostPacket {
			c.part = rowsPart
		}
		return false, ""
	}
	if len(b) == 0 {
		return false, violated
	}
	if b[0] == headerERR && c.part != columnsPart {
		return true, c.failed(b, reply)
	}
	switch c.part {
	case firstPart:
		return c.first(b, reply)
	case columnsPart:
		if c.all && !addColumn(b, &reply.Results[len(reply.Results)-1]) {
			return false, violated
		}
		if c.columns--; c.columns == 0 {
			c.part = rowsPart
			if !c.link.deprecateEOF {
				c.part = columnsEnd
			}
		}
		return false, ""
	case columnsEnd:
		if b[0] != headerEOF {
			return false, violated
		}
		c.part = rowsPart
		return false, ""
	}
	return c.row(b, reply)
}

// first takes the first packet of a result.
func (c *codec) first(b []byte, reply *protocol.Reply) (over bool, v protocol.Violation) {
	switch b[0] {
	case headerOK:
		affected, rest, ok := lengthEncoded(b[1:])
		if !ok {
			return false, violated
		}
		reply.Affected += int64(affected)
		if c.all {
			reply.Results = append(reply.Results, protocol.Result{Affected: int64(affected)})
		}
		_, rest, ok = lengthEncoded(rest) // the last id
		if !ok || len(rest) < 2 {
			return false, violated
		}
		return c.ended(binary.LittleEndian.Uint16(rest)), ""
	case headerLocal:
		return false, "the server asks for a file of this machine (LOAD DATA LOCAL), which isn't sent"
	}
	columns, rest, ok := lengthEncoded(b)
	if !ok || columns == 0 || columns > 1<<16 {
		return false, violated
	}
	c.columns, c.part = columns, columnsPart
	if c.all {
		reply.Results = append(reply.Results, protocol.Result{Columns: make([]string, 0, columns)})
	}
	if c.link.cacheMetadata && len(rest) > 0 && rest[0] == 0 { // the columns are those of before
		c.part = rowsPart
		if !c.link.deprecateEOF {
			c.part = columnsEnd
		}
	}
	return false, ""
}

// row takes a row, or the packet after the last.
func (c *codec) row(b []byte, reply *protocol.Reply) (over bool, v protocol.Violation) {
	if b[0] != headerEOF || len(b) >= mostPacket {
		reply.Rows++
		if len(b) == mostPacket {
			c.part = longPart
		}
		if c.all {
			return false, c.capture(b, reply)
		}
		return false, ""
	}
	if !c.link.deprecateEOF {
		if len(b) < 5 {
			return false, violated
		}
		return c.ended(binary.LittleEndian.Uint16(b[3:])), ""
	}
	_, rest, ok := lengthEncoded(b[1:])
	if ok {
		_, rest, ok = lengthEncoded(rest)
	}
	if !ok || len(rest) < 2 {
		return false, violated
	}
	return c.ended(binary.LittleEndian.Uint16(rest)), ""
}

// ended takes the status at the end of a result, and reports whether it is the last result.
func (c *codec) ended(status uint16) bool {
	c.status = status
	c.part = firstPart
	return status&statusMoreResults == 0
}

// failed takes an ERR packet.
func (c *codec) failed(b []byte, reply *protocol.Reply) protocol.Violation {
	if len(b) < 3 {
		return violated
	}
	number := binary.LittleEndian.Uint16(b[1:])
	text, state := b[3:], ""
	if len(text) >= 6 && text[0] == '#' {
		text, state = text[6:], string(text[1:6])
	}
	class, fatal := classOf(number)
	reply.Fail(&protocol.Error{Class: class, Code: fmt.Sprint(number), State: state,
		Text: protocol.Line(string(text), c.secret), Fatal: fatal})
	return ""
}

// lengthEncoded reads a length-encoded integer.
func lengthEncoded(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	size := 0
	switch b[0] {
	case 0xfb, 0xff:
		return 0, nil, false
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	default:
		return uint64(b[0]), b[1:], true
	}
	if len(b) < 1+size {
		return 0, nil, false
	}
	for i := size; i > 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n, b[1+size:], true
}
