package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// literal is a statement for the simple query protocol, with parameters inserted as literals.
type literal struct {
	pieces []string // one more than params
	params []int    // zero-based number of the parameter after each piece but the last
}

// newLiteral splits a statement at its parameters $1… outside of quotes and comments. count is the number of
// parameters in the plan.
func newLiteral(text string, count int) (l *literal, why string) {
	l = &literal{}
	piece := ""
	for _, t := range sqltext.Split(text) {
		n, ok := t.Parameter()
		if !ok || n == 0 {
			piece += t.Text
			continue
		}
		if n > count {
			return nil, fmt.Sprintf("the statement has a parameter $%d, the plan gives %d", n, count)
		}
		l.pieces = append(l.pieces, piece)
		l.params = append(l.params, n-1)
		piece = ""
	}
	l.pieces = append(l.pieces, piece)
	return l, ""
}

// append appends the statement with its arguments, without a terminating zero byte.
func (l *literal) append(dst []byte, args []gen.Value) ([]byte, *protocol.Error) {
	for i, p := range l.params {
		dst = append(dst, l.pieces[i]...)
		var err *protocol.Error
		if dst, err = appendLiteral(dst, &args[p]); err != nil {
			return dst, err
		}
	}
	return append(dst, l.pieces[len(l.pieces)-1]...), nil
}

// appendMessage appends a Query message.
func (l *literal) appendMessage(dst []byte, args []gen.Value) ([]byte, *protocol.Error) {
	at := len(dst)
	dst, err := l.append(append(dst, 'Q', 0, 0, 0, 0), args)
	if err != nil {
		return dst[:at], err
	}
	dst = append(dst, 0)
	if len(dst)-at > maxMessage {
		return dst[:at], tooLarge(len(dst) - at)
	}
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-1))
	return dst, nil
}

// appendLiteral appends a value as an SQL literal.
func appendLiteral(dst []byte, v *gen.Value) ([]byte, *protocol.Error) {
	switch v.Kind {
	case gen.Null:
		return append(dst, "NULL"...), nil
	case gen.Bool, gen.Uint:
		return appendText(dst, v), nil
	case gen.Int, gen.Decimal:
		if v.I < 0 { // "-" followed by a negative number would begin a comment
			return append(appendText(append(dst, '('), v), ')'), nil
		}
		return appendText(dst, v), nil
	case gen.Float:
		if !math.IsNaN(v.F) && !math.IsInf(v.F, 0) && v.F >= 0 {
			return appendText(dst, v), nil
		}
	case gen.Bytes:
		dst = append(dst, `'\x`...)
		return append(hex.AppendEncode(dst, v.B), '\''), nil
	case gen.Number:
		return append(append(append(dst, '('), v.B...), ')'), nil
	case gen.String, gen.JSON:
		return appendQuoted(dst, v.B)
	}
	dst = append(dst, '\'')
	return append(appendText(dst, v), '\''), nil
}

// appendQuoted appends a quoted string that means the same under any setting of standard_conforming_strings.
func appendQuoted(dst, b []byte) ([]byte, *protocol.Error) {
	escape := false
	for _, c := range b {
		if c == 0 {
			return dst, protocol.Bad("a text with a zero byte can't be sent by the simple protocol")
		}
		escape = escape || c == '\\'
	}
	if escape {
		dst = append(dst, " E"...)
	}
	dst = append(dst, '\'')
	for _, c := range b {
		if c == '\'' || c == '\\' {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '\''), nil
}
