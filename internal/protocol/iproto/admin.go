package iproto

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// admin is a set-up session.
type admin struct {
	*link
	picodata bool
	mode     sqlMode
	optional *bool // see takesOptions; nil if that isn't known yet
}

// Admin opens a set-up session within Target.ConnectTimeout. Its statements and loads are bounded by their own
// contexts only.
func (d *Driver) Admin(ctx context.Context, t protocol.Target) (protocol.Admin, error) {
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

// sql sends a statement as text and returns the answer's body and what reads it.
func (a *admin) sql(ctx context.Context, text string) (s statement, answer []byte, err *protocol.Error) {
	s.verb = protocol.SQL
	if a.mode == byCall {
		s.shape = dispatch
	}
	if text = strings.TrimRight(text, "; \t\r\n"); a.picodata {
		text = ofIproto(text)
	}
	var b body
	kind := b.sql(a.mode, text, 0)
	code, answer, err := a.ask(ctx, kind, b.now)
	if err == nil {
		err = refusal(code, answer)
	}
	return s, answer, err
}

// ofIproto returns a statement of brunt's own with a text that is never sent over pgproto: with a second blank after
// its first word. Picodata 25.3 has one cache of plans for both protocols, whose keys are texts. There, a plan without
// parameters that one protocol has made gives wrong rows over the other one, or ends the instance. Picodata has no
// comments that could tell the texts apart.
func ofIproto(text string) string { return strings.Replace(text, " ", "  ", 1) }

// Exec runs one statement of SQL.
func (a *admin) Exec(ctx context.Context, text string) (affected int64, err error) {
	s, answer, failure := a.sql(ctx, text)
	if failure != nil {
		return 0, failure
	}
	var reply protocol.Reply
	if s.answer(answer, 0, &reply) != msgpack.Fine {
		return 0, protocolError("an answer makes no sense")
	}
	return reply.Affected, nil
}

// Query runs one statement of SQL. An error returned by row ends the query and is returned unchanged.
func (a *admin) Query(ctx context.Context, text string, row func(values []*string) error) (err error) {
	s, answer, failure := a.sql(ctx, text)
	if failure != nil {
		return failure
	}
	failure = s.each(answer, func(_ []string, list []gen.Value) {
		values := make([]*string, len(list))
		for i := range list {
			if list[i].Kind != gen.Null {
				text := string(template.AppendValue(nil, &list[i]))
				values[i] = &text
			}
		}
		if err == nil {
			err = row(values)
		}
	})
	if err == nil && failure != nil {
		return failure
	}
	return err
}

var _ protocol.Checker = (*Driver)(nil)

const (
	explain       = "EXPLAIN "
	mostExplained = 5000 // maximum number of statements; more would take too long
)

// Check makes Picodata explain the program's statements, because Picodata prepares nothing over iproto. For
// Tarantool it does nothing: sessions prepare the statements there, which checks them.
func (d *Driver) Check(ctx context.Context, t protocol.Target, p *protocol.Program, _ func(done, all int)) error {
	if !slices.ContainsFunc(p.Requests, func(r protocol.Request) bool { return r.Verb == protocol.SQL }) {
		return nil
	}
	opened, err := d.Admin(ctx, t)
	if err != nil {
		return err
	}
	a := opened.(*admin)
	defer a.Close()
	if !a.picodata || !a.explains(ctx) {
		return nil
	}
	for i := range min(len(p.Requests), mostExplained) {
		r := &p.Requests[i]
		if r.Verb != protocol.SQL || r.Simple || r.ExpectError {
			continue
		}
		if notExplained[sqltext.FirstWord(r.Text)] {
			continue
		}
		err := a.explain(ctx, r)
		if err == nil && a.takesOptions(ctx) {
			err = a.options(ctx, r.Text)
		}
		if err != nil {
			err.Text = fmt.Sprintf("request %s: %s", nameOf(r), err.Text)
			return err
		}
	}
	return nil
}

// notExplained are the first words of statements that Picodata accepts and doesn't explain. Everything else is
// explained, so that a misspelled word is found.
var notExplained = map[string]bool{
	"ALTER": true, "AUDIT": true, "BACKUP": true, "CALL": true, "CREATE": true, "DEALLOCATE": true, "DO": true,
	"DROP": true, "EXPLAIN": true, "GRANT": true, "REVOKE": true, "SET": true, "SHOW": true, "TRUNCATE": true,
}

// takesOptions reports whether the server accepts an option after VALUES, which options needs. It asks once.
func (a *admin) takesOptions(ctx context.Context) bool {
	if a.optional == nil {
		_, _, err := a.sql(ctx, noRows+"OPTION (sql_vdbe_opcode_max = 45000)")
		takes := err == nil
		a.optional = &takes
	}
	return *a.optional
}

// noRows is a statement that has no effect, before its options.
const noRows = "VALUES (1) "

// options returns the error with which the server refuses the options of a statement; nil if it has none, or if they
// have parameters.
func (a *admin) options(ctx context.Context, text string) *protocol.Error {
	rest, ok := withoutOptions(text)
	if !ok || rest == text {
		return nil
	}
	_, _, err := a.sql(ctx, noRows+text[len(rest):])
	if err != nil && err.Class != protocol.Server {
		return nil // the sessions of the load will report it
	}
	return err
}

// explains reports whether the server supports EXPLAIN.
func (a *admin) explains(ctx context.Context) bool {
	return a.explain(ctx, &protocol.Request{Text: "VALUES (1)"}) == nil
}

// explain returns the error with which the server refuses a statement, or nil if the error may not be caused by
// the statement itself.
func (a *admin) explain(ctx context.Context, r *protocol.Request) *protocol.Error {
	text, ok := withoutOptions(r.Text)
	if !ok {
		return nil
	}
	var b body
	kind := b.sql(a.mode, explain+text, len(r.Params))
	for _, k := range r.Params {
		var err *protocol.Error
		if b.now, err = msgpack.AppendValue(b.now, &gen.Value{Kind: k, B: sample(k)}); err != nil {
			return nil
		}
	}
	code, answer, err := a.ask(ctx, kind, b.now)
	if err == nil {
		err = refusal(code, answer)
	}
	if err == nil || err.Class == protocol.Server && !ofStatement(err.Text, r.Params) {
		return nil
	}
	err.Text = place(err.Text)
	return err
}

// withoutOptions removes the clause OPTION (…) at the end of a statement, which the server doesn't accept after
// EXPLAIN. ok is false if the clause has parameters, because removing it would change their number.
func withoutOptions(text string) (_ string, ok bool) {
	at, length, options, parameter := 0, 0, false, false
	for _, t := range sqltext.Split(text) {
		switch {
		case t.Is("OPTION"):
			at, options, parameter = length, true, false
		case t.Kind == sqltext.Param || t.Kind == sqltext.Mark:
			parameter = true
		}
		length += len(t.Text)
	}
	if !options {
		return text, true
	}
	return text[:at], !parameter
}

// sample returns the bytes of a sample value of a kind, for kinds whose values consist of bytes.
func sample(k gen.Kind) []byte {
	switch k {
	case gen.UUID:
		return make([]byte, 16)
	case gen.JSON:
		return []byte("null")
	}
	return nil
}

// ofStatement reports whether an error is caused by the statement itself. It returns false if the cause may be
// the sample values used as arguments, or a parameter of unknown type.
func ofStatement(text string, params []gen.Kind) bool {
	t := strings.ToLower(text)
	if slices.Contains(params, gen.Null) && strings.Contains(t, "data type of parameter") {
		return false
	}
	return len(params) == 0 || !slices.ContainsFunc([]string{
		" cast ", "convert", "invalid value", "overflow", "out of range", "divide", "division",
	}, func(sign string) bool { return strings.Contains(t, sign) })
}

// position returns the position at the end of an error text, such as "1:7".
func position(text string) (line, column int) {
	at := text[strings.LastIndexByte(text, ' ')+1:]
	l, c, _ := strings.Cut(at, ":")
	line, _ = strconv.Atoi(l)
	column, _ = strconv.Atoi(c)
	return line, column
}

// place corrects a position in the first line, which the prefix "EXPLAIN " has shifted.
func place(text string) string {
	line, column := position(text)
	if line != 1 || column <= len(explain) {
		return text
	}
	return fmt.Sprintf("%s1:%d", text[:strings.LastIndexByte(text, ' ')+1], column-len(explain))
}
