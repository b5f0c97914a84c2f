package ghz

import (
	"fmt"
	"strconv"
	"strings"
)

// parseTOML parses what config files use of TOML 1.0 (toml.io/en/v1.0.0): tables, dotted and quoted keys, strings
// (basic, literal and of several lines), integers, floats, booleans, arrays and inline tables. Dates and arrays of
// tables aren't used.
func parseTOML(text []byte) (all map[string]any, err error) {
	p := &tomlParser{text: strings.ReplaceAll(string(text), "\r\n", "\n")}
	all = map[string]any{}
	table := all
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(tomlFault)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("line %d: %s", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"), string(fault))
		}
	}()
	for p.blank(true); p.at < len(p.text); p.blank(true) {
		if p.take("[[") {
			p.fail("arrays of tables aren't used in config files")
		}
		if p.take("[") {
			p.blank(false)
			table = p.inside(all, p.keys())
			p.need("]")
		} else {
			p.assign(table)
		}
		p.blank(false)
		if p.at < len(p.text) && p.text[p.at] != '\n' {
			p.fail("one key a line")
		}
	}
	return all, nil
}

// tomlFault is what parseTOML panics with.
type tomlFault string

type tomlParser struct {
	text  string
	at    int
	depth int
}

// mostTOMLDepth limits how deep values may be in each other.
const mostTOMLDepth = 100

func (p *tomlParser) fail(format string, args ...any) { panic(tomlFault(fmt.Sprintf(format, args...))) }

func (p *tomlParser) take(word string) bool {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

func (p *tomlParser) need(word string) {
	if !p.take(word) {
		p.fail("%q is missing", word)
	}
}

// blank skips blanks and comments, and the ends of lines if lines is set.
func (p *tomlParser) blank(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' && lines:
			p.at++
		case c == '#':
			end := strings.IndexByte(p.text[p.at:], '\n')
			if end < 0 {
				end = len(p.text) - p.at
			}
			p.at += end
		default:
			return
		}
	}
}

// keys reads a dotted key.
func (p *tomlParser) keys() (keys []string) {
	for {
		p.blank(false)
		switch {
		case p.take(`"`):
			keys = append(keys, p.basic())
		case p.take("'"):
			keys = append(keys, p.until("'"))
		default:
			from := p.at
			for p.at < len(p.text) && strings.IndexByte(bareKey, p.text[p.at]) >= 0 {
				p.at++
			}
			if p.at == from {
				p.fail("a key is missing")
			}
			keys = append(keys, p.text[from:p.at])
		}
		if p.blank(false); !p.take(".") {
			return keys
		}
	}
}

const bareKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// inside returns the table that keys name in another.
func (p *tomlParser) inside(table map[string]any, keys []string) map[string]any {
	for _, k := range keys {
		next, ok := table[k].(map[string]any)
		if !ok && table[k] != nil {
			p.fail("%s is no table", k)
		}
		if !ok {
			next = map[string]any{}
			table[k] = next
		}
		table = next
	}
	return table
}

func (p *tomlParser) assign(table map[string]any) {
	keys := p.keys()
	p.need("=")
	p.blank(false)
	last := len(keys) - 1
	table = p.inside(table, keys[:last])
	if _, given := table[keys[last]]; given {
		p.fail("%s is given twice", keys[last])
	}
	table[keys[last]] = p.value()
}

func (p *tomlParser) value() any {
	if p.depth++; p.depth > mostTOMLDepth {
		p.fail("values are too deep in each other")
	}
	defer func() { p.depth-- }()
	switch {
	case p.take(`"""`):
		text := p.until(`"""`)
		inner := &tomlParser{text: strings.TrimPrefix(text, "\n") + `"`}
		return inner.basic()
	case p.take("'''"):
		return strings.TrimPrefix(p.until("'''"), "\n")
	case p.take(`"`):
		return p.basic()
	case p.take("'"):
		return p.until("'")
	case p.take("["):
		return p.array()
	case p.take("{"):
		return p.inline()
	case p.take("true"):
		return true
	case p.take("false"):
		return false
	}
	return p.number()
}

func (p *tomlParser) array() any {
	list := []any{}
	for {
		if p.blank(true); p.take("]") {
			return list
		}
		list = append(list, p.value())
		if p.blank(true); !p.take(",") {
			p.need("]")
			return list
		}
	}
}

func (p *tomlParser) inline() any {
	table := map[string]any{}
	if p.blank(false); p.take("}") {
		return table
	}
	for {
		p.assign(table)
		if p.blank(false); !p.take(",") {
			p.need("}")
			return table
		}
	}
}

func (p *tomlParser) number() any {
	from := p.at
	for p.at < len(p.text) && strings.IndexByte("+-_.0123456789abcdefxonilEABCDF", p.text[p.at]) >= 0 {
		p.at++
	}
	text := strings.ReplaceAll(p.text[from:p.at], "_", "")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "+-infa") == "" {
		p.fail("%q is no value; texts are in quotes", text)
	}
	return f
}

// until returns the text before a word, which it skips.
func (p *tomlParser) until(word string) string {
	end := strings.Index(p.text[p.at:], word)
	if end < 0 || len(word) == 1 && strings.Contains(p.text[p.at:p.at+end], "\n") {
		p.fail("a text doesn't end with %s", word)
	}
	from := p.at
	p.at += end + len(word)
	return p.text[from : from+end]
}

// basic reads a string with escapes to its quote.
func (p *tomlParser) basic() string {
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch c {
		case '"':
			return b.String()
		case '\\':
			p.escape(&b)
		default:
			b.WriteByte(c)
		}
	}
	p.fail("a text doesn't end with \"")
	return ""
}

func (p *tomlParser) escape(b *strings.Builder) {
	if p.at == len(p.text) {
		p.fail("a text ends with \\")
	}
	c := p.text[p.at]
	p.at++
	if at := strings.IndexByte(`btnfr"\`, c); at >= 0 {
		b.WriteByte("\b\t\n\f\r\"\\"[at])
		return
	}
	digits := map[byte]int{'u': 4, 'U': 8}[c]
	switch {
	case c == '\n':
		p.blank(true)
	case digits > 0 && p.at+digits <= len(p.text):
		n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 31)
		if err != nil {
			p.fail("\\%c isn't followed by %d hexadecimal digits", c, digits)
		}
		p.at += digits
		b.WriteRune(rune(n))
	default:
		p.fail("\\%c isn't an escape", c)
	}
}
