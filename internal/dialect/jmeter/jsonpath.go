package jmeter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// jsonStep is a step of a JSON path as Jayway's library has it (github.com/json-path/JsonPath).
type jsonStep struct {
	deep   bool // ..
	names  []string
	index  []int
	slice  []*int // from, to
	any    bool   // *
	filter []jsonFilter
	length bool // length()
}

// jsonFilter is a condition of [?(@.a == 1 && …)]; all must hold. Alternatives are separated by or.
type jsonFilter struct {
	path  []jsonStep
	op    string // "": it is there
	value any
	not   bool
	or    bool // it begins an alternative
}

// parseJSONPath compiles a path.
func parseJSONPath(s string) ([]jsonStep, error) {
	p := &pathParser{s: strings.TrimSpace(s)}
	if !strings.HasPrefix(p.s, "$") && !strings.HasPrefix(p.s, "@") {
		p.s = "$." + p.s
	}
	p.at = 1
	steps, err := p.steps()
	if err == nil && p.at < len(p.s) {
		err = fmt.Errorf("%q isn't expected", p.s[p.at:])
	}
	if err != nil {
		return nil, fmt.Errorf("the JSON path %q: %w", cut(s), err)
	}
	return steps, nil
}

type pathParser struct {
	s     string
	at    int
	depth int
}

func (p *pathParser) steps() (out []jsonStep, err error) {
	for p.at < len(p.s) {
		var step jsonStep
		switch {
		case strings.HasPrefix(p.s[p.at:], ".."):
			step.deep = true
			p.at += 2
			if p.at < len(p.s) && p.s[p.at] == '[' {
				err = p.bracket(&step)
			} else {
				err = p.name(&step)
			}
		case p.s[p.at] == '.':
			p.at++
			err = p.name(&step)
		case p.s[p.at] == '[':
			err = p.bracket(&step)
		default:
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, step)
	}
	return out, nil
}

func (p *pathParser) name(step *jsonStep) error {
	from := p.at
	for p.at < len(p.s) && strings.IndexByte(".[]()=<>!&| ", p.s[p.at]) < 0 {
		p.at++
	}
	name := p.s[from:p.at]
	switch {
	case strings.HasPrefix(p.s[p.at:], "()"):
		if name != "length" && name != "size" {
			return fmt.Errorf("the function %s() isn't available", name)
		}
		p.at += 2
		step.length = true
	case name == "*":
		step.any = true
	case name == "":
		return fmt.Errorf("a name is missing at character %d", from+1)
	default:
		step.names = []string{name}
	}
	return nil
}

func (p *pathParser) bracket(step *jsonStep) error {
	p.at++
	p.blank()
	if strings.HasPrefix(p.s[p.at:], "?") {
		return p.filterIn(step)
	}
	for p.at < len(p.s) {
		p.blank()
		switch c := p.peek(); {
		case c == '\'' || c == '"':
			v, err := p.quoted()
			if err != nil {
				return err
			}
			step.names = append(step.names, v)
		case c == '*':
			step.any = true
			p.at++
		case c == '-' || c == ':' || c >= '0' && c <= '9':
			if err := p.numbers(step); err != nil {
				return err
			}
		default:
			return fmt.Errorf("character %d isn't expected in brackets", p.at+1)
		}
		p.blank()
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return nil
		default:
			return fmt.Errorf("a bracket isn't closed")
		}
	}
	return fmt.Errorf("a bracket isn't closed")
}

func (p *pathParser) peek() byte {
	if p.at < len(p.s) {
		return p.s[p.at]
	}
	return 0
}

func (p *pathParser) blank() {
	for p.peek() == ' ' {
		p.at++
	}
}

func (p *pathParser) quoted() (string, error) {
	quote := p.s[p.at]
	var b strings.Builder
	for i := p.at + 1; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '\\' && i+1 < len(p.s):
			i++
			b.WriteByte(p.s[i])
		case c == quote:
			p.at = i + 1
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("a text isn't closed")
}

func (p *pathParser) integer() (n int, ok bool) {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	for p.peek() >= '0' && p.peek() <= '9' {
		p.at++
	}
	n, err := strconv.Atoi(p.s[from:p.at])
	return n, err == nil
}

func (p *pathParser) numbers(step *jsonStep) error {
	from, ok := p.integer()
	if p.peek() != ':' {
		if !ok {
			return fmt.Errorf("a number is expected at character %d", p.at+1)
		}
		step.index = append(step.index, from)
		return nil
	}
	p.at++
	step.slice = []*int{nil, nil}
	if ok {
		step.slice[0] = &from
	}
	if to, ok := p.integer(); ok {
		step.slice[1] = &to
	}
	return nil
}

