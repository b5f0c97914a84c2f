package iproto

import (
	"encoding/binary"
	"errors"
	"strings"
)

// selfTestGreeting returns what the server sends first: two lines of 64 bytes, the second of which is the salt for
// passwords in base64 (Tarantool's manual, "Binary protocol").
func selfTestGreeting() string {
	line := func(text string) string { return text + strings.Repeat(" ", 63-len(text)) + "\n" }
	return line("Tarantool 2.6.0 (Binary) self-test") + line(strings.Repeat("A", 43)+"=")
}

var errNotOurs = errors.New("a packet isn't of the form that brunt sends")

const (
	selfTestMost   = 64 << 10       // bytes of a packet
	selfTestPrefix = 5              // 0xce and the length in four bytes
	selfTestHeader = 4 + 9          // {0: type, 1: sync}, the sync in eight bytes
	selfTestEval   = 8              // IPROTO_EVAL
	selfTestSchema = "\x83\x05\x00" // start of a header with three entries: the schema version, 0 for any
	selfTestError  = 0x8000 | 104   // ER_LOADING
)

// selfTestAnswers answers every packet with the tuple [42], but EVAL, which brunt uses to ask for the server's
// version, with an error.
func selfTestAnswers(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		rest := in[consumed:]
		if len(rest) < selfTestPrefix+selfTestHeader {
			return out, consumed, nil
		}
		length := int(binary.BigEndian.Uint32(rest[1:]))
		header := rest[selfTestPrefix:]
		if rest[0] != 0xce || length < selfTestHeader || length > selfTestMost {
			return out, consumed, errNotOurs
		}
		if string(header[:3]) == selfTestSchema {
			if len(rest) < selfTestPrefix+len(selfTestSchema)+selfTestHeader {
				return out, consumed, nil
			}
			header = header[len(selfTestSchema)-1:]
		} else if header[0] != 0x82 {
			return out, consumed, errNotOurs
		}
		if header[1] != 0 || header[3] != 1 || header[4] != 0xcf {
			return out, consumed, errNotOurs
		}
		if len(rest) < selfTestPrefix+length {
			return out, consumed, nil
		}
		consumed += selfTestPrefix + length
		code, body := uint32(0), "\x81\x30\x91\x2a"
		if header[2] == selfTestEval {
			code, body = selfTestError, "\x81\x31\xa2no"
		}
		size := len("\x82\x00\xce....\x01\xcf........") + len(body)
		out = binary.BigEndian.AppendUint32(append(out, 0xce), uint32(size))
		out = binary.BigEndian.AppendUint32(append(out, 0x82, 0x00, 0xce), code)
		out = append(append(out, 0x01, 0xcf), header[5:selfTestHeader]...)
		out = append(out, body...)
	}
}
