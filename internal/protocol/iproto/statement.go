package iproto

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// statement is a request of the program, prepared for sending: its body in pieces, with arguments in between.
type statement struct {
	verb     protocol.Verb
	kind     protocol.Kind
	code     byte // request type
	pieces   []piece
	params   int
	shape    shape
	captures []capture
	space    *space // of a Select, Read or Scan

	// For SQL that the server has prepared: the body of the request that prepares it again, the pieces that send it
	// as text, and its id, which depends only on its text.
	renewal []byte
	byText  []piece
	id      uint64
	stale   bool // a schema change has invalidated it: it must be prepared again
	fresh   bool // it has just been prepared again
	busy    bool // preparing again had no effect, because other sessions are using it: send it as text, once
}

// piece is constant bytes followed by an argument, if param isn't negative.
type piece struct {
	bytes []byte
	param int
}

// appendBody appends the request's body. It allocates nothing unless dst must grow or an argument is invalid.
func (s *statement) appendBody(dst []byte, args []gen.Value) ([]byte, *protocol.Error) {
	if len(args) != s.params {
		return dst, protocol.Bad("the count of arguments isn't that of the request's parameters")
	}
	if s.verb == protocol.SQL {
		if refused := protocol.WithoutNaN(args, "SQL"); refused != nil {
			return dst, refused
		}
	}
	var err *protocol.Error
	pieces := s.pieces
	if s.busy {
		pieces = s.byText
	}
	for i := range pieces {
		dst = append(dst, pieces[i].bytes...)
		if p := pieces[i].param; p >= 0 {
			if dst, err = msgpack.AppendValue(dst, &args[p]); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

// renewed processes the answer to preparing the statement again.
func (s *statement) renewed(answer []byte, code uint32) *protocol.Error {
	if err := refusal(code, answer); err != nil {
		return err
	}
	if id, ok := preparedID(answer); !ok || id != s.id {
		return protocolError("a statement that was prepared again has another number")
	}
	s.stale, s.fresh = false, true
	return nil
}

// mustRenew reports whether the statement must be prepared again before it is sent.
func (s *statement) mustRenew() bool { return s.stale && !s.busy }

// body builds the pieces of a request's body.
type body struct {
	pieces []piece
	now    []byte
}

func (b *body) mapping(n int) { b.now = msgpack.AppendMap(b.now, n) }
func (b *body) key(k byte)    { b.now = append(b.now, k) }
func (b *body) uint(n uint64) { b.now = msgpack.AppendUint(b.now, n) }
func (b *body) text(s string) { b.now = msgpack.AppendString(b.now, s) }
func (b *body) array(n int)   { b.now = msgpack.AppendArray(b.now, n) }
func (b *body) null()         { b.now = append(b.now, 0xc0) }
func (b *body) number(k byte, n uint64) {
	b.key(k)
	b.uint(n)
}

// param adds argument number p.
func (b *body) param(p int) {
	b.pieces = append(b.pieces, piece{b.now, p})
	b.now = nil
}

// list adds an array of the first n arguments.
func (b *body) list(n int) {
	b.array(n)
	b.params(n)
}

func (b *body) params(n int) {
	for p := range n {
		b.param(p)
	}
}

// sql writes a request that executes a statement, up to the values of its parameters. It returns the request
// type.
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

// compiler compiles a program's requests to statements.
type compiler struct {
	ask      asker
	mode     sqlMode
	picodata bool
	spaces   map[string]*space
}

// compile compiles a program. It asks the server for what it needs: the product, how it accepts SQL, spaces and
// indexes. onPicodata reports whether the server is known to be Picodata.
func compile(
	ctx context.Context, a asker, o options, p *protocol.Program,
) (list []statement, onPicodata bool, failure *protocol.Error) {
	c := compiler{ask: a, spaces: map[string]*space{}, mode: o.sql}
	if slices.ContainsFunc(p.Requests, func(r protocol.Request) bool {
		return r.Verb != protocol.Call &&
			r.Verb != protocol.Eval
	}) {
		var err *protocol.Error
		if c.picodata, _, err = identify(ctx, a); err != nil {
			return nil, false, err
		}
	}
	if c.mode == "" {
		var err *protocol.Error
		if c.mode, err = chooseMode(ctx, a, c.picodata); err != nil {
			return nil, false, err
		}
	}
	list = make([]statement, len(p.Requests))
	for i := range p.Requests {
		if err := c.request(ctx, &p.Requests[i], &list[i]); err != nil {
			err.Text = fmt.Sprintf("request %s: %s", nameOf(&p.Requests[i]), err.Text)
			return nil, false, err
		}
	}
	return list, c.picodata, nil
}

func nameOf(r *protocol.Request) string {
	if r.Name != "" {
		return strconv.Quote(r.Name)
	}
	return "number " + strconv.Itoa(r.ID)
}

// check refuses verbs that the protocol lacks. It doesn't contact the server.
func check(p *protocol.Program) *protocol.Error {
	for i := range p.Requests {
		r := &p.Requests[i]
		switch r.Verb {
		case protocol.SQL, protocol.Call, protocol.Eval, protocol.Select, protocol.Insert, protocol.Replace,
			protocol.Update, protocol.Upsert, protocol.Delete, protocol.Read, protocol.Scan:
		case protocol.Begin, protocol.Commit, protocol.Rollback:
			return protocol.Bad(
				"iproto has no transactions over several requests (Tarantool 2.6 has none, and Picodata accepts BEGIN without making one): put the statements into one stored function or Eval, or set transaction to false")
		default:
			return protocol.Bad(
				"request %s: iproto has no such request: use SQL, call, eval, select, insert, replace, update, upsert or delete",
				nameOf(r))
		}
	}
	return nil
}

func (c *compiler) request(ctx context.Context, r *protocol.Request, s *statement) *protocol.Error {
	s.verb, s.kind, s.params = r.Verb, r.Kind(), len(r.Params)
	s.captures = make([]capture, len(r.Capture))
	for i, k := range r.Capture {
		s.captures[i] = capture{column: k.Column, kind: k.Kind}
		if k.Name != "" {
			s.captures[i].name = []byte(k.Name)
		}
	}
	switch r.Verb {
	case protocol.SQL:
		return c.sql(ctx, r, s)
	case protocol.Call, protocol.Eval:
		key := keyFunction
		if s.code = typeCall; r.Verb == protocol.Eval {
			s.code, key = typeEval, keyExpr
		}
		var b body
		b.mapping(2)
		b.key(key)
		b.text(r.Text)
		b.key(keyTuple)
		b.list(s.params)
		s.pieces, s.shape = b.done(), values
		return nil
	}
	if c.picodata && r.Verb != protocol.Select && r.Verb != protocol.Read && r.Verb != protocol.Scan {
		return protocol.Bad(
			"Picodata takes changes as SQL only: write a statement instead of insert, replace, update, upsert or delete")
	}
	return c.onSpace(ctx, r, s)
}

func (c *compiler) sql(ctx context.Context, r *protocol.Request, s *statement) *protocol.Error {
	switch sqltext.FirstWord(r.Text) {
	case "BEGIN", "COMMIT", "ROLLBACK", "START":
		return protocol.Bad("iproto has no transactions over several requests: put the statements into one stored function")
	}
	switch c.mode {
	case byCall:
		var b body
		s.code, s.shape = b.sql(byCall, r.Text, s.params), dispatch
		b.params(s.params)
		s.pieces = b.done()
		return nil
	case prepared:
		if r.Simple {
			break
		}
		id, ok, err := prepare(ctx, c.ask, r.Text)
		if err != nil && (err.Class != protocol.Server || !r.ExpectError) {
			return err
		}
		if ok {
			s.id, s.renewal = id, prepareBody(r.Text)
		}
	}
	var text, byID body
	s.code = text.sql(byText, r.Text, s.params)
	text.params(s.params)
	s.byText = text.done()
	if s.pieces = s.byText; s.renewal != nil {
		byID.mapping(2)
		byID.number(keyStmt, s.id)
		byID.key(keySQLBind)
		byID.list(s.params)
		s.pieces = byID.done()
	}
	return nil
}
