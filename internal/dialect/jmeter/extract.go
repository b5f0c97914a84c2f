package jmeter

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/jmespath/go-jmespath"
	"golang.org/x/net/html"

	"brunt/internal/base/markup"
)

// extractor takes values out of a sample into variables.
type extractor struct {
	element  *Element
	scope    string // parent, all, children or variable
	variable text
	name     text
	fallback text
	which    text // number of the match: 0 random, −1 all
	empty    bool // the fallback is set though it is empty
	find     func(t *thread, r *result, input string) [][]string
	template text // regular expressions
	input    func(r *result) string
	single   bool // a match has no groups
}

// after compiles a postprocessor.
func (c *compiler) after(e *Element) any {
	switch e.Class {
	case "RegexExtractor":
		return c.regexExtractor(e)
	case "BoundaryExtractor":
		return c.boundary(e)
	case "HtmlExtractor":
		return c.css(e)
	case "XPathExtractor", "XPath2Extractor":
		return c.xpathExtractor(e)
	case "JSONPostProcessor":
		return c.jsonExtractor(e)
	case "JMESPathExtractor":
		return c.jmesExtractor(e)
	case "JSR223PostProcessor":
		if s := c.scripted(e); s.code != nil {
			return scriptAfter{s}
		}
	case "DebugPostProcessor":
		return debugAfter{e}
	case "ResultAction":
		return &resultAction{action: strings.TrimSpace(e.text("OnError.action"))}
	}
	return nil
}

// debugAfter is Debug PostProcessor: what it shows is a part of the sample.
type debugAfter struct{ element *Element }

func (d debugAfter) process(t *thread, r *result) {
	part := t.shown(d.element)
	part.label = r.label + "-" + strconv.Itoa(len(r.parts))
	r.parts = append(r.parts, part)
	r.bytes += part.bytes
}

// resultAction is Result Status Action Handler.
type resultAction struct{ action string }

func (a *resultAction) process(t *thread, r *result) {
	if r.success {
		return
	}
	switch a.action {
	case "1":
		t.giveUp()
	case "2", "3":
		t.program.stop()
		t.giveUp()
	case "4":
		t.leave(t.leaf.up, nextOfThread)
	case "5":
		t.leave(t.leaf.up, nextOfLoop)
	case "6":
		t.leave(t.leaf.up, breakLoop)
	}
}

// base reads what extractors have in common. prefix is that of their properties.
func (c *compiler) base(e *Element, prefix string) *extractor {
	x := &extractor{element: e, name: c.text(e, prefix+"refname"), fallback: c.text(e, prefix+"default"),
		which: c.text(e, prefix+"match_number"), scope: strings.TrimSpace(e.text("Sample.scope")),
		variable: c.text(e, "Scope.variable"), input: func(r *result) string { return r.text() }}
	if x.name.raw == "" {
		x.name = c.text(e, prefix+"refName")
	}
	if e.flag(prefix + "default_empty_value") {
		x.empty = true
	}
	c.written[x.name.raw] = true
	return x
}

func (c *compiler) regexExtractor(e *Element) *extractor {
	x := c.base(e, "RegexExtractor.")
	pattern := c.text(e, "RegexExtractor.regex")
	if pattern.fixed() {
		if _, err := compileRegex(pattern.raw); err != nil {
			c.fault(e, "%v", err)
		}
	}
	x.template = c.text(e, "RegexExtractor.template")
	x.input = partOf(strings.TrimSpace(e.text("RegexExtractor.useHeaders")))
	x.find = func(t *thread, _ *result, input string) [][]string {
		re, err := t.program.regex(pattern.eval(t))
		if err != nil {
			t.program.complain("%s: %v", e, err)
			return nil
		}
		return re.findAll(input, 10_000)
	}
	return x
}

