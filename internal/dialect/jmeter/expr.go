package jmeter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// flavour is the language of an expression. Only the subset that both have is translated: assignments, conditions,
// loops, operators, and the methods in methods.go.
type flavour uint8

const (
	groovy flavour = iota
	jexl           // Apache JEXL, and JavaScript in conditions: texts that are numbers compare as numbers
)

// code is a compiled script.
type code struct {
	run     stmt
	flavour flavour
}

type (
	eval func(x *scope) (any, error)
	stmt func(x *scope) (flow, error)
)

// flow says how a statement ended.
type flow uint8

const (
	goOn flow = iota
	returned
	broke
	continued
)

// scope is what a script sees while it runs.
type scope struct {
	t       *thread
	result  *result // prev, SampleResult
	verdict *assertResult
	locals  map[string]any
	value   any // of the last expression, or returned
	steps   int
}

const mostSteps = 5_000_000

// token is a word of a script.
type token struct {
	kind    byte // 'i' identifier, 'n' number, 's' text, 'g' text with ${…}, 'p' operator, 0 end
	text    string
	line    int
	newline bool // a line ends before it
}

// scan splits a script into tokens.
func scan(src string) ([]token, error) {
	var out []token
	line, newline := 1, false
	add := func(kind byte, text string) {
		out = append(out, token{kind, text, line, newline})
		newline = false
	}
	for i := 0; i < len(src); {
		c := src[i]
		r, size := utf8.DecodeRuneInString(src[i:])
		switch {
		case c == '\n':
			line, newline = line+1, true
			i++
		case unicode.IsSpace(r):
			i += size
		case strings.HasPrefix(src[i:], "//") || c == '#' && i == 0:
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return nil, fmt.Errorf("line %d: a comment isn't closed", line)
			}
			line += strings.Count(src[i:i+2+end], "\n")
			i += end + 4
		case unicode.IsLetter(r) || c == '_' || c == '$':
			n := i
			for n < len(src) {
				r, size := utf8.DecodeRuneInString(src[n:])
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' {
					break
				}
				n += size
			}
			add('i', src[i:n])
			i = n
		case c >= '0' && c <= '9':
			n := i
			for n < len(src) && (src[n] >= '0' && src[n] <= '9' || src[n] == '.' && n+1 < len(src) &&
				src[n+1] >= '0' && src[n+1] <= '9' || src[n] == '_') {
				n++
			}
			add('n', strings.ReplaceAll(src[i:n], "_", ""))
			for n < len(src) && strings.IndexByte("LlDdFfGg", src[n]) >= 0 {
				n++
			}
			i = n
		case c == '"' || c == '\'':
			text, n, kind, err := quoted(src[i:], line)
			if err != nil {
				return nil, err
			}
			add(kind, text)
			line += strings.Count(src[i:i+n], "\n")
			i += n
		default:
			op := operator(src[i:])
			if op == "" {
				return nil, fmt.Errorf("line %d: %q isn't translated", line, string(r))
			}
			add('p', op)
			i += len(op)
		}
	}
	out = append(out, token{line: line, newline: true})
	return out, nil
}

func operator(s string) string {
	for _, op := range []string{"==~", "<=>", "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=",
		"*=", "/=", "=~", "!~",
		"?:", "?.", "->", "..", "**"} {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	if strings.IndexByte("+-*/%=<>!?:.,;()[]{}&|", s[0]) >= 0 {
		return s[:1]
	}
	return ""
}

// quoted reads a text in quotes; three quotes enclose lines.
func quoted(s string, line int) (text string, n int, kind byte, err error) {
	quote := s[:1]
	if strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}
	kind = 's'
	var b strings.Builder
	for i := len(quote); i < len(s); {
		if strings.HasPrefix(s[i:], quote) {
			return b.String(), i + len(quote), kind, nil
		}
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			if to, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", '$': "\x00$"}[s[i+1]]; ok {
				b.WriteString(to)
			} else if s[i+1] == 'u' && i+6 <= len(s) {
				v, err := strconv.ParseUint(s[i+2:i+6], 16, 32)
				if err != nil {
					return "", 0, 0, fmt.Errorf("line %d: %q isn't a character", line, s[i:i+6])
				}
				b.WriteRune(rune(v))
				i += 4
			} else {
				b.WriteByte(s[i+1])
			}
			i += 2
			continue
		}
		if c == '$' && quote[0] == '"' {
			kind = 'g'
		}
		if c == '\n' && len(quote) == 1 {
			break
		}
		b.WriteByte(c)
		i++
	}
	return "", 0, 0, fmt.Errorf("line %d: a text isn't closed", line)
}

// parser compiles a script.
type parser struct {
	tokens  []token
	at      int
	flavour flavour
	known   map[string]bool // variables
	depth   int
}

