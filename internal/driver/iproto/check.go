package iproto

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/sqltext"
)

var _ driver.Checker = (*Driver)(nil)

const (
	explain       = "EXPLAIN "
	mostExplained = 5000 // statements; more take too long
)

// Check has a Picodata, which prepares nothing over iproto, explain the program's statements.
// Tarantool's are checked when sessions prepare them.
func (d *Driver) Check(ctx context.Context, t driver.Target, p *driver.Program, _ func(done, all int)) error {
	if !slices.ContainsFunc(p.Requests, func(r driver.Request) bool { return r.Verb == driver.SQL }) {
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
		if r.Verb != driver.SQL || r.Simple || r.ExpectError {
			continue
		}
		switch sqltext.FirstWord(r.Text) {
		case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES":
		default:
			continue
		}
		if err := a.explain(ctx, r); err != nil {
			err.Text = fmt.Sprintf("request %s: %s", nameOf(r), err.Text)
			return err
		}
	}
	return nil
}

// explains reports whether the server explains anything at all.
func (a *admin) explains(ctx context.Context) bool {
	return a.explain(ctx, &driver.Request{Text: "VALUES (1)"}) == nil
}

// explain returns the server's refusal of a statement, if it is one of the statement itself: what an
// explanation alone can't do, such as telling the types of arguments, says nothing.
func (a *admin) explain(ctx context.Context, r *driver.Request) *driver.Error {
	var b body
	kind := b.sql(a.mode, explain+r.Text, len(r.Params))
	for _, k := range r.Params {
		var err *driver.Error
		if b.now, err = AppendValue(b.now, &gen.Value{Kind: k, B: sample(k)}); err != nil {
			return nil
		}
	}
	code, answer, err := a.ask(ctx, kind, b.now)
	if err == nil {
		err = refusal(code, answer)
	}
	if err == nil || err.Class == driver.Server && !ofStatement(err.Text) {
		return nil
	}
	err.Text = place(err.Text)
	return err
}

// sample is the content of a value of a kind that has some.
func sample(k gen.Kind) []byte {
	switch k {
	case gen.UUID:
		return make([]byte, 16)
	case gen.JSON:
		return []byte("null")
	}
	return nil
}

// ofStatement reports whether a refusal names something that the statement has wrong.
func ofStatement(text string) bool {
	t := strings.ToLower(text)
	for _, sign := range []string{"not found", "does not exist", "no such", "ambiguous", "syntax error"} {
		if strings.Contains(t, sign) {
			return true
		}
	}
	line, _ := position(t)
	return line > 0 && strings.HasPrefix(t, "expected ")
}

// position finds the "1:7" that a text ends with.
func position(text string) (line, column int) {
	at := text[strings.LastIndexByte(text, ' ')+1:]
	l, c, _ := strings.Cut(at, ":")
	line, _ = strconv.Atoi(l)
	column, _ = strconv.Atoi(c)
	return line, column
}

// place corrects a position in the first line, which "EXPLAIN " moved.
func place(text string) string {
	line, column := position(text)
	if line != 1 || column <= len(explain) {
		return text
	}
	return fmt.Sprintf("%s1:%d", text[:strings.LastIndexByte(text, ' ')+1], column-len(explain))
}