// partOf returns the function that reads the part of a sample in which a regular expression searches.
func partOf(what string) func(r *result) string {
	switch what {
	case "true":
		return func(r *result) string { return r.head }
	case "request_headers":
		return func(r *result) string { return r.requestHead }
	case "URL":
		return func(r *result) string { return r.url }
	case "code":
		return func(r *result) string { return r.code }
	case "message":
		return func(r *result) string { return r.message }
	case "unescaped":
		return func(r *result) string { return html.UnescapeString(r.text()) }
	}
	return func(r *result) string { return r.text() }
}

func (c *compiler) boundary(e *Element) *extractor {
	x := c.base(e, "BoundaryExtractor.")
	left, right := c.text(e, "BoundaryExtractor.lboundary"), c.text(e, "BoundaryExtractor.rboundary")
	x.input = partOf(strings.TrimSpace(e.text("BoundaryExtractor.useHeaders")))
	x.single = true
	x.find = func(t *thread, _ *result, input string) (out [][]string) {
		l, r := left.eval(t), right.eval(t)
		for {
			i := strings.Index(input, l)
			if i < 0 || len(out) >= 10_000 {
				return out
			}
			input = input[i+len(l):]
			j := len(input)
			if r != "" {
				if j = strings.Index(input, r); j < 0 {
					return out
				}
			}
			out = append(out, []string{input[:j], input[:j]})
			if r == "" {
				return out
			}
			input = input[j+len(r):]
		}
	}
	return x
}

func (c *compiler) css(e *Element) *extractor {
	x := c.base(e, "HtmlExtractor.")
	expr, attr := c.text(e, "HtmlExtractor.expr"), c.text(e, "HtmlExtractor.attribute")
	if expr.fixed() {
		if _, err := cascadia.ParseGroup(expr.raw); err != nil {
			c.fault(e, "%q isn't a CSS selector: %v", cut(expr.raw), err)
		}
	}
	x.single = true
	x.find = func(t *thread, _ *result, input string) (out [][]string) {
		selector, err := cascadia.ParseGroup(expr.eval(t))
		if err != nil {
			t.program.complain("%s: %v", e, err)
			return nil
		}
		doc, err := html.Parse(strings.NewReader(input))
		if err != nil {
			return nil
		}
		name := attr.eval(t)
		for _, n := range cascadia.QueryAll(doc, selector) {
			v := textBelow(n)
			if name != "" {
				v = ""
				for _, a := range n.Attr {
					if a.Key == name {
						v = a.Val
					}
				}
			}
			out = append(out, []string{v, v})
		}
		return out
	}
	return x
}