// compileCode compiles a script. Errors say the line and what isn't translated.
func compileCode(src string, f flavour) (*code, error) {
	tokens, err := scan(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, flavour: f, known: map[string]bool{}}
	var all []stmt
	for p.peek().kind != 0 {
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return &code{run: sequence(all), flavour: f}, nil
}

func sequence(all []stmt) stmt {
	return func(x *scope) (flow, error) {
		for _, s := range all {
			if x.steps++; x.steps > mostSteps {
				return goOn, fmt.Errorf("the script has run %d steps without an end", mostSteps)
			}
			if f, err := s(x); err != nil || f != goOn {
				return f, err
			}
		}
		return goOn, nil
	}
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != 0 {
		p.at++
	}
	return t
}

// is reports whether the next token is an operator or a word.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == 'p' || t.kind == 'i') && t.text == text
}

func (p *parser) take(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(text string) error {
	if !p.take(text) {
		return p.wrong("%q is expected before %s", text, p.peek().shown())
	}
	return nil
}

func (t token) shown() string {
	if t.kind == 0 {
		return "the end"
	}
	return strconv.Quote(t.text)
}

func (p *parser) wrong(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.peek().line, fmt.Sprintf(format, args...))
}

var primitive = map[string]bool{"def": true, "var": true, "let": true, "const": true, "int": true, "long": true,
	"double": true, "float": true,
	"boolean": true, "final": true, "short": true, "byte": true, "char": true}

const mostDeep = 200

// statement compiles a statement.
func (p *parser) statement() (stmt, error) {
	if p.depth++; p.depth > mostDeep {
		return nil, p.wrong("statements are nested too deeply")
	}
	defer func() { p.depth-- }()
	for p.take(";") {
		if p.peek().kind == 0 {
			return sequence(nil), nil
		}
	}
	t := p.peek()
	if t.kind == 'p' && t.text == "{" {
		return p.block()
	}
	if t.kind == 'i' {
		switch t.text {
		case "import":
			for p.next(); p.peek().kind != 0 && !p.peek().newline && !p.is(";"); p.next() {
			}
			p.take(";")
			return sequence(nil), nil
		case "if":
			return p.conditional()
		case "for":
			return p.loop()
		case "while":
			return p.whileLoop()
		case "return":
			return p.returns()
		case "break", "continue":
			p.next()
			f := map[string]flow{"break": broke, "continue": continued}[t.text]
			return func(*scope) (flow, error) { return f, nil }, nil
		case "try", "class", "switch", "throw", "do", "synchronized", "function":
			return nil, p.wrong("%q isn't translated", t.text)
		}
		if p.declares() {
			return p.declaration()
		}
	}
	return p.simple()
}