// filterIn reads ?(…)].
func (p *pathParser) filterIn(step *jsonStep) error {
	if p.depth++; p.depth > 20 {
		return fmt.Errorf("filters are nested too deeply")
	}
	defer func() { p.depth-- }()
	if !strings.HasPrefix(p.s[p.at:], "?(") {
		return fmt.Errorf("a filter is written [?(…)]")
	}
	p.at += 2
	or := true
	for {
		f, err := p.condition()
		if err != nil {
			return err
		}
		f.or = or
		step.filter = append(step.filter, f)
		p.blank()
		rest := p.s[p.at:]
		switch {
		case strings.HasPrefix(rest, "&&"):
			or = false
			p.at += 2
		case strings.HasPrefix(rest, "||"):
			or = true
			p.at += 2
		case strings.HasPrefix(rest, ")]"):
			p.at += 2
			return nil
		default:
			return fmt.Errorf("a filter isn't closed")
		}
	}
}

func (p *pathParser) condition() (f jsonFilter, err error) {
	p.blank()
	if p.peek() == '!' {
		f.not = true
		p.at++
	}
	if p.peek() != '@' {
		return f, fmt.Errorf("conditions begin with @")
	}
	p.at++
	if f.path, err = p.steps(); err != nil {
		return f, err
	}
	p.blank()
	for _, op := range []string{"==", "!=", "<=", ">=", "=~", "<", ">"} {
		if strings.HasPrefix(p.s[p.at:], op) {
			f.op = op
			p.at += len(op)
			p.blank()
			f.value, err = p.value()
			return f, err
		}
	}
	return f, nil
}

func (p *pathParser) value() (any, error) {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		return p.quoted()
	case c == '/':
		end := strings.IndexByte(p.s[p.at+1:], '/')
		if end < 0 {
			return nil, fmt.Errorf("a pattern isn't closed")
		}
		pattern := p.s[p.at+1 : p.at+1+end]
		if p.at += end + 2; p.peek() == 'i' {
			p.at++
			pattern = "(?i)" + pattern
		}
		return compileRegex(pattern)
	}
	from := p.at
	for p.at < len(p.s) && strings.IndexByte(") &|", p.s[p.at]) < 0 {
		p.at++
	}
	word := p.s[from:p.at]
	switch word {
	case "true", "false":
		return word == "true", nil
	case "null":
		return nil, nil
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return nil, fmt.Errorf("%q isn't a value", word)
	}
	return n, nil
}

// apply returns what the steps lead to.
func apply(steps []jsonStep, from []any) []any {
	for i := range steps {
		var next []any
		for _, v := range from {
			if steps[i].deep {
				for _, d := range below(v, nil) {
					next = steps[i].take(d, next)
				}
				continue
			}
			next = steps[i].take(v, next)
		}
		from = next
	}
	return from
}

// below returns a value and all below it.
func below(v any, all []any) []any {
	all = append(all, v)
	for _, child := range children(v) {
		all = below(child, all)
	}
	return all
}

func children(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case *orderedObject:
		return v.values
	}
	return nil
}

// orderedObject is a JSON object whose members keep their order.
type orderedObject struct {
	names  []string
	values []any
}

