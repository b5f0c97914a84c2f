package iproto

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"brunt/internal/driver"
	"brunt/internal/sqltext"
)

// compiler makes statements of a program's requests.
type compiler struct {
	ask      asker
	mode     sqlMode
	picodata bool
	spaces   map[string]*space
}

// compile asks the server what must be known: its product, how it takes SQL, spaces and indexes.
func compile(ctx context.Context, a asker, o options, p *driver.Program) ([]statement, *driver.Error) {
	c := compiler{ask: a, spaces: map[string]*space{}, mode: o.sql}
	if slices.ContainsFunc(p.Requests, func(r driver.Request) bool { return r.Verb != driver.Call && r.Verb != driver.Eval }) {
		var err *driver.Error
		if c.picodata, _, err = identify(ctx, a); err != nil {
			return nil, err
		}
	}
	if c.mode == "" {
		var err *driver.Error
		if c.mode, err = chooseMode(ctx, a, c.picodata); err != nil {
			return nil, err
		}
	}
	list := make([]statement, len(p.Requests))
	for i := range p.Requests {
		if err := c.request(ctx, &p.Requests[i], &list[i]); err != nil {
			err.Text = fmt.Sprintf("request %s: %s", nameOf(&p.Requests[i]), err.Text)
			return nil, err
		}
	}
	return list, nil
}

func nameOf(r *driver.Request) string {
	if r.Name != "" {
		return strconv.Quote(r.Name)
	}
	return "number " + strconv.Itoa(r.ID)
}

// check refuses verbs that the protocol lacks. It asks nobody.
func check(p *driver.Program) *driver.Error {
	for i := range p.Requests {
		r := &p.Requests[i]
		switch r.Verb {
		case driver.SQL, driver.Call, driver.Eval, driver.Select, driver.Insert, driver.Replace,
			driver.Update, driver.Upsert, driver.Delete, driver.Read, driver.Scan:
		case driver.Begin, driver.Commit, driver.Rollback:
			return driver.Bad("iproto has no transactions over several requests (Tarantool 2.6 has none, and Picodata accepts BEGIN without making one): put the statements into one stored function or Eval, or set transaction to false")
		default:
			return driver.Bad("request %s: iproto has no such request: use SQL, call, eval, select, insert, replace, update, upsert or delete", nameOf(r))
		}
	}
	return nil
}

func (c *compiler) request(ctx context.Context, r *driver.Request, s *statement) *driver.Error {
	s.verb, s.kind, s.params = r.Verb, r.Kind(), len(r.Params)
	s.captures = make([]capture, len(r.Capture))
	for i, k := range r.Capture {
		s.captures[i] = capture{column: k.Column, kind: k.Kind}
		if k.Name != "" {
			s.captures[i].name = []byte(k.Name)
		}
	}
	switch r.Verb {
	case driver.SQL:
		return c.sql(ctx, r, s)
	case driver.Call, driver.Eval:
		key := keyFunction
		if s.code = typeCall; r.Verb == driver.Eval {
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
	if c.picodata && r.Verb != driver.Select && r.Verb != driver.Read && r.Verb != driver.Scan {
		return driver.Bad("Picodata takes changes as SQL only: write a statement instead of insert, replace, update, upsert or delete")
	}
	return c.onSpace(ctx, r, s)
}

func (c *compiler) sql(ctx context.Context, r *driver.Request, s *statement) *driver.Error {
	switch sqltext.FirstWord(r.Text) {
	case "BEGIN", "COMMIT", "ROLLBACK", "START":
		return driver.Bad("iproto has no transactions over several requests: put the statements into one stored function")
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
		if err != nil && (err.Class != driver.Server || !r.ExpectError) {
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
