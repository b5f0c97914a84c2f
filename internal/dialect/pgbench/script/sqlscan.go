package script

import "strings"

// scanner splits a script into SQL statements and backslash commands, as psql's scanner does: a statement ends at a
// semicolon that isn't within quotes, comments, parentheses or the body of a function in standard SQL, or at a
// backslash.
type scanner struct {
	text string
	at   int
	out  strings.Builder // the statement

	parentheses int
	// To recognize CREATE [OR REPLACE] FUNCTION or PROCEDURE, whose body may be BEGIN … END with statements.
	words  int
	first  [4]byte // first letters of the first four words, if they are of these
	blocks int
	parts  int  // statements that the text has been divided into by \;
	filled bool // the current part has more than blanks and comments
}

// ending is why a statement ended.
type ending uint8

const (
	atEnd ending = iota
	atSemicolon
	atBackslash
)

// emit appends n bytes to the statement and reads over them.
func (s *scanner) emit(n int) {
	s.out.WriteString(s.text[s.at : s.at+n])
	s.at += n
	s.filled = true
}

// space reads over blanks and comments. They are dropped before the statement.
func (s *scanner) space(n int) {
	if s.out.Len() > 0 {
		s.out.WriteString(s.text[s.at : s.at+n])
	}
	s.at += n
}

// statement reads up to the end of a statement.
func (s *scanner) statement() (text string, parts int, end ending) {
	s.out.Reset()
	s.parts, s.filled = 0, false
	end = s.scan()
	if s.filled {
		s.parts++
	}
	return s.out.String(), s.parts, end
}

func (s *scanner) scan() ending {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "--"):
			s.space(lineLength(rest))
		case strings.HasPrefix(rest, "/*"):
			filled := s.filled
			s.emit(commentLength(rest))
			s.filled = filled
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			s.space(1)
		case c == '\'':
			s.quoted(0, false)
		case c == '"':
			s.emit(delimitedLength(rest))
		case c == '$':
			s.emit(dollarLength(rest))
		case c == ':':
			s.colon(rest)
		case c == '(':
			s.parentheses++
			s.emit(1)
		case c == ')':
			s.parentheses = max(s.parentheses-1, 0)
			s.emit(1)
		case c == ';':
			s.out.WriteByte(c)
			s.at++
			if s.parentheses == 0 && s.blocks == 0 {
				s.words = 0
				return atSemicolon
			}
			s.filled = true
		case c == '\\':
			if !s.forced(rest) {
				return atBackslash
			}
		case letter(c):
			s.identifier(rest)
		default:
			s.emit(1)
		}
	}
	return atEnd
}

// forced reads \; or \:, which stand for the character. If the backslash begins a command, it is only read over.
func (s *scanner) forced(rest string) bool {
	s.at++
	if len(rest) < 2 || rest[1] != ';' && rest[1] != ':' {
		return false
	}
	s.at++
	s.out.WriteByte(rest[1])
	if rest[1] == ':' {
		s.filled = true
		return true
	}
	s.words = 0
	if s.filled {
		s.parts++
	}
	s.filled = false
	return true
}

// colon reads a colon. :{?name} says whether a variable is defined in psql; pgbench always answers no.
func (s *scanner) colon(rest string) {
	if strings.HasPrefix(rest, "::") {
		s.emit(2)
		return
	}
	if name, ok := strings.CutPrefix(rest, ":{?"); ok {
		if n := span(name); n > 0 && n < len(name) && name[n] == '}' {
			s.out.WriteString("FALSE")
			s.at += len(":{?}") + n
			s.filled = true
			return
		}
	}
	s.emit(1)
}

