package tank

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// jsonPath is a compiled path in JSON, as github.com/PaesslerAG/jsonpath has it: $.items[0].id, $["a b"],
// $.items[?(@.id == $.want)].name, $.list[1:3], $..id.
type jsonPath struct {
	current bool // it begins at @, the element of a filter
	steps   []pathStep
}

// pathStep is a step of a path.
type pathStep struct {
	deep bool       // also in all that is below
	all  bool       // all members or elements
	keys []jsonExpr // members or elements; several are a list
	// from, to and by are the bounds of a range of elements.
	ranged       bool
	from, to, by jsonExpr
	filter       *jsonExpr
}

// many reports whether a step finds a list.
func (s *pathStep) many() bool {
	return s.deep || s.all || s.ranged || s.filter != nil || len(s.keys) != 1
}

// jsonExpr is an expression in a path: a constant, a path, or a comparison.
type jsonExpr struct {
	value any
	path  *jsonPath
	left  *jsonExpr // == right, or != right
	right *jsonExpr
	not   bool
}

// pathParser parses paths.
type pathParser struct {
	text  []rune
	at    int
	depth int
}

// errPathEnds is the fault of a path that is cut off.
var errPathEnds = errors.New("it ends in the middle")

// parseJSONPath compiles a path.
func parseJSONPath(text string) (jsonPath, error) {
	p := &pathParser{text: []rune(text)}
	p.blank()
	if p.peek() != '$' {
		return jsonPath{}, fmt.Errorf("the path %q doesn't begin with $", text)
	}
	p.at++
	steps, err := p.steps()
	if p.blank(); err == nil && p.at < len(p.text) {
		err = p.unexpected()
	}
	if err != nil {
		return jsonPath{}, fmt.Errorf("the path %q: %w", text, err)
	}
	return jsonPath{steps: steps}, nil
}

func (p *pathParser) peek() rune {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *pathParser) blank() {
	for p.at < len(p.text) && unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
}

// take reports whether c is next, after blanks, and skips it.
func (p *pathParser) take(c rune) bool {
	if p.blank(); p.peek() != c || p.at >= len(p.text) {
		return false
	}
	p.at++
	return true
}

func (p *pathParser) unexpected() error {
	if p.at >= len(p.text) {
		return errPathEnds
	}
	rest := string(p.text[p.at:min(len(p.text), p.at+10)])
	return fmt.Errorf("%q isn't expected", rest)
}

