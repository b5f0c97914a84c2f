package selftest

import (
	"encoding/binary"
	"errors"
	"strings"
)

// iprotoGreeting is what a connection begins with: two lines of 64 bytes, of which the second is the
// salt of passwords, in base64 (Tarantool's manual, "Binary protocol").
func iprotoGreeting() string {
	line := func(text string) string { return text + strings.Repeat(" ", 63-len(text)) + "\n" }
	return line("Tarantool 2.6.0 (Binary) self-test") + line(strings.Repeat("A", 43)+"=")
}

var errNoPacket = errors.New("a packet isn't of the form that brunt sends")

const (
	packetPrefix = 5            // 0xce and the length in four bytes
	packetHeader = 4 + 9        // {0: type, 1: sync}, the sync in eight bytes
	requestEval  = 8            //
	errorCode    = 0x8000 | 104 // ER_LOADING
)

// iproto answers every packet with the tuple [42], and programs (EVAL), by which a server is asked what
// it is, with an error.
func iproto(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		rest := in[consumed:]
		if len(rest) < packetPrefix+packetHeader {
			return out, consumed, nil
		}
		length := int(binary.BigEndian.Uint32(rest[1:]))
		header := rest[packetPrefix:]
		if rest[0] != 0xce || length < packetHeader || length > longest || header[0] != 0x82 || header[1] != 0 || header[3] != 1 || header[4] != 0xcf {
			return out, consumed, errNoPacket
		}
		if len(rest) < packetPrefix+length {
			return out, consumed, nil
		}
		consumed += packetPrefix + length
		code, body := uint32(0), "\x81\x30\x91\x2a"
		if header[2] == requestEval {
			code, body = errorCode, "\x81\x31\xa2no"
		}
		size := len("\x82\x00\xce....\x01\xcf........") + len(body)
		out = binary.BigEndian.AppendUint32(append(out, 0xce), uint32(size))
		out = binary.BigEndian.AppendUint32(append(out, 0x82, 0x00, 0xce), code)
		out = append(append(out, 0x01, 0xcf), header[5:packetHeader]...)
		out = append(out, body...)
	}
}
