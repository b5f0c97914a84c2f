package redis

import (
	"bytes"
	"errors"
	"strconv"
)

// selfTestMost is the most bytes that a word of a request may have.
const selfTestMost = 64 << 10

var errNotCommand = errors.New("a request isn't a list of bulk strings")

// selfTestAnswers answers GET with three bytes, HELLO with an error (so that clients speak RESP2), and all other
// commands with OK. Requests are in the format of the Redis serialization protocol.
func selfTestAnswers(out, in []byte) (answers []byte, consumed int, err error) {
	for {
		word, n, err := selfTestCommand(in[consumed:])
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

// selfTestCommand returns the first word and the length of the command at the start of in. The length is 0 if the
// command isn't complete.
func selfTestCommand(in []byte) (word []byte, length int, err error) {
	words, at, err := selfTestCount(in, 0, '*')
	if at == 0 || err != nil {
		return nil, 0, err
	}
	for i := range words {
		n, after, err := selfTestCount(in, at, '$')
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

// selfTestCount reads a line with a sign and a number. after is the offset of the next line, 0 if the line isn't
// complete.
func selfTestCount(in []byte, at int, sign byte) (n, after int, err error) {
	end := bytes.IndexByte(in[at:], '\n')
	if end < 0 {
		return 0, 0, nil
	}
	line := in[at : at+end]
	if len(line) < 3 || line[0] != sign || line[len(line)-1] != '\r' {
		return 0, 0, errNotCommand
	}
	if n, err = strconv.Atoi(string(line[1 : len(line)-1])); err != nil || n < 0 || n > selfTestMost {
		return 0, 0, errNotCommand
	}
	return n, at + end + 1, nil
}
