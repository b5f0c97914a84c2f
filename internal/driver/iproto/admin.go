package iproto

import (
	"context"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/template"

	iproto "github.com/tarantool/go-iproto"
)

// admin is a session for set-up.
type admin struct {
	*link
	picodata bool
	mode     sqlMode
}

// Admin opens a session for set-up within Target.ConnectTimeout. Its statements and loads last as
// long as their contexts let them.
func (d *Driver) Admin(ctx context.Context, t driver.Target) (driver.Admin, error) {
	o, err := parseOptions(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return nil, err
	}
	a := &admin{link: l, mode: o.sql}
	if a.picodata, _, err = identify(ctx, l); err == nil && a.mode == "" {
		a.mode, err = chooseMode(ctx, l, a.picodata)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return a, nil
}

// sql sends a statement by text.
func (a *admin) sql(ctx context.Context, statement string) (*reader, *driver.Error) {
	statement = strings.TrimRight(statement, "; \t\r\n")
	var b body
	kind := b.sql(a.mode, statement, 0)
	code, answer, err := a.ask(ctx, kind, b.now)
	if err == nil {
		err = refusal(code, answer)
	}
	return &reader{b: answer}, err
}

// Exec runs one statement of SQL.
func (a *admin) Exec(ctx context.Context, text string) (affected int64, err error) {
	r, failure := a.sql(ctx, text)
	if failure != nil {
		return 0, failure
	}
	s := statement{verb: driver.SQL}
	if a.mode == byCall {
		s.shape = dispatch
	}
	var reply driver.Reply
	if s.answer(r.b, 0, &reply) != fine {
		return 0, protocolError("an answer makes no sense")
	}
	return reply.Affected, nil
}

// Query runs one statement of SQL. An error of row's ends the query and is returned as it is.
func (a *admin) Query(ctx context.Context, statement string, row func(values []*string) error) error {
	r, failure := a.sql(ctx, statement)
	if failure != nil {
		return failure
	}
	rows := uint64(0)
	if r.toRows(a.mode) {
		rows = r.array()
	}
	var v gen.Value
	for n := rows; n > 0 && r.trouble == fine; n-- {
		var values []*string
		for k := r.array(); k > 0 && r.trouble == fine; k-- {
			r.value(&v)
			if v.Kind == gen.Null {
				values = append(values, nil)
				continue
			}
			text := string(template.AppendValue(nil, &v))
			values = append(values, &text)
		}
		if r.trouble != fine {
			break
		}
		if err := row(values); err != nil {
			return err
		}
	}
	if r.trouble != fine {
		return protocolError("an answer makes no sense")
	}
	return nil
}

// toRows moves to the array of rows in an answer's body and reports whether there is one.
func (r *reader) toRows(mode sqlMode) bool {
	for n := r.mapping(); n > 0 && r.trouble == fine; n-- {
		if r.uint() != uint64(iproto.IPROTO_DATA) {
			r.skip()
			continue
		}
		if mode != byCall {
			return true
		}
		for isArray(r.peek()) && r.array() > 0 {
		}
		for k := r.mapping(); k > 0 && r.trouble == fine; k-- {
			if string(r.text()) == "rows" {
				return true
			}
			r.skip()
		}
		return false
	}
	return false
}
