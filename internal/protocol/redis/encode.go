package redis

import (
	"bytes"
	"slices"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// codec encodes commands and scans answers of one session.
type codec struct {
	requests []request
	sent     uint64   // number of requests sent
	answered uint64   // number of requests answered
	asked    []uint64 // numbers of unanswered requests that follow an ASKING, whose answer precedes theirs
	single   bool     // the target isn't said to be a cluster
	scanner
}

var (
	_ protocol.Codec = (*codec)(nil)
	_ protocol.Asker = (*codec)(nil)
)

// encodedPiece is constant text, followed by a word with parameters if word isn't nil.
type encodedPiece struct {
	text []byte
	word *template.Template
	// short is set for a word with one parameter. short[n] holds everything that precedes a value of n bytes,
	// including text; after holds what follows the value.
	short []([]byte)
	after []byte
	param int
}

// shortValue is the maximum length of values for which short is prepared, in bytes.
const shortValue = 32

func newCodec(requests []request) *codec { return &codec{requests: requests} }

// encodeOnce does the part of encoding that needs no arguments: it joins constant words and their lengths into
// one piece.
func encodeOnce(words []template.Template) (pieces []encodedPiece) {
	run := appendHead(nil, '*', len(words))
	for i := range words {
		w := &words[i]
		if text, ok := w.Fixed(); ok {
			run = appendWord(run, text)
			continue
		}
		p := encodedPiece{text: run, word: w}
		if before, param, after, ok := w.Single(); ok {
			p.param, p.after = param, append(slices.Clone(after), '\r', '\n')
			for n := range shortValue + 1 {
				head := appendHead(slices.Clone(run), '$', len(before)+n+len(after))
				p.short = append(p.short, append(head, before...))
			}
		}
		pieces = append(pieces, p)
		run = nil
	}
	if len(run) > 0 {
		pieces = append(pieces, encodedPiece{text: run})
	}
	return pieces
}

// Encode appends a command to dst as an array of bulk strings.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	r := &c.requests[req.ID]
	if len(args) != r.params {
		return dst, protocol.Arguments(args, r.params)
	}
	for i := range r.pieces {
		p := &r.pieces[i]
		if p.short != nil {
			v := &args[p.param]
			if n, ok := v.TextLength(); ok && n < len(p.short) {
				dst = v.AppendText(append(dst, p.short[n]...))
				dst = append(dst, p.after...)
				continue
			}
		}
		dst = append(dst, p.text...)
		if p.word == nil {
			continue
		}
		if n, ok := p.word.Only(); ok && (args[n].Kind == gen.String || args[n].Kind == gen.Bytes) {
			dst = appendWord(dst, args[n].B)
			continue
		}
		dst = appendFilled(dst, p.word, args)
	}
	c.sent++
	return dst, nil
}

// EncodeAsk appends a command for a slot that this node is importing.
func (c *codec) EncodeAsk(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	before := len(dst)
	dst = append(dst, "*1\r\n$6\r\nASKING\r\n"...)
	dst, err := c.Encode(dst, req, args)
	if err != nil {
		return dst[:before], err
	}
	c.asked = append(c.asked, c.sent-1)
	return dst, nil
}

// permission consumes the one-line answer to ASKING if that comes next. done is false if the line isn't
// complete.
func (c *codec) permission(buf []byte) (n int, done bool) {
	if len(c.asked) == 0 || c.asked[0] != c.answered {
		return 0, true
	}
	end := bytes.IndexByte(buf, '\n')
	if end < 0 && len(buf) <= maxLine {
		return 0, false
	}
	c.asked = c.asked[:copy(c.asked, c.asked[1:])]
	return end + 1, true
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

// appendFilled appends a word with parameters. Its length, which is known only afterwards, precedes it: room is
// left for two digits, and the word is moved if the length has more or fewer.
func appendFilled(dst []byte, word *template.Template, args []gen.Value) []byte {
	at := len(dst)
	dst = append(dst, "$00\r\n"...)
	from := len(dst)
	dst = word.Plain(dst, args)
	size := len(dst) - from
	if size >= 10 && size < 100 {
		dst[at+1], dst[at+2] = '0'+byte(size/10), '0'+byte(size%10)
		return append(dst, '\r', '\n')
	}
	var digits [20]byte
	length := strconv.AppendInt(digits[:0], int64(size), 10)
	for range len(length) - 2 {
		dst = append(dst, 0)
	}
	from = at + len("$\r\n") + len(length)
	copy(dst[from:from+size], dst[at+len("$00\r\n"):])
	dst = dst[:from+size]
	copy(dst[at+1:], length)
	dst[from-2], dst[from-1] = '\r', '\n'
	return append(dst, '\r', '\n')
}

func appendHead(dst []byte, kind byte, n int) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}
