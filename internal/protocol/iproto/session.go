package iproto

import (
	"bytes"
	"context"
	"encoding/json"

	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// Session is a connection for questions to a server, of which one is under way at a time.
type Session struct {
	link   *link
	broken bool
}

// OpenSession connects and authenticates within Target.ConnectTimeout.
func OpenSession(ctx context.Context, t protocol.Target) (*Session, *protocol.Error) {
	if _, err := parseOptions(t); err != nil {
		return nil, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return nil, err
	}
	return &Session{link: l}, nil
}

// Version returns the version of Tarantool that the server's greeting names.
func (s *Session) Version() string { return s.link.version }

// Broken reports whether the connection is lost.
func (s *Session) Broken() bool { return s.broken }

// Picodata reports whether the server is a Picodata, and its version if it tells.
func (s *Session) Picodata(ctx context.Context) (is bool, version string, err *protocol.Error) {
	is, version, err = identify(ctx, s.link)
	return is, version, s.note(err)
}

// Ping sends a request that does nothing, but passes the thread that executes all others.
func (s *Session) Ping(ctx context.Context) *protocol.Error {
	var b body
	b.mapping(0)
	_, _, err := s.link.ask(ctx, typePing, b.now)
	return s.note(err)
}

// Call calls a stored function with texts as arguments, and returns what it returns. Values are those of
// encoding/json, with json.Number for numbers.
func (s *Session) Call(ctx context.Context, function string, args ...string) ([]any, *protocol.Error) {
	return s.values(ctx, typeCall, callBody(keyFunction, function, args...))
}

// Eval evaluates a program, which Session.Call describes otherwise.
func (s *Session) Eval(ctx context.Context, program string, args ...string) ([]any, *protocol.Error) {
	return s.values(ctx, typeEval, callBody(keyExpr, program, args...))
}

// Select returns all tuples of a space, given by number, that the user may read.
func (s *Session) Select(ctx context.Context, space, limit uint64) ([]any, *protocol.Error) {
	const all = 2 // iterator ALL
	return s.values(ctx, typeSelect, selectBody(space, 0, all, limit, func(b *body) { b.array(0) }))
}

// Query executes a statement and returns its rows.
func (s *Session) Query(ctx context.Context, text string) ([]any, *protocol.Error) {
	var b body
	kind := b.sql(byText, text, 0)
	return s.values(ctx, kind, b.now)
}

// Exec executes a statement without rows.
func (s *Session) Exec(ctx context.Context, text string) *protocol.Error {
	var b body
	kind := b.sql(byText, text, 0)
	code, answer, err := s.link.ask(ctx, kind, b.now)
	if err == nil {
		err = refusal(code, answer)
	}
	return s.note(err)
}

func (s *Session) values(ctx context.Context, kind byte, request []byte) ([]any, *protocol.Error) {
	r, err := data(ctx, s.link, kind, request)
	if err != nil {
		return nil, s.note(err)
	}
	w := rowWriter{reader: *r}
	text := w.appendJSON(nil, deepest)
	if w.Err != msgpack.Fine {
		return nil, s.note(protocolError("an answer makes no sense"))
	}
	var values any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return nil, protocolError("an answer can't be shown as JSON")
	}
	list, ok := values.([]any)
	if !ok {
		list = []any{values}
	}
	return list, nil
}

// note notes whether the connection is lost.
func (s *Session) note(err *protocol.Error) *protocol.Error {
	if err != nil && (err.Fatal || err.Code == "" || err.Class == protocol.Timeout) {
		s.broken = true
	}
	return err
}

// Close ends the connection; it is safe to call twice.
func (s *Session) Close() error { return s.link.Close() }
