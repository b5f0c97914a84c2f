package iproto

import (
	"brunt/internal/driver"
	"brunt/internal/gen"
)

// statement is a request of the program, ready to be sent: its body in pieces between which the
// arguments stand.
type statement struct {
	verb     driver.Verb
	kind     driver.Kind
	code     byte // request type
	pieces   []piece
	params   int
	shape    shape
	captures []capture
	space    *space // of a Select, Read or Scan

	// Of SQL that the server has prepared: what prepares it once more, what sends it as text, and its
	// number, which depends on its text only.
	renewal []byte
	byText  []piece
	id      uint64
	stale   bool // a change of the schema has ended it: it must be prepared again
	fresh   bool // it has just been prepared again
	busy    bool // that was in vain, because other sessions have it under way: it goes as text, once
}

// piece is bytes that stand as they are and then, if param is not negative, an argument.
type piece struct {
	bytes []byte
	param int
}

// appendBody writes the request's body. It allocates nothing unless dst must grow or an argument
// can't be sent.
func (s *statement) appendBody(dst []byte, args []gen.Value) ([]byte, *driver.Error) {
	if len(args) != s.params {
		return dst, driver.Bad("the count of arguments isn't that of the request's parameters")
	}
	var err *driver.Error
	pieces := s.pieces
	if s.busy {
		pieces = s.byText
	}
	for i := range pieces {
		dst = append(dst, pieces[i].bytes...)
		if p := pieces[i].param; p >= 0 {
			if dst, err = AppendValue(dst, &args[p]); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

// renewed reads the answer to the statement's being prepared once more.
func (s *statement) renewed(answer []byte, code uint32) *driver.Error {
	if err := refusal(code, answer); err != nil {
		return err
	}
	if id, ok := preparedID(answer); !ok || id != s.id {
		return protocolError("a statement that was prepared again has another number")
	}
	s.stale, s.fresh = false, true
	return nil
}

// mustRenew reports whether the statement is to be prepared again before it is sent.
func (s *statement) mustRenew() bool { return s.stale && !s.busy }

// body builds pieces.
type body struct {
	pieces []piece
	now    []byte
}

func (b *body) mapping(n int) { b.now = appendMap(b.now, n) }
func (b *body) key(k byte)    { b.now = append(b.now, k) }
func (b *body) uint(n uint64) { b.now = appendUint(b.now, n) }
func (b *body) text(s string) { b.now = appendString(b.now, s) }
func (b *body) array(n int)   { b.now = appendArray(b.now, n) }
func (b *body) null()         { b.now = append(b.now, 0xc0) }
func (b *body) number(k byte, n uint64) {
	b.key(k)
	b.uint(n)
}

// param puts argument number p.
func (b *body) param(p int) {
	b.pieces = append(b.pieces, piece{b.now, p})
	b.now = nil
}

// list puts an array of the first n arguments.
func (b *body) list(n int) {
	b.array(n)
	b.params(n)
}

func (b *body) params(n int) {
	for p := range n {
		b.param(p)
	}
}

// sql writes a request, whose type it returns, that has a statement carried out, up to the values of its
// parameters.
func (b *body) sql(mode sqlMode, text string, params int) (kind byte) {
	b.mapping(2)
	if kind = typeExecute; mode == byCall {
		kind = typeCall
		b.key(keyFunction)
		b.text(dispatcher)
		b.key(keyTuple)
		b.array(2)
		b.text(text)
	} else {
		b.key(keySQLText)
		b.text(text)
		b.key(keySQLBind)
	}
	b.array(params)
	return kind
}

func (b *body) done() []piece {
	if len(b.now) > 0 {
		b.pieces = append(b.pieces, piece{b.now, -1})
		b.now = nil
	}
	return b.pieces
}
