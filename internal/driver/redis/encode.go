package redis

import (
	"strconv"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/template"
	"brunt/internal/wire"
)

// codec encodes commands and scans answers of one session.
type codec struct {
	requests []request
	encoded  [][]encodedPiece // by request
	word     []byte
	scanner
}

var _ wire.Codec = (*codec)(nil)

// encodedPiece is text that is sent as it is and then, if word isn't nil, a word with parameters.
type encodedPiece struct {
	text []byte
	word *template.Template
}

func newCodec(requests []request) *codec {
	c := &codec{requests: requests, encoded: make([][]encodedPiece, len(requests))}
	for i := range requests {
		c.encoded[i] = encodeOnce(&requests[i])
	}
	return c
}

// encodeOnce does what needs no arguments: fixed words and their lengths become one piece.
func encodeOnce(r *request) (pieces []encodedPiece) {
	run := appendHead(nil, '*', len(r.words))
	for i := range r.words {
		w := &r.words[i]
		if text, ok := w.Fixed(); ok {
			run = appendWord(run, text)
			continue
		}
		pieces = append(pieces, encodedPiece{run, w})
		run = nil
	}
	if len(run) > 0 {
		pieces = append(pieces, encodedPiece{text: run})
	}
	return pieces
}

// Encode appends a command to dst: an array of bulk strings.
func (c *codec) Encode(dst []byte, req *driver.Request, args []gen.Value) ([]byte, *driver.Error) {
	if want := c.requests[req.ID].params; len(args) != want {
		return dst, badArguments(len(args), want)
	}
	pieces := c.encoded[req.ID]
	for i := range pieces {
		p := &pieces[i]
		dst = append(dst, p.text...)
		if p.word == nil {
			continue
		}
		if n, ok := p.word.Only(); ok && (args[n].Kind == gen.String || args[n].Kind == gen.Bytes) {
			dst = appendWord(dst, args[n].B)
			continue
		}
		c.word, _ = p.word.Append(c.word[:0], args, nil)
		dst = appendWord(dst, c.word)
	}
	return dst, nil
}

func appendCommand(dst []byte, words []string) []byte {
	dst = appendHead(dst, '*', len(words))
	for _, w := range words {
		dst = appendWord(dst, []byte(w))
	}
	return dst
}

func appendWord(dst, word []byte) []byte {
	dst = appendHead(dst, '$', len(word))
	dst = append(dst, word...)
	return append(dst, '\r', '\n')
}

func appendHead(dst []byte, kind byte, n int) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}