func (o *orderedObject) get(name string) (any, bool) {
	if i := slices.Index(o.names, name); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// take appends what one step leads to from v.
func (s *jsonStep) take(v any, out []any) []any {
	if s.length {
		switch v := v.(type) {
		case string:
			return append(out, json.Number(strconv.Itoa(len([]rune(v)))))
		default:
			return append(out, json.Number(strconv.Itoa(len(children(v)))))
		}
	}
	if s.any {
		return append(out, children(v)...)
	}
	if o, ok := v.(*orderedObject); ok {
		for _, name := range s.names {
			if m, ok := o.get(name); ok {
				out = append(out, m)
			}
		}
		if s.filter != nil && s.keeps(v) {
			out = append(out, v)
		}
		return out
	}
	list, ok := v.([]any)
	if !ok {
		return out
	}
	if len(s.names) > 0 && !s.deep { // of each member, as Jayway doesn't: it finds nothing
		return out
	}
	for _, i := range s.index {
		if i < 0 {
			i += len(list)
		}
		if i >= 0 && i < len(list) {
			out = append(out, list[i])
		}
	}
	if s.slice != nil {
		from, to := bounds(s.slice, len(list))
		if from < to {
			out = append(out, list[from:to]...)
		}
	}
	for _, m := range list {
		if s.filter != nil && !s.deep && s.keeps(m) || s.filter != nil && s.deep && !isObject(m) && s.keeps(m) {
			out = append(out, m)
		}
	}
	return out
}

func isObject(v any) bool { _, ok := v.(*orderedObject); return ok }

func bounds(slice []*int, n int) (from, to int) {
	at := func(p *int, fallback int) int {
		if p == nil {
			return fallback
		}
		v := *p
		if v < 0 {
			v += n
		}
		return min(max(v, 0), n)
	}
	return at(slice[0], 0), at(slice[1], n)
}

// keeps reports whether a filter keeps a value.
func (s *jsonStep) keeps(v any) bool {
	holds, some := false, false
	for i := range s.filter {
		f := &s.filter[i]
		if f.or {
			some = some || i > 0 && holds
			holds = true
		}
		holds = holds && f.holds(v)
	}
	return some || holds
}

func (f *jsonFilter) holds(v any) bool {
	found := apply(f.path, []any{v})
	if f.op == "" {
		return (len(found) > 0) != f.not
	}
	for _, x := range found {
		if compareJSON(x, f.op, f.value) {
			return true
		}
	}
	return len(found) == 0 && f.op == "!=" && f.value != nil
}

func compareJSON(a any, op string, b any) bool {
	if re, ok := b.(*regex); ok {
		s, isText := a.(string)
		return isText && op == "=~" && re.matches(s, true)
	}
	if n, ok := a.(json.Number); ok {
		x, _ := n.Float64()
		y, isNumber := b.(float64)
		if !isNumber {
			return op == "!="
		}
		c := 0
		if x < y {
			c = -1
		} else if x > y {
			c = 1
		}
		return holdsOrder(op, c)
	}
	x, okX := a.(string)
	y, okY := b.(string)
	if okX && okY {
		return holdsOrder(op, strings.Compare(x, y))
	}
	switch op {
	case "==":
		return a == b
	case "!=":
		return a != b
	}
	return false
}

func holdsOrder(op string, c int) bool {
	switch op {
	case "==":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return false
}

// evalJSONPath returns the values that a path leads to in a JSON text. A path that leads to one list gives its members,
// as JMeter's extractor does.
func evalJSONPath(path, input string) ([]string, error) {
	steps, err := parseJSONPath(path)
	if err != nil {
		return nil, err
	}
	doc, err := parseOrdered(input)
	if err != nil {
		return nil, err
	}
	found := apply(steps, []any{doc})
	if definite(steps) && len(found) == 1 {
		if list, ok := found[0].([]any); ok {
			found = list
		}
	}
	var out []string
	for _, v := range found {
		if v != nil {
			out = append(out, jsonText(v))
		}
	}
	return out, nil
}

// definite reports whether a path leads to one value at most.
func definite(steps []jsonStep) bool {
	for i := range steps {
		s := &steps[i]
		if s.deep || s.any || s.filter != nil || s.slice != nil || len(s.names)+len(s.index) > 1 {
			return false
		}
	}
	return true
}

// parseOrdered reads JSON, keeping the order of members and the digits of numbers.
func parseOrdered(input string) (any, error) {
	d := json.NewDecoder(strings.NewReader(input))
	d.UseNumber()
	v, err := readValue(d)
	if err != nil {
		return nil, fmt.Errorf("the answer isn't JSON: %w", err)
	}
	return v, nil
}

func readValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := &orderedObject{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readValue(d)
			if err != nil {
				return nil, err
			}
			o.names, o.values = append(o.names, name.(string)), append(o.values, v)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

// jsonText is a value as JMeter's extractor writes it: texts bare, everything else as JSON.
func jsonText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	var b bytes.Buffer
	writeJSON(&b, v)
	return b.String()
}

func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case *orderedObject:
		b.WriteByte('{')
		for i, name := range v.names {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, name)
			b.WriteByte(':')
			writeJSON(b, v.values[i])
		}
		b.WriteByte('}')
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, name)
			b.WriteByte(':')
			writeJSON(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, e)
		}
		b.WriteByte(']')
	default:
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v)
		b.Truncate(b.Len() - 1)
	}
}

// normalPath writes a path as Jayway's library does in messages: $['a'][0].
func normalPath(path string) string {
	steps, err := parseJSONPath(path)
	if err != nil || !definite(steps) {
		return path
	}
	var b strings.Builder
	b.WriteByte('$')
	for i := range steps {
		s := &steps[i]
		switch {
		case s.length:
			b.WriteString(".length()")
		case len(s.names) == 1:
			b.WriteString("['" + s.names[0] + "']")
		case len(s.index) == 1:
			b.WriteString("[" + strconv.Itoa(s.index[0]) + "]")
		}
	}
	return b.String()
}
