package postgres

import (
	"encoding/binary"
	"errors"
	"strings"
)

// selfTest is the server's state of a connection of the self-test. It answers every execution with one row of one
// integer. The messages are those of PostgreSQL's protocol 3.0 ("Message Formats" in its manual).
type selfTest struct{ greeted bool }

var errImpossibleLength = errors.New("a message has an impossible length")

// selfTestMessage appends one message.
func selfTestMessage(out []byte, kind byte, content string) []byte {
	out = append(out, kind)
	out = binary.BigEndian.AppendUint32(out, uint32(len(content)+4))
	return append(out, content...)
}

const (
	selfTestMost = 64 << 10 // bytes of a message
	// int4 "v", as text
	selfTestColumn  = "\x00\x01v\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"
	selfTestRow     = "\x00\x01\x00\x00\x00\x04\x00\x00\x00\x2a"
	selfTestProduct = "PostgreSQL 15.0 (self-test)"
)

func (p *selfTest) answer(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		head := 1
		if !p.greeted {
			head = 0
		}
		rest := in[consumed:]
		if len(rest) < head+4 {
			return out, consumed, nil
		}
		length := int(binary.BigEndian.Uint32(rest[head:]))
		if length < 4 || length > selfTestMost {
			return out, consumed, errImpossibleLength
		}
		if len(rest) < head+length {
			return out, consumed, nil
		}
		consumed += head + length
		if !p.greeted {
			p.greeted = true
			out = selfTestMessage(out, 'R', "\x00\x00\x00\x00") // no password
			for _, s := range []string{"server_version\x0015.0\x00", "client_encoding\x00UTF8\x00",
				"standard_conforming_strings\x00on\x00", "integer_datetimes\x00on\x00"} {
				out = selfTestMessage(out, 'S', s)
			}
			out = selfTestMessage(selfTestMessage(out, 'K', "\x00\x00\x00\x01\x00\x00\x00\x01"), 'Z', "I")
			continue
		}
		if rest[0] == 'X' {
			return out, consumed, errImpossibleLength
		}
		out = selfTestReply(out, rest[0], string(rest[5:head+length]))
	}
}

// selfTestReply appends the answer to one message.
func selfTestReply(out []byte, kind byte, content string) []byte {
	switch kind {
	case 'P':
		return selfTestMessage(out, '1', "")
	case 'B':
		return selfTestMessage(out, '2', "")
	case 'D':
		if strings.HasPrefix(content, "S") {
			out = selfTestMessage(out, 't', "\x00\x01\x00\x00\x00\x17")
		}
		return selfTestMessage(out, 'T', selfTestColumn)
	case 'E':
		return selfTestMessage(selfTestMessage(out, 'D', selfTestRow), 'C', "SELECT 1\x00")
	case 'C':
		return selfTestMessage(out, '3', "")
	case 'S':
		return selfTestMessage(out, 'Z', "I")
	case 'Q':
		if strings.Contains(content, "version()") {
			row := "\x00\x01" + string(binary.BigEndian.AppendUint32(nil, uint32(len(selfTestProduct)))) + selfTestProduct
			text := strings.Replace(selfTestColumn, "\x00\x17\x00\x04", "\x00\x19\xff\xff", 1)
			out = selfTestMessage(selfTestMessage(out, 'T', text), 'D', row)
			return selfTestMessage(selfTestMessage(out, 'C', "SELECT 1\x00"), 'Z', "I")
		}
		return selfTestMessage(selfTestMessage(out, 'C', "SELECT 0\x00"), 'Z', "I")
	}
	return out
}
