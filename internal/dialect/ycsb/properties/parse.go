// Package properties parses Java property files like YCSB and go-ycsb: comments with # or !, keys that end at =, : or
// white space, continuation lines, escapes, and references of the form ${key}. White space at the end of a value is
// removed, and a comment there is refused; both are part of the value in Java. (The format: java.util.Properties.load;
// references as in github.com/magiconair/properties.)
package properties

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"brunt/internal/base/secret"
)

// Pair is one property of a file.
type Pair struct {
	Key, Value string
	Line       int  // line number in the file, from 1
	Blanks     bool // white space at the end of the value was removed
}

// Parse returns the properties of a file in order, without replacing references. name is the file's name in errors,
// which have the form file:line: text.
func Parse(name string, data []byte) ([]Pair, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: the file isn't UTF-8; convert it", name)
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	var pairs []Pair
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) {
			line = line[:len(line)-1]
			if i++; i == len(lines) {
				break
			}
			line += strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := split(line)
		p := Pair{Line: first}
		var err error
		if p.Key, err = unescape(key); err == nil && !secret.Name(p.Key) {
			value, p.Blanks = trimEnd(value)
			err = commented(p.Key, value)
		}
		if err == nil {
			p.Value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, first, err)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// trimEnd removes white space at the end of a value, unless it is escaped. Java keeps it, so that YCSB takes "hashed "
// for another word than "hashed", which nobody means.
func trimEnd(value string) (trimmed string, blanks bool) {
	trimmed = strings.TrimRight(value, " \t\f")
	if blanks = trimmed != value; blanks && continues(trimmed) {
		trimmed = value[:len(trimmed)+1]
	}
	return trimmed, trimmed != value
}

// commented returns an error for a value that seems to end with a comment.
func commented(key, value string) error {
	for i := 1; i < len(value); i++ {
		if value[i] == '#' && strings.IndexByte(" \t\f", value[i-1]) >= 0 {
			return fmt.Errorf("property %s: %q is part of its value, since a comment has a line of its own in a property file; "+
				`move it, or write \# if it belongs to the value`, key, value[i:])
		}
	}
	return nil
}

// continues reports whether a line ends with an odd number of backslashes.
func continues(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

// split splits a line at the first unescaped separator: white space, = or :. White space around = and : is removed.
func split(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte(" \t\f=:", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return line[:end], rest
}

// unescape replaces \t, \n, \r, \f and \uXXXX. Before any other character, the backslash is removed.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf(`\u%s isn't followed by four hexadecimal digits`, s[i+1:])
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u%s isn't followed by four hexadecimal digits`, s[i+1:i+5])
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