// steps parses the steps of a path up to what can't be one.
func (p *pathParser) steps() (all []pathStep, err error) {
	for {
		var s pathStep
		switch {
		case p.take('.'):
			if s.deep = p.peek() == '.'; s.deep {
				p.at++
			}
			switch {
			case s.deep && p.take('['):
				if err = p.bracket(&s); err == nil && s.ranged {
					err = errors.New("a range of elements at any depth isn't available")
				}
			case p.take('*'):
				s.all = true
			default:
				err = p.name(&s)
			}
		case p.take('['):
			err = p.bracket(&s)
		default:
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
}

// name parses the name of a member.
func (p *pathParser) name(s *pathStep) error {
	p.blank()
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune(".[]()=!<>&|,?", p.text[p.at]) && !unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
	if p.at == start {
		if p.at >= len(p.text) {
			return errPathEnds
		}
		return errors.New("a name is empty")
	}
	s.keys = []jsonExpr{{value: string(p.text[start:p.at])}}
	return nil
}

// bracket parses what is in brackets, of which the first one was read.
func (p *pathParser) bracket(s *pathStep) error {
	switch {
	case p.take('*'):
		s.all = true
		return p.close(']')
	case p.take('?'):
		condition, err := p.expression()
		s.filter = &condition
		return errors.Join(err, p.closeUnless(err, ']'))
	}
	bounds := []jsonExpr{{value: 0.0}, {value: float64(math.MaxInt32)}, {value: 1.0}}
	n := 0
	for {
		if p.blank(); p.peek() != ':' && p.peek() != ']' {
			key, err := p.expression()
			if err != nil {
				return err
			}
			if s.keys = append(s.keys, key); n < len(bounds) {
				bounds[n] = key
			}
		} else if !s.ranged && p.peek() == ']' {
			return p.unexpected()
		}
		switch {
		case p.take(']'):
			s.from, s.to, s.by = bounds[0], bounds[1], bounds[2]
			return nil
		case (s.ranged || n == 0) && p.take(':'):
			if s.ranged = true; n == len(bounds)-1 {
				return errors.New("a range has at most three numbers")
			}
		case s.ranged || !p.take(','):
			return p.unexpected()
		}
		n++
	}
}

func (p *pathParser) close(c rune) error { return p.closeUnless(nil, c) }

// closeUnless skips a closing bracket unless there was an error.
func (p *pathParser) closeUnless(err error, c rune) error {
	if err == nil && !p.take(c) {
		return p.unexpected()
	}
	return nil
}

// deepestPath limits how deep expressions contain others.
const deepestPath = 50

// expression parses a value, or a comparison of values.
func (p *pathParser) expression() (jsonExpr, error) {
	if p.depth++; p.depth > deepestPath {
		return jsonExpr{}, errors.New("expressions are nested too deep")
	}
	defer func() { p.depth-- }()
	e, err := p.operand()
	for err == nil {
		p.blank()
		rest := string(p.text[p.at:min(len(p.text), p.at+2)])
		if rest != "==" && rest != "!=" {
			if strings.ContainsRune("<>&|=!+-*/%i", p.peek()) && rest != "" {
				return e, fmt.Errorf("%w; Pandora compares by == and != only", p.unexpected())
			}
			return e, nil
		}
		p.at += 2
		left := e
		e = jsonExpr{left: &left, not: rest == "!="}
		var right jsonExpr
		right, err = p.operand()
		e.right = &right
	}
	return e, err
}

// operand parses a constant, a path, or an expression in parentheses.
func (p *pathParser) operand() (jsonExpr, error) {
	p.blank()
	switch c := p.peek(); {
	case c == '(':
		p.at++
		e, err := p.expression()
		return e, errors.Join(err, p.closeUnless(err, ')'))
	case c == '$' || c == '@':
		p.at++
		steps, err := p.steps()
		return jsonExpr{path: &jsonPath{current: c == '@', steps: steps}}, err
	case c == '"' || c == '\'' || c == '`':
		return p.quoted(c)
	}
	start := p.at
	for p.at < len(p.text) && (unicode.IsLetter(p.text[p.at]) || unicode.IsDigit(p.text[p.at]) ||
		strings.ContainsRune("+-._", p.text[p.at])) {
		p.at++
	}
	word := string(p.text[start:p.at])
	switch word {
	case "true", "false":
		return jsonExpr{value: word == "true"}, nil
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		if p.at = start; word == "" && p.at >= len(p.text) {
			return jsonExpr{}, errPathEnds
		}
		return jsonExpr{}, fmt.Errorf("%w; write a number, a path, true, false or a text in quotes", p.unexpected())
	}
	return jsonExpr{value: n}, nil
}

// quoted parses a text in quotes.
func (p *pathParser) quoted(quote rune) (jsonExpr, error) {
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == quote:
			return jsonExpr{value: b.String()}, nil
		case c == '\\' && quote != '`' && p.at < len(p.text):
			c = p.text[p.at]
			p.at++
			if at := strings.IndexRune("nrt", c); at >= 0 {
				c = rune("\n\r\t"[at])
			}
		}
		b.WriteRune(c)
	}
	return jsonExpr{}, errPathEnds
}

// get returns the value at the path; a list after steps that may find several.
func (p jsonPath) get(root any) (any, error) { return p.from(root, root) }