// identifier reads a word, or a quoted string with a prefix.
func (s *scanner) identifier(rest string) {
	switch c := rest[0] | 0x20; {
	case len(rest) > 1 && rest[1] == '\'' && (c == 'e' || c == 'b' || c == 'x' || c == 'n'):
		s.quoted(1, c == 'e')
		return
	case c == 'u' && strings.HasPrefix(rest[1:], "&'"):
		s.quoted(2, false)
		return
	case c == 'u' && strings.HasPrefix(rest[1:], `&"`):
		s.emit(2)
		s.emit(delimitedLength(rest[2:]))
		return
	}
	n := 1
	for n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '$') {
		n++
	}
	s.note(strings.ToLower(rest[:n]))
	s.emit(n)
}

// note keeps track of the body of functions.
func (s *scanner) note(word string) {
	if s.words == 0 {
		s.first = [4]byte{}
	}
	switch word {
	case "create", "function", "procedure", "or", "replace":
		if s.words < len(s.first) {
			s.first[s.words] = word[0]
		}
	}
	s.words++
	routine := func(c byte) bool { return c == 'f' || c == 'p' }
	f := s.first
	if f[0] != 'c' || s.parentheses > 0 || !routine(f[1]) && (f[1] != 'o' || f[2] != 'r' || !routine(f[3])) {
		return
	}
	switch {
	case word == "begin", word == "case" && s.blocks > 0:
		s.blocks++
	case word == "end":
		s.blocks = max(s.blocks-1, 0)
	}
}

// quoted reads a string that begins after prefix bytes, with the strings that continue it.
func (s *scanner) quoted(prefix int, escapes bool) {
	s.emit(prefix + 1)
	for {
		n := 0
		rest := s.text[s.at:]
		for n < len(rest) && rest[n] != '\'' {
			if escapes && rest[n] == '\\' && n+1 < len(rest) {
				n++
			}
			n++
		}
		if n == len(rest) {
			s.emit(n)
			return
		}
		s.emit(n + 1)
		if strings.HasPrefix(s.text[s.at:], "'") {
			s.emit(1)
			continue
		}
		n = continuationLength(s.text[s.at:])
		if n == 0 {
			return
		}
		s.emit(n)
	}
}

// continuationLength returns the length of the blanks with a newline, and the quote, that continue a string; 0 if it
// isn't continued.
func continuationLength(rest string) int {
	newline := false
	for n := 0; n < len(rest); {
		switch c := rest[n]; {
		case c == '\n' || c == '\r':
			newline = true
			n++
		case c == ' ' || c == '\t' || c == '\f' || c == '\v':
			n++
		case strings.HasPrefix(rest[n:], "--"):
			n += lineLength(rest[n:])
		case c == '\'' && newline:
			return n + 1
		default:
			return 0
		}
	}
	return 0
}

// lineLength returns the length of the rest of a line, without its newline.
func lineLength(rest string) int {
	if i := strings.IndexAny(rest, "\n\r"); i >= 0 {
		return i
	}
	return len(rest)
}

// commentLength returns the length of a comment, within which others nest.
func commentLength(rest string) int {
	depth := 0
	for n := 0; n < len(rest); {
		switch {
		case strings.HasPrefix(rest[n:], "/*"):
			depth++
			n += 2
		case strings.HasPrefix(rest[n:], "*/"):
			depth--
			n += 2
			if depth == 0 {
				return n
			}
		default:
			n++
		}
	}
	return len(rest)
}

// delimitedLength returns the length of an identifier in double quotes. Two of them within it continue it.
func delimitedLength(rest string) int {
	end := strings.IndexByte(rest[1:], '"')
	if end < 0 {
		return len(rest)
	}
	return end + 2
}

// dollarLength returns the length of a string in dollar quotes; 1 if the dollar sign doesn't begin one.
func dollarLength(rest string) int {
	n := 1
	if n < len(rest) && letter(rest[n]) {
		n += span(rest[n:])
	}
	if n == len(rest) || rest[n] != '$' {
		return 1
	}
	tag := rest[:n+1]
	end := strings.Index(rest[n+1:], tag)
	if end < 0 {
		return len(rest)
	}
	return n + 1 + end + len(tag)
}