func (p *parser) block() (stmt, error) {
	if err := p.want("{"); err != nil {
		return nil, err
	}
	var all []stmt
	for !p.is("}") {
		if p.peek().kind == 0 {
			return nil, p.wrong("a block isn't closed")
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	p.next()
	return sequence(all), nil
}

// declares reports whether a declaration follows: def x, String x, List<String> x.
func (p *parser) declares() bool {
	i := p.at
	if primitive[p.tokens[i].text] {
		return true
	}
	first, _ := utf8.DecodeRuneInString(p.tokens[i].text)
	if !unicode.IsUpper(first) {
		return false
	}
	i++
	if p.tokens[i].text == "<" && p.tokens[i].kind == 'p' {
		for i < len(p.tokens) && p.tokens[i].text != ">" {
			i++
		}
		i++
	}
	if i+1 < len(p.tokens) && p.tokens[i].text == "[" && p.tokens[i+1].text == "]" {
		i += 2
	}
	return i+1 < len(p.tokens) && p.tokens[i].kind == 'i' && !p.tokens[i].newline
}

func (p *parser) declaration() (stmt, error) {
	kind := ""
	for p.tokens[p.at+1].kind != 'i' || p.tokens[p.at+1].newline {
		if kind == "" {
			kind = p.peek().text
		}
		if p.next().kind == 0 {
			return nil, p.wrong("a declaration has no name")
		}
		if p.tokens[p.at].kind == 0 {
			return nil, p.wrong("a declaration has no name")
		}
	}
	kind = p.next().text
	if p.tokens[p.at+1].kind == 'i' && !p.tokens[p.at+1].newline { // final int x
		kind = p.next().text
	}
	name := p.next()
	p.known[name.text] = true
	if !p.take("=") {
		p.take(";")
		return func(x *scope) (flow, error) { x.locals[name.text] = nil; return goOn, nil }, nil
	}
	value, err := p.expression()
	if err != nil {
		return nil, err
	}
	p.take(";")
	return func(x *scope) (flow, error) {
		v, err := value(x)
		if err != nil {
			return goOn, err
		}
		switch kind {
		case "int", "long", "Integer", "Long":
			if f, ok := v.(float64); ok {
				v = int64(f)
			}
		case "String":
			if v != nil {
				v = show(v)
			}
		}
		x.locals[name.text] = v
		return goOn, nil
	}, nil
}

func (p *parser) conditional() (stmt, error) {
	p.next()
	cond, err := p.parenthesized()
	if err != nil {
		return nil, err
	}
	then, err := p.statement()
	if err != nil {
		return nil, err
	}
	other := sequence(nil)
	p.take(";")
	if p.take("else") {
		if other, err = p.statement(); err != nil {
			return nil, err
		}
	}
	return func(x *scope) (flow, error) {
		v, err := cond(x)
		if err != nil {
			return goOn, err
		}
		if truth(v) {
			return then(x)
		}
		return other(x)
	}, nil
}

func (p *parser) parenthesized() (eval, error) {
	if err := p.want("("); err != nil {
		return nil, err
	}
	v, err := p.expression()
	if err != nil {
		return nil, err
	}
	return v, p.want(")")
}

func (p *parser) whileLoop() (stmt, error) {
	p.next()
	cond, err := p.parenthesized()
	if err != nil {
		return nil, err
	}
	body, err := p.statement()
	if err != nil {
		return nil, err
	}
	return repeat(cond, body, nil), nil
}

func repeat(cond eval, body, after stmt) stmt {
	return func(x *scope) (flow, error) {
		for {
			if x.steps++; x.steps > mostSteps {
				return goOn, fmt.Errorf("the script has run %d steps without an end", mostSteps)
			}
			v, err := cond(x)
			if err != nil || !truth(v) {
				return goOn, err
			}
			f, err := body(x)
			if err != nil || f == returned {
				return f, err
			}
			if f == broke {
				return goOn, nil
			}
			if after != nil {
				if _, err := after(x); err != nil {
					return goOn, err
				}
			}
		}
	}
}

// loop compiles for (x in list) and for (int i = 0; i < n; i++).
func (p *parser) loop() (stmt, error) {
	p.next()
	if err := p.want("("); err != nil {
		return nil, err
	}
	if name := p.eachName(); name != "" {
		p.known[name] = true
		list, err := p.expression()
		if err == nil {
			err = p.want(")")
		}
		if err != nil {
			return nil, err
		}
		body, err := p.statement()
		if err != nil {
			return nil, err
		}
		return each(name, list, body), nil
	}
	begin, err := p.statement()
	if err != nil {
		return nil, err
	}
	cond, err := p.expression()
	if err == nil {
		err = p.want(";")
	}
	if err != nil {
		return nil, err
	}
	step, err := p.simple()
	if err == nil {
		err = p.want(")")
	}
	if err != nil {
		return nil, err
	}
	body, err := p.statement()
	if err != nil {
		return nil, err
	}
	again := repeat(cond, body, step)
	return func(x *scope) (flow, error) {
		if _, err := begin(x); err != nil {
			return goOn, err
		}
		return again(x)
	}, nil
}

// eachName reads "def x in" or "x :", and returns the name; "" if it is another kind of loop.
func (p *parser) eachName() string {
	for n := 1; n <= 2 && p.at+n < len(p.tokens); n++ {
		if after := p.tokens[p.at+n]; p.tokens[p.at+n-1].kind == 'i' && (after.text == "in" || after.text == ":") {
			name := p.tokens[p.at+n-1].text
			p.at += n + 1
			return name
		}
	}
	return ""
}

func each(name string, list eval, body stmt) stmt {
	return func(x *scope) (flow, error) {
		v, err := list(x)
		if err != nil {
			return goOn, err
		}
		for _, item := range items(v) {
			x.locals[name] = item
			f, err := body(x)
			if err != nil || f == returned {
				return f, err
			}
			if f == broke {
				break
			}
		}
		return goOn, nil
	}
}

func (p *parser) returns() (stmt, error) {
	p.next()
	if p.peek().newline || p.is(";") || p.is("}") {
		p.take(";")
		return func(x *scope) (flow, error) { x.value = nil; return returned, nil }, nil
	}
	v, err := p.expression()
	if err != nil {
		return nil, err
	}
	p.take(";")
	return func(x *scope) (flow, error) {
		var err error // of this thread
		x.value, err = v(x)
		return returned, err
	}, nil
}

// simple compiles an assignment or an expression.
func (p *parser) simple() (stmt, error) {
	if p.peek().kind == 'i' && p.tokens[p.at+1].kind == 'p' {
		name, op := p.peek().text, p.tokens[p.at+1].text
		switch op {
		case "=", "+=", "-=", "*=", "/=", "++", "--":
			return p.assignment(name, op)
		}
	}
	v, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); !t.newline && t.kind != 0 && !p.is(";") && !p.is("}") && !p.is(")") {
		return nil, p.wrong("%s isn't translated here", t.shown())
	}
	p.take(";")
	return func(x *scope) (flow, error) {
		var err error
		x.value, err = v(x)
		return goOn, err
	}, nil
}

func (p *parser) assignment(name, op string) (stmt, error) {
	p.at += 2
	if op != "=" && !p.known[name] {
		return nil, p.wrong("the variable %q is unknown", name)
	}
	p.known[name] = true
	value := eval(func(*scope) (any, error) { return int64(1), nil })
	if op != "++" && op != "--" {
		var err error
		if value, err = p.expression(); err != nil {
			return nil, err
		}
	}
	p.take(";")
	f := p.flavour
	return func(x *scope) (flow, error) {
		v, err := value(x)
		if err == nil && op != "=" {
			v, err = binary(op[:1], x.locals[name], v, f)
		}
		x.locals[name] = v
		return goOn, err
	}, nil
}
