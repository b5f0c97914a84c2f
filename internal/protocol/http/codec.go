package http

import (
	"slices"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// encoded is a request of the codec tier, with everything encoded that doesn't depend on arguments.
type encoded struct {
	pieces []encodedPiece
	fixed  []byte // the complete request, if it has no parameters
	whole  bundle // the requests in it, if it is sent as it is
}

// encodedPiece is a part of the request's head in which all parameters are escaped in the same way.
type encodedPiece struct {
	text   template.Template
	escape template.Escape
	name   string // name of the header field, for errors
}

// codec encodes requests and scans answers of one session.
type codec struct {
	plan    *prepared
	encoded []encoded // shared with other sessions
	body    []byte
	seen    []uint32 // number of answers so far, by request
	curious bool     // no answer has arrived yet
	whole   []bundle // requests in flight that were sent as they are
	clock   stopwatch
	answer
}

var (
	_ protocol.Codec      = (*codec)(nil)
	_ protocol.EOFScanner = (*codec)(nil)
)

func newCodec(p *prepared) *codec {
	return &codec{plan: p, encoded: p.encoded(), seen: make([]uint32, len(p.requests)), curious: true}
}

// encodeOnce does the part of encoding that needs no arguments. Runs of constant text become one piece.
func encodeOnce(p *prepared, r *request) encoded {
	var e encoded
	if r.raw {
		if text, ok := r.body.Fixed(); ok {
			e.fixed = []byte(text)
			e.whole, _ = bundleOf(e.fixed) // checked by prepareOne
		}
		return e
	}
	var run []byte
	add := func(t template.Template, escape template.Escape, name string) {
		if text, ok := t.Fixed(); ok {
			run = append(run, text...)
			return
		}
		if len(run) > 0 {
			e.pieces = append(e.pieces, encodedPiece{text: template.Literal(run)})
			run = nil
		}
		e.pieces = append(e.pieces, encodedPiece{t, escape, name})
	}
	run = append(append(run, r.web.Method...), ' ')
	add(r.path, escapePath, "")
	run = append(run, " HTTP/1.1\r\n"...)
	for i := range r.fields {
		f := &r.fields[i]
		run = append(append(run, f.name...), ": "...)
		add(f.value, checkField, f.name)
		run = append(run, "\r\n"...)
	}
	if p.options.compress && !r.has("Accept-Encoding") {
		run = append(run, "Accept-Encoding: gzip\r\n"...)
	}
	body, fixedBody := r.body.Fixed()
	switch {
	case !r.sendsBody:
		run = append(run, "\r\n"...)
	case fixedBody:
		run = r.appendBody(run, []byte(body))
	}
	if len(e.pieces) == 0 && (fixedBody || !r.sendsBody) {
		e.fixed = run
		return e
	}
	e.pieces = append(e.pieces, encodedPiece{text: template.Literal(run)})
	return e
}

func (r *request) has(name string) bool {
	return slices.ContainsFunc(r.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
}

// Encode appends a request to dst.
func (c *codec) Encode(dst []byte, req *protocol.Request, args []gen.Value) ([]byte, *protocol.Error) {
	r, e := &c.plan.requests[req.ID], &c.encoded[req.ID]
	if refused := protocol.Arguments(args, r.params); refused != nil {
		return dst, refused
	}
	if c.plan.options.parts {
		c.clock.begin()
	}
	if r.raw {
		return c.encodeWhole(dst, r, e, args)
	}
	if e.fixed != nil {
		return append(dst, e.fixed...), nil
	}
	from := len(dst)
	for i := range e.pieces {
		p := &e.pieces[i]
		var ok bool
		if dst, ok = p.text.Append(dst, args, p.escape); !ok {
			return dst[:from], badField(p.name)
		}
	}
	if _, fixed := r.body.Fixed(); r.sendsBody && !fixed {
		c.body, _ = r.body.Append(c.body[:0], args, nil)
		dst = r.appendBody(dst, c.body)
	}
	return dst, nil
}