// textBelow returns the text of a node, with white space collapsed as jsoup's text() does.
func textBelow(n *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func (c *compiler) xpathExtractor(e *Element) *extractor {
	prefix := "XPathExtractor."
	if e.Class == "XPath2Extractor" {
		prefix = "XPathExtractor2."
	}
	x := c.base(e, prefix)
	if x.which = c.text(e, prefix+"matchNumber"); x.which.raw == "" {
		x.which = text{raw: "-1"}
	}
	query := c.text(e, prefix+"xpathQuery")
	if query.fixed() {
		if err := markup.CheckXPath(query.raw); err != nil {
			c.fault(e, "%v", err)
		}
	}
	tolerant, fragment := e.flag(prefix+"tolerant"), e.flag(prefix+"fragment")
	x.single = true
	x.find = func(t *thread, _ *result, input string) (out [][]string) {
		found, err := evalXPath(query.eval(t), input, tolerant, fragment)
		if err != nil {
			t.program.complain("%s: %v", e, err)
			return nil
		}
		for _, v := range found {
			out = append(out, []string{v, v})
		}
		return out
	}
	return x
}

// several are extractors of one element with several expressions.
type several []*extractor

func (s several) process(t *thread, r *result) {
	for _, x := range s {
		x.process(t, r)
	}
}

func pieces(s string) []string {
	all := strings.Split(s, ";")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

func (c *compiler) jsonExtractor(e *Element) postProcessor {
	const prefix = "JSONPostProcessor."
	names, paths := pieces(e.text(prefix+"referenceNames")), pieces(e.text(prefix+"jsonPathExprs"))
	numbers, defaults := pieces(e.text(prefix+"match_numbers")), strings.Split(e.text(prefix+"defaultValues"), ";")
	if len(names) != len(paths) {
		c.fault(e, "there are %d names for %d expressions", len(names), len(paths))
		return nil
	}
	all := jsonPaths{element: e, numbers: c.text(e, prefix+"match_numbers"), names: len(names), defaults: len(defaults)}
	for i := range names {
		x := c.base(e, prefix)
		x.name = c.textOf(e, "name", names[i])
		c.written[names[i]] = true
		x.single = true
		x.which = text{raw: "0"}
		if i < len(numbers) && strings.TrimSpace(numbers[i]) != "" {
			x.which = c.textOf(e, "match number", numbers[i])
		}
		if i < len(defaults) {
			x.fallback = c.textOf(e, "default", defaults[i])
		}
		path := c.textOf(e, "path", paths[i])
		if path.fixed() {
			if _, err := parseJSONPath(path.raw); err != nil {
				c.fault(e, "%v", err)
			}
		}
		x.empty = true
		x.find = func(t *thread, _ *result, input string) (out [][]string) {
			found, err := evalJSONPath(path.eval(t), input)
			if err != nil {
				t.program.complain("%s: %v", e, err)
				return nil
			}
			for _, v := range found {
				out = append(out, []string{v, v})
			}
			return out
		}
		all.several = append(all.several, x)
		if e.flag(prefix + "compute_concat") {
			all.several = append(all.several, c.concatenation(x))
		}
	}
	return all
}

// jsonPaths is a JSON Extractor.
type jsonPaths struct {
	several
	element         *Element
	numbers         text
	names, defaults int
}

// process implements postProcessor.
func (j jsonPaths) process(t *thread, r *result) {
	if why := j.mistake(t); why != "" {
		t.program.complain("%s: %s; as in JMeter, the sample is dropped", j.element, why)
		t.dropped = true
		return
	}
	j.several.process(t, r)
}

// mistake says what in the lists of the extractor makes JMeter throw an exception; "" if nothing does.
func (j jsonPaths) mistake(t *thread) string {
	if j.defaults != j.names {
		return fmt.Sprintf("there are %d default values for %d names", j.defaults, j.names)
	}
	all := strings.TrimSpace(j.numbers.eval(t))
	if all == "" {
		return ""
	}
	for i, number := range strings.Split(strings.TrimRight(all, ";"), ";") {
		if _, err := strconv.Atoi(strings.TrimSpace(number)); err != nil {
			return fmt.Sprintf("match number %d isn't a number: %q", i+1, number)
		}
		if i >= j.names {
			return fmt.Sprintf("there are more match numbers than %d names", j.names)
		}
	}
	return ""
}

// concatenation sets name_ALL.
func (c *compiler) concatenation(x *extractor) *extractor {
	y := *x
	y.name = text{raw: x.name.raw + "_ALL"}
	y.which = text{raw: "1"}
	find := x.find
	y.find = func(t *thread, r *result, input string) [][]string {
		var all []string
		for _, m := range find(t, r, input) {
			all = append(all, m[0])
		}
		if len(all) == 0 {
			return nil
		}
		v := strings.Join(all, ",")
		return [][]string{{v, v}}
	}
	return &y
}

func (c *compiler) jmesExtractor(e *Element) *extractor {
	const prefix = "JMESExtractor."
	x := c.base(e, prefix)
	x.name, x.fallback = c.text(e, prefix+"referenceName"), c.text(e, prefix+"defaultValue")
	x.which = c.text(e, prefix+"matchNumber")
	c.written[x.name.raw] = true
	expr := c.text(e, prefix+"jmesPathExpr")
	if expr.fixed() {
		if _, err := jmespath.Compile(expr.raw); err != nil {
			c.fault(e, "%q isn't a JMESPath expression: %v", cut(expr.raw), err)
		}
	}
	x.single = true
	x.find = func(t *thread, _ *result, input string) (out [][]string) {
		found, err := evalJMESPath(expr.eval(t), input)
		if err != nil {
			t.program.complain("%s: %v", e, err)
		}
		for _, v := range found {
			out = append(out, []string{v, v})
		}
		return out
	}
	return x
}

func evalJMESPath(expr, input string) ([]string, error) {
	var doc any
	if err := json.Unmarshal([]byte(input), &doc); err != nil {
		return nil, fmt.Errorf("the answer isn't JSON: %w", err)
	}
	v, err := jmespath.Search(expr, doc)
	if err != nil || v == nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []string
	for _, e := range list {
		out = append(out, jsonText(e))
	}
	return out, nil
}

// process implements postProcessor.
func (x *extractor) process(t *thread, r *result) {
	var all [][]string
	switch x.scope {
	case "variable":
		v, ok := t.vars[x.variable.eval(t)]
		if ok {
			all = x.find(t, r, v)
		}
	case "children", "all":
		if x.scope == "all" {
			all = x.find(t, r, x.input(r))
		}
		for _, p := range r.parts {
			all = append(all, x.find(t, p, x.input(p))...)
		}
	default:
		all = x.find(t, r, x.input(r))
	}
	x.assign(t, all)
}

// assign sets the variables, as RegexExtractor does.
func (x *extractor) assign(t *thread, all [][]string) {
	name, fallback := x.name.eval(t), x.fallback.eval(t)
	if name == "" {
		return
	}
	before, _ := strconv.Atoi(t.vars[name+"_matchNr"])
	which, _ := strconv.Atoi(strings.TrimSpace(x.which.eval(t)))
	if fallback != "" || x.empty {
		t.vars[name] = fallback
	}
	for i := 1; which < 0 && i <= before; i++ {
		x.forget(t, fmt.Sprint(name, "_", i))
	}
	if which < 0 {
		t.vars[name+"_matchNr"] = strconv.Itoa(len(all))
		for i, m := range all {
			n := fmt.Sprint(name, "_", i+1)
			t.vars[n] = x.value(t, m)
			x.groups(t, n, m)
		}
		if len(all) > 0 && x.element.Class != "RegexExtractor" && x.element.Class != "BoundaryExtractor" {
			t.vars[name] = x.value(t, all[0])
		}
		return
	}
	if x.single && len(all) > 0 {
		t.vars[name+"_matchNr"] = strconv.Itoa(len(all))
	}
	x.forget(t, name+"_g")
	switch {
	case len(all) == 0 || which > len(all):
		x.forget(t, name+"_g")
		return
	case which == 0:
		which = t.random.IntN(len(all)) + 1
	}
	t.vars[name] = x.value(t, all[which-1])
	x.groups(t, name, all[which-1])
}

func (x *extractor) value(t *thread, groups []string) string {
	if x.single {
		return groups[0]
	}
	return fillTemplate(x.template.eval(t), groups)
}

// groups sets name_g and name_g0 …
func (x *extractor) groups(t *thread, name string, groups []string) {
	if x.single {
		return
	}
	t.vars[name+"_g"] = strconv.Itoa(len(groups) - 1)
	for i, g := range groups {
		t.vars[fmt.Sprint(name, "_g", i)] = g
	}
}

// forget removes a match's variables.
func (x *extractor) forget(t *thread, name string) {
	base := strings.TrimSuffix(name, "_g")
	n, err := strconv.Atoi(t.vars[base+"_g"])
	for i := 0; err == nil && i <= n; i++ {
		delete(t.vars, fmt.Sprint(base, "_g", i))
	}
	delete(t.vars, base+"_g")
	if base == name {
		delete(t.vars, name)
	}
}

// evalXPath returns the values of an expression; those of nodes as text or, if fragment, as XML.
func evalXPath(query, input string, tolerant, fragment bool) ([]string, error) {
	doc, err := markup.Parse(input, tolerant)
	if err != nil {
		return nil, err
	}
	return doc.XPath(query, fragment)
}