func (p jsonPath) from(root, v any) (any, error) {
	for i := range p.steps {
		s := &p.steps[i]
		if s.many() {
			found := []any{}
			collect(root, v, p.steps[i:], &found)
			return found, nil
		}
		var err error
		if v, err = s.keys[0].pick(root, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// collect adds what steps find to found. What can't be found is left out.
func collect(root, v any, steps []pathStep, found *[]any) {
	if len(steps) == 0 {
		*found = append(*found, v)
		return
	}
	s, rest := &steps[0], steps[1:]
	if s.deep {
		here := *s
		here.deep = false
		collect(root, v, append([]pathStep{here}, rest...), found)
		for _, e := range elements(v) {
			collect(root, e, steps, found)
		}
		return
	}
	for _, e := range s.find(root, v) {
		collect(root, e, rest, found)
	}
}

// elements returns the members of an object by name, or the elements of a list.
func elements(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		all := make([]any, 0, len(v))
		for _, name := range sortedKeys(v) {
			all = append(all, v[name])
		}
		return all
	}
	return nil
}

// find returns what one step finds in a value.
func (s *pathStep) find(root, v any) (all []any) {
	switch {
	case s.all:
		return elements(v)
	case s.filter != nil:
		for _, e := range elements(v) {
			if s.filter.holds(root, e) {
				all = append(all, e)
			}
		}
		return all
	case s.ranged:
		list, ok := v.([]any)
		from, err1 := s.from.whole(root, v)
		to, err2 := s.to.whole(root, v)
		by, err3 := s.by.whole(root, v)
		if !ok || errors.Join(err1, err2, err3) != nil || from > to {
			return nil
		}
		return slice(list, from, to, by)
	}
	for i := range s.keys {
		if e, err := s.keys[i].pick(root, v); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// slice returns elements of a list. Negative bounds count from its end; a negative step begins there.
func slice(list []any, from, to, by int) (all []any) {
	bound := func(n int) int {
		if n < 0 {
			return max(n+len(list), 0)
		}
		return min(n, len(list))
	}
	from, to = bound(from), bound(to)
	if by == 0 {
		by = 1
	}
	for i := 0; ; i++ {
		at := from + i*by
		if by < 0 {
			at = to - 1 + i*by
		}
		if at < from || at >= to {
			return all
		}
		all = append(all, list[at])
	}
}

// eval returns the value of an expression. current is the element that a filter looks at.
func (e *jsonExpr) eval(root, current any) (any, error) {
	switch {
	case e.left != nil:
		left, err := e.left.eval(root, current)
		if err != nil {
			return nil, err
		}
		right, err := e.right.eval(root, current)
		return reflect.DeepEqual(left, right) != e.not, err
	case e.path != nil && e.path.current:
		return e.path.from(root, current)
	case e.path != nil:
		return e.path.get(root)
	}
	return e.value, nil
}

// holds reports whether a filter takes an element: its value is true, or a number but 0.
func (e *jsonExpr) holds(root, current any) bool {
	v, err := e.eval(root, current)
	if err != nil {
		return false
	}
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return v == "true" || v == "TRUE" || err == nil && n != 0
	}
	return false
}

// whole returns the value of an expression as a whole number.
func (e *jsonExpr) whole(root, current any) (int, error) {
	v, err := e.eval(root, current)
	if err != nil {
		return 0, err
	}
	n, ok := v.(float64)
	if text, is := v.(string); is {
		var err error
		n, err = strconv.ParseFloat(text, 64)
		ok = err == nil
	}
	if !ok || math.Abs(n) > math.MaxInt32 {
		return 0, fmt.Errorf("%v is no number of an element", v)
	}
	return int(n), nil
}

// pick returns the member or element of a value that the expression names. Negative numbers count from the end.
func (e *jsonExpr) pick(root, v any) (any, error) {
	switch v := v.(type) {
	case []any:
		i, err := e.whole(root, v)
		if err != nil {
			return nil, err
		}
		at := i
		if at < 0 {
			at += len(v)
		}
		if at < 0 || at >= len(v) {
			return nil, fmt.Errorf("there is no element %d", i)
		}
		return v[at], nil
	case map[string]any:
		key, err := e.eval(root, v)
		if err != nil {
			return nil, err
		}
		member, ok := v[fmt.Sprint(key)]
		if !ok {
			return nil, fmt.Errorf("there is no member %v", key)
		}
		return member, nil
	}
	return nil, fmt.Errorf("%v of what is neither an object nor a list", e.value)
}
