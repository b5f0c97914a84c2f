package script

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// token is the kind of a lexical element of an expression: the character itself, or one of these.
type token int

const (
	endToken token = -1 - iota
	integerToken
	doubleToken
	biggestToken // 9223372036854775808, which only a minus sign makes an integer
	booleanToken
	nullToken
	variableToken
	functionToken
	notEqualToken
	lessEqualToken
	greaterEqualToken
	leftToken
	rightToken
	andToken
	orToken
	notToken
	isToken
	isNullToken
	notNullToken
	caseToken
	whenToken
	thenToken
	elseToken
	endKeyToken
)

var keywords = map[string]token{"and": andToken, "or": orToken, "not": notToken, "is": isToken,
	"isnull": isNullToken, "notnull": notNullToken, "case": caseToken, "when": whenToken, "then": thenToken,
	"else": elseToken, "end": endKeyToken, "null": nullToken, "true": booleanToken, "false": booleanToken}

var twoCharacters = map[string]token{"!=": notEqualToken, "<>": notEqualToken, "<=": lessEqualToken,
	">=": greaterEqualToken, "<<": leftToken, ">>": rightToken}

// line reads a backslash command: words, then perhaps an expression. It ends at a newline that no backslash precedes.
type line struct {
	source  string // name of the script
	text    string // the whole script
	start   int    // of the command, at its backslash
	number  int    // of the line that it begins in
	at      int    // behind what has been read
	command string // the command's name, once it is known
	newline bool   // the last thing read was the newline that ends the command
	whole   string // the command's text, once it has been read to its end

	// The last token of an expression.
	token token
	value value
	name  string
}

