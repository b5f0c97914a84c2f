package selftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// body is the body of HTTP answers. It is as long as nginx's default page.
var body = bytes.Repeat([]byte("x"), 612)

// http answers every request (RFC 9112) with a page, and HEAD with the head alone. It doesn't support requests with a
// body.
func http(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		end := bytes.Index(in[consumed:], []byte("\r\n\r\n"))
		if end < 0 {
			return out, consumed, nil
		}
		head := bytes.HasPrefix(in[consumed:], []byte("HEAD "))
		consumed += end + 4
		out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 612\r\n\r\n"...)
		if !head {
			out = append(out, body...)
		}
	}
}

var errNoCommand = errors.New("a request isn't a list of bulk strings")

// redis answers GET with three bytes, HELLO with an error (so that clients speak RESP2), and all other commands with
// OK. Requests are in the format of the Redis serialization protocol.
func redis(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		word, n, err := command(in[consumed:])
		if n == 0 || err != nil {
			return out, consumed, err
		}
		consumed += n
		switch {
		case bytes.EqualFold(word, []byte("GET")):
			out = append(out, "$3\r\nxxx\r\n"...)
		case bytes.EqualFold(word, []byte("HELLO")):
			out = append(out, "-ERR unknown command\r\n"...)
		default:
			out = append(out, "+OK\r\n"...)
		}
	}
}

// command returns the first word and the length of the command at the start of in. The length is 0 if the command isn't
// complete.
func command(in []byte) (word []byte, length int, err error) {
	words, at, err := count(in, 0, '*')
	if at == 0 || err != nil {
		return nil, 0, err
	}
	for i := range words {
		n, after, err := count(in, at, '$')
		if after == 0 || err != nil {
			return nil, 0, err
		}
		if after+n+2 > len(in) {
			return nil, 0, nil
		}
		if i == 0 {
			word = in[after : after+n]
		}
		at = after + n + 2
	}
	return word, at, nil
}

// count reads a line with a sign and a number. after is the offset of the next line, 0 if the line isn't complete.
func count(in []byte, at int, sign byte) (n, after int, err error) {
	end := bytes.IndexByte(in[at:], '\n')
	if end < 0 {
		return 0, 0, nil
	}
	line := in[at : at+end]
	if len(line) < 3 || line[0] != sign || line[len(line)-1] != '\r' {
		return 0, 0, errNoCommand
	}
	if n, err = strconv.Atoi(string(line[1 : len(line)-1])); err != nil || n < 0 || n > longest {
		return 0, 0, errNoCommand
	}
	return n, at + end + 1, nil
}

// postgres is the state of a connection. It answers every execution with one row of one integer. The messages are those
// of PostgreSQL's protocol 3.0 ("Message Formats" in its manual).
type postgres struct{ greeted bool }

var errNoMessage = errors.New("a message has an impossible length")

// message appends one message.
func message(out []byte, kind byte, content string) []byte {
	out = append(out, kind)
	out = binary.BigEndian.AppendUint32(out, uint32(len(content)+4))
	return append(out, content...)
}

const (
	// int4 "v", as text
	oneColumn = "\x00\x01v\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00"
	oneRow    = "\x00\x01\x00\x00\x00\x04\x00\x00\x00\x2a"
	product   = "PostgreSQL 15.0 (self-test)"
)

func (p *postgres) answer(out, in []byte) (answers []byte, consumed int, err error) {
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
		if length < 4 || length > longest {
			return out, consumed, errNoMessage
		}
		if len(rest) < head+length {
			return out, consumed, nil
		}
		consumed += head + length
		if !p.greeted {
			p.greeted = true
			out = message(out, 'R', "\x00\x00\x00\x00") // no password
			for _, s := range []string{"server_version\x0015.0\x00", "client_encoding\x00UTF8\x00",
				"standard_conforming_strings\x00on\x00", "integer_datetimes\x00on\x00"} {
				out = message(out, 'S', s)
			}
			out = message(message(out, 'K', "\x00\x00\x00\x01\x00\x00\x00\x01"), 'Z', "I")
			continue
		}
		if rest[0] == 'X' {
			return out, consumed, errNoMessage
		}
		out = reply(out, rest[0], string(rest[5:head+length]))
	}
}

// reply appends the answer to one message.
func reply(out []byte, kind byte, content string) []byte {
	switch kind {
	case 'P':
		return message(out, '1', "")
	case 'B':
		return message(out, '2', "")
	case 'D':
		if strings.HasPrefix(content, "S") {
			out = message(out, 't', "\x00\x01\x00\x00\x00\x17")
		}
		return message(out, 'T', oneColumn)
	case 'E':
		return message(message(out, 'D', oneRow), 'C', "SELECT 1\x00")
	case 'C':
		return message(out, '3', "")
	case 'S':
		return message(out, 'Z', "I")
	case 'Q':
		if strings.Contains(content, "version()") {
			row := "\x00\x01" + string(binary.BigEndian.AppendUint32(nil, uint32(len(product)))) + product
			out = message(message(out, 'T', strings.Replace(oneColumn, "\x00\x17\x00\x04", "\x00\x19\xff\xff", 1)), 'D', row)
			return message(message(out, 'C', "SELECT 1\x00"), 'Z', "I")
		}
		return message(message(out, 'C', "SELECT 0\x00"), 'Z', "I")
	}
	return out
}

// iprotoGreeting returns what the server sends first: two lines of 64 bytes, the second of which is the salt for
// passwords in base64 (Tarantool's manual, "Binary protocol").
func iprotoGreeting() string {
	line := func(text string) string { return text + strings.Repeat(" ", 63-len(text)) + "\n" }
	return line("Tarantool 2.6.0 (Binary) self-test") + line(strings.Repeat("A", 43)+"=")
}

var errNoPacket = errors.New("a packet isn't of the form that brunt sends")

const (
	packetPrefix = 5              // 0xce and the length in four bytes
	packetHeader = 4 + 9          // {0: type, 1: sync}, the sync in eight bytes
	requestEval  = 8              // IPROTO_EVAL
	anySchema    = "\x83\x05\x00" // start of a header with three entries: the schema version, 0 for any
	errorCode    = 0x8000 | 104   // ER_LOADING
)

// iproto answers every packet with the tuple [42], but EVAL, which brunt uses to ask for the server's version, with an
// error.
func iproto(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		rest := in[consumed:]
		if len(rest) < packetPrefix+packetHeader {
			return out, consumed, nil
		}
		length := int(binary.BigEndian.Uint32(rest[1:]))
		header := rest[packetPrefix:]
		if rest[0] != 0xce || length < packetHeader || length > longest {
			return out, consumed, errNoPacket
		}
		if string(header[:3]) == anySchema {
			if len(rest) < packetPrefix+len(anySchema)+packetHeader {
				return out, consumed, nil
			}
			header = header[len(anySchema)-1:]
		} else if header[0] != 0x82 {
			return out, consumed, errNoPacket
		}
		if header[1] != 0 || header[3] != 1 || header[4] != 0xcf {
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