// continuation returns the length of a backslash and newline at a place; 0 if there is none.
func continuation(text string) int {
	for _, form := range [...]string{"\\\n", "\\\r\n"} {
		if strings.HasPrefix(text, form) {
			return len(form)
		}
	}
	return 0
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

// skipBlank skips blanks and continuations.
func (l *line) skipBlank() {
	for l.at < len(l.text) {
		if n := continuation(l.text[l.at:]); n > 0 {
			l.at += n
		} else if blank(l.text[l.at]) {
			l.at++
		} else {
			return
		}
	}
}

// word reads the next word and says where it begins. ok is false at the end of the command.
func (l *line) word() (word string, at int, ok bool) {
	l.skipBlank()
	if l.at == len(l.text) || l.text[l.at] == '\n' {
		l.newline = l.at < len(l.text)
		if l.newline {
			l.at++
		}
		return "", 0, false
	}
	start := l.at
	for l.at < len(l.text) && !blank(l.text[l.at]) && l.text[l.at] != '\n' {
		l.at++
	}
	word = l.text[start:l.at]
	// A backslash before the newline belongs to the newline, unless it is all that there is.
	if body, ok := strings.CutSuffix(word, `\`); ok && body != "" {
		if n := continuation(l.text[l.at-1:]); n > 0 {
			l.at += n - 1
			return body, start, true
		}
	}
	return word, start, true
}

// finish returns the text of the command as far as it has been read, without the newline.
func (l *line) finish() string {
	l.whole = strings.TrimRight(l.text[l.start:l.at], "\r\n")
	return l.whole
}

// next reads the next token.
func (l *line) next() error {
	l.skipBlank()
	l.newline = false
	rest := l.text[l.at:]
	if rest == "" || rest[0] == '\n' {
		l.newline = rest != ""
		if l.newline {
			l.at++
		}
		l.token = endToken
		return nil
	}
	c := rest[0]
	switch {
	case c == ':' && len(rest) > 1 && (letter(rest[1]) || digit(rest[1])):
		n := 1 + span(rest[1:])
		l.token, l.name = variableToken, rest[1:n]
		l.at += n
		return nil
	case digit(c), c == '.' && len(rest) > 1 && digit(rest[1]):
		return l.numeral(rest)
	case letter(c):
		l.identifier(rest[:span(rest)])
		return nil
	case len(rest) > 1 && twoCharacters[rest[:2]] != 0:
		l.token = twoCharacters[rest[:2]]
		l.at += 2
		return nil
	}
	l.at++
	if !strings.ContainsRune("+-*/%(),<>=|&#~", rune(c)) {
		return l.fault("unexpected character", rest[:1])
	}
	l.token = token(c)
	return nil
}

// span returns the length of the letters and digits that text begins with.
func span(text string) int {
	n := 0
	for n < len(text) && (letter(text[n]) || digit(text[n])) {
		n++
	}
	return n
}

// identifier makes a token of a keyword or a function's name.
func (l *line) identifier(word string) {
	l.at += len(word)
	l.name = word
	t, ok := keywords[strings.ToLower(word)]
	if !ok {
		t = functionToken
	}
	l.token = t
	l.value = boolValue(strings.EqualFold(word, "true"))
}

// numeral reads a number.
func (l *line) numeral(rest string) error {
	digits := func(n int) int {
		for n < len(rest) && digit(rest[n]) {
			n++
		}
		return n
	}
	n := digits(0)
	whole := n
	if n < len(rest) && rest[n] == '.' {
		n = digits(n + 1)
	}
	if n < len(rest) && rest[n]|0x20 == 'e' {
		exponent := n + 1
		if exponent < len(rest) && (rest[exponent] == '+' || rest[exponent] == '-') {
			exponent++
		}
		if end := digits(exponent); end > exponent {
			n = end
		}
	}
	text := rest[:n]
	l.at += n
	if n > whole {
		f, err := parseDouble(text)
		if err != nil {
			return l.fault("double constant overflow", text)
		}
		l.token, l.value = doubleToken, doubleValue(f)
		return nil
	}
	if text == "9223372036854775808" {
		l.token = biggestToken
		return nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return l.fault("bigint constant overflow", text)
	}
	l.token, l.value = integerToken, intValue(i)
	return nil
}

var errRange = errors.New("out of range")

// parseDouble parses what C's strtod accepts in full.
func parseDouble(text string) (float64, error) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if strings.Contains(text, "_") {
		return 0, strconv.ErrSyntax
	}
	lower := strings.ToLower(text)
	if strings.HasPrefix(strings.TrimLeft(lower, "+-"), "0x") && !strings.Contains(lower, "p") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil:
		return 0, strconv.ErrSyntax
	case math.Abs(f) < 0x1p-1022 && strings.ContainsAny(mantissa(lower), "123456789"):
		return 0, errRange // C reports underflow
	}
	return f, nil
}

// mantissa returns a number's text up to its exponent.
func mantissa(text string) string {
	if i := strings.IndexAny(text, "ep"); i >= 0 && !strings.Contains(text, "x") {
		return text[:i]
	}
	return text
}

// fault returns the error at the end of what has been read. As pgbench reads on to the end of the command in order to
// show it, the first fault of the rest takes precedence.
func (l *line) fault(message, more string) error {
	column := l.at - 1 - l.start
	for !l.newline && l.at < len(l.text) {
		if err := l.next(); err != nil {
			return err
		}
	}
	l.finish()
	return l.faultAt(message, more, column)
}

// faultAt returns the error at a column of the command, from 0; −1 if none is to be shown.
func (l *line) faultAt(message, more string, column int) *Error {
	e := &Error{Script: l.source, Line: l.number}
	e.Message = message
	if more != "" {
		e.Message += " (" + more + ")"
	}
	if column >= 0 && l.whole == "" {
		e.Message += " at column " + strconv.Itoa(column+1)
	}
	if l.command != "" {
		e.Message += ` in command "` + l.command + `"`
	}
	if l.whole != "" {
		e.Detail = l.whole + "\n"
		if column >= 0 {
			e.Detail += strings.Repeat(" ", max(column, 0)) + "^ error found here\n"
		}
	}
	if column >= 0 {
		before := l.text[l.start:min(l.start+column, len(l.text))]
		e.Line += strings.Count(before, "\n")
		e.Column = len(before) - strings.LastIndexByte(before, '\n')
		if !strings.Contains(before, "\n") {
			e.Column += l.start - (strings.LastIndexByte(l.text[:l.start], '\n') + 1)
		}
	}
	e.Text = l.source + ":" + strconv.Itoa(l.number) + ": " + e.Message
	return e
}
