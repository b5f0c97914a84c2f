package jmeter

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/jmespath/go-jmespath"

	"brunt/internal/base/markup"
)

// assertion compiles an assertion.
func (c *compiler) assertion(e *Element) any {
	switch e.Class {
	case "ResponseAssertion":
		return c.responseAssertion(e)
	case "DurationAssertion":
		return &durationAssertion{e, c.text(e, "DurationAssertion.duration")}
	case "SizeAssertion":
		return c.sizeAssertion(e)
	case "JSONPathAssertion":
		return c.jsonAssertion(e)
	case "JMESPathAssertion":
		return c.jmesAssertion(e)
	case "XPathAssertion", "XPath2Assertion":
		return c.xpathAssertion(e)
	case "XMLAssertion":
		return xmlAssertion{e}
	case "MD5HexAssertion":
		return &hexAssertion{e, c.text(e, "MD5HexAssertion.size")}
	case "JSR223Assertion":
		if s := c.scripted(e); s.code != nil {
			return scriptAssertion{s}
		}
	}
	return nil
}

// The bits of a Response Assertion's type, as JMeter stores them.
const (
	testMatch = 1 << iota
	testContains
	testNot
	testEquals
	testSubstring
	testOr
)

// responseAssertion is a Response Assertion.
type responseAssertion struct {
	element  *Element
	field    string
	kind     int
	patterns []text
	assume   bool
	message  text
	scope    string
	variable text
}

func (c *compiler) responseAssertion(e *Element) any {
	a := &responseAssertion{element: e, field: strings.TrimPrefix(strings.TrimSpace(e.text("Assertion.test_field")),
		"Assertion."),
		assume: e.flag("Assertion.assume_success"), message: c.text(e, "Assertion.custom_message"),
		scope: strings.TrimSpace(e.text("Assertion.scope")), variable: c.text(e, "Scope.variable")}
	a.kind, _ = strconv.Atoi(strings.TrimSpace(e.text("Assertion.test_type")))
	for _, name := range []string{"Asserion.test_strings", "Assertion.test_strings"} { // JMeter's own spelling
		for _, p := range e.list(name) {
			x := c.textOf(e, "pattern", p.text)
			if x.fixed() && a.kind&(testEquals|testSubstring) == 0 {
				if _, err := compileRegex(x.raw); err != nil {
					c.fault(e, "%v", err)
				}
			}
			a.patterns = append(a.patterns, x)
		}
	}
	return a
}

// check implements assertion.
func (a *responseAssertion) check(t *thread, r *result) assertResult {
	if a.assume {
		r.success = true
	}
	var v assertResult
	targets := []*result{r}
	switch a.scope {
	case "children":
		targets = r.parts
	case "all":
		targets = append(targets, r.parts...)
	}
	for _, target := range targets {
		if v = a.one(t, target); v.failed {
			break
		}
	}
	v.name = a.element.Name
	if m := a.message.eval(t); v.failed && m != "" {
		v.message = m
	}
	return v
}

func (a *responseAssertion) one(t *thread, r *result) (v assertResult) {
	input, what := a.input(t, r)
	not := a.kind&testNot != 0
	var failed []string
	for i := range a.patterns {
		pattern := a.patterns[i].eval(t)
		found, err := a.found(t, input, pattern)
		if err != nil {
			return assertResult{failed: true, message: "Bad test configuration " + err.Error()}
		}
		ok := found != not
		if ok && a.kind&testOr != 0 {
			return assertResult{}
		}
		if ok {
			continue
		}
		failed = append(failed, a.explain(what, pattern, input))
		if a.kind&testOr == 0 {
			return assertResult{failed: true, message: failed[0]}
		}
	}
	if len(failed) > 0 {
		return assertResult{failed: true, message: strings.Join(failed, "\t") + "\t"}
	}
	return v
}

// input returns the text that is tested and how JMeter calls it.
func (a *responseAssertion) input(t *thread, r *result) (input, what string) {
	if a.scope == "variable" {
		name := a.variable.eval(t)
		return t.vars[name], "variable(" + name + ")"
	}
	switch a.field {
	case "response_code":
		return r.code, "code"
	case "response_message":
		return r.message, "message"
	case "response_headers":
		return r.head, "headers"
	case "request_headers":
		return r.requestHead, "request headers"
	case "request_data":
		return r.requestBody, "request data"
	case "sample_label":
		return r.url, "URL"
	}
	return r.text(), "text"
}

func (a *responseAssertion) found(t *thread, input, pattern string) (bool, error) {
	switch {
	case a.kind&testEquals != 0:
		return input == pattern, nil
	case a.kind&testSubstring != 0:
		return strings.Contains(input, pattern), nil
	}
	re, err := t.program.regex(pattern)
	if err != nil {
		return false, err
	}
	return re.matches(input, a.kind&testMatch != 0), nil
}

// explain returns JMeter's message.
func (a *responseAssertion) explain(what, pattern, input string) string {
	words := map[int]string{testContains: "to contain", testSubstring: "to contain", testMatch: "to match",
		testEquals: "to equal", testNot | testContains: "not to contain", testNot | testSubstring: "not to contain",
		testNot | testMatch: "not to match", testNot | testEquals: "not to equal"}
	word, ok := words[a.kind]
	if !ok {
		word = "something using"
	}
	if a.kind&testEquals != 0 {
		pattern = comparison([]rune(input), []rune(pattern))
	}
	return "Test failed: " + what + " expected " + word + " /" + pattern + "/"
}

// comparison shows where two texts differ: ResponseAssertion.equalsComparisonText.
func comparison(received, wanted []rune) string {
	first := 0
	for first < min(len(received), len(wanted)) && received[first] == wanted[first] {
		first++
	}
	r, w := len(received)-1, len(wanted)-1
	for r > first && w > first && received[r] == wanted[w] {
		r, w = r-1, w-1
	}
	start, end := shorten(received[:first], false), shorten(received[r+1:], true)
	if r+1 < first {
		end = ""
	}
	one, two := shorten(received[first:], true), shorten(wanted[first:], true)
	if end != "" {
		one, two = shorten(received[first:r+1], true), shorten(wanted[first:w+1], true)
	}
	pad := func(s string, n int) string { return s + strings.Repeat(" ", max(n-len([]rune(s)), 0)) }
	width := max(len([]rune(one)), len([]rune(two)))
	return "\n\n****** received  : " + start + "[[[" + pad(one, width) + "]]]" + end +
		"\n\n****** comparison: " + start + "[[[" + pad(two, width) + "]]]" + end + "\n\n"
}

// shorten keeps 100 characters of a text, the first or the last.
func shorten(s []rune, first bool) string {
	const most = 100
	switch {
	case len(s) <= most:
		return string(s)
	case first:
		return string(s[:most]) + "..."
	}
	return "..." + string(s[len(s)-most:])
}

// durationAssertion is a Duration Assertion.
type durationAssertion struct {
	element *Element
	limit   text
}

func (a *durationAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	limit := int64(ms(t, &a.limit))
	if limit > 0 && r.elapsedMs() > limit {
		v.failed = true
		v.message = fmt.Sprintf("The operation lasted too long: It took %d milliseconds, but should not have "+
			"lasted longer than %d milliseconds.",
			r.elapsedMs(), limit)
	}
	return v
}

// sizeAssertion is a Size Assertion.
type sizeAssertion struct {
	element *Element
	field   string
	size    text
	op      string
}

func (c *compiler) sizeAssertion(e *Element) any {
	ops := map[string]string{"1": "==", "2": "!=", "3": ">", "4": "<", "5": ">=", "6": "<="}
	return &sizeAssertion{e, strings.TrimSpace(e.text("Assertion.test_field")), c.text(e, "SizeAssertion.size"),
		ops[strings.TrimSpace(e.text("SizeAssertion.operator"))]}
}

func (a *sizeAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	size := r.bytes
	switch {
	case strings.HasSuffix(a.field, "response_data"):
		size = int64(len(r.text()))
	case strings.HasSuffix(a.field, "headers"):
		size = r.bytes - int64(len(r.body))
	case strings.HasSuffix(a.field, "code"):
		size = int64(len(r.code))
	case strings.HasSuffix(a.field, "message"):
		size = int64(len(r.message))
	}
	want := int64(ms(t, &a.size))
	c := 0
	if size < want {
		c = -1
	} else if size > want {
		c = 1
	}
	if !holdsOrder(a.op, c) {
		words := map[string]string{"==": "equal to", "!=": "not equal to", ">": "greater than", "<": "less than",
			">=": "greater than or equal to", "<=": "less than or equal to"}
		v.failed = true
		v.message = fmt.Sprintf("The result was the wrong size: It was %s bytes, but should have been %s %s bytes.",
			grouped(size), words[a.op], grouped(want))
	}
	return v
}

func grouped(n int64) string { return javaNumber("#,##0", n) }

// jsonAssertion is a JSON Assertion.
type jsonAssertion struct {
	element                             *Element
	path, expected                      text
	validate, expectNull, invert, regex bool
}

func (c *compiler) expectation(e *Element, path string) jsonAssertion {
	return jsonAssertion{element: e, path: c.text(e, path), expected: c.text(e, "EXPECTED_VALUE"),
		validate: e.flag("JSONVALIDATION"), expectNull: e.flag("EXPECT_NULL"), invert: e.flag("INVERT"),
		regex: e.flag("ISREGEX")}
}

func (c *compiler) jsonAssertion(e *Element) any {
	a := c.expectation(e, "JSON_PATH")
	if a.path.fixed() {
		if _, err := parseJSONPath(a.path.raw); err != nil {
			c.fault(e, "%v", err)
		}
	}
	return &a
}

func (a *jsonAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	problem := a.problem(t, r.text())
	switch {
	case a.invert && problem == "":
		v.failed, v.message = true, "Failed that JSONPath "+a.path.eval(t)+" not matches "+a.expected.eval(t)
	case !a.invert && problem != "":
		v.failed, v.message = true, problem
	}
	return v
}

// problem says why the answer isn't as expected; "" if it is.
func (a *jsonAssertion) problem(t *thread, input string) string {
	path := a.path.eval(t)
	values, null, err := pathValues(path, input)
	if err != nil {
		return err.Error()
	}
	if len(values) == 0 && !null {
		return "No results for path: " + normalPath(path)
	}
	if !a.validate {
		return ""
	}
	if a.expectNull {
		if null {
			return ""
		}
		return fmt.Sprintf("Value in json path '%s' expected to be 'null', but found '%s'", path, values[0])
	}
	expected := a.expected.eval(t)
	for _, v := range values {
		if !a.regex && v == expected {
			return ""
		}
		if a.regex {
			if re, err := t.program.regex(expected); err == nil && re.matches(v, true) {
				return ""
			}
		}
	}
	found := "null"
	if len(values) > 0 {
		found = values[0]
	}
	if a.regex {
		return fmt.Sprintf("Value in json path '%s' expected to match regexp '%s', but it did not match: '%s'", path,
			expected, found)
	}
	return fmt.Sprintf("Value in json path '%s' expected to be '%s', but found '%s'", path, expected, found)
}

// pathValues returns the values that a path leads to, a list as one value and its members. null says that there is a
// null.
func pathValues(path, input string) (out []string, null bool, err error) {
	steps, err := parseJSONPath(path)
	if err != nil {
		return nil, false, err
	}
	doc, err := parseOrdered(input)
	if err != nil {
		return nil, false, err
	}
	for _, v := range apply(steps, []any{doc}) {
		if v == nil {
			null = true
			continue
		}
		if list, ok := v.([]any); ok {
			for _, m := range list {
				out = append(out, jsonText(m))
			}
		}
		out = append(out, jsonText(v))
	}
	return out, null, nil
}

// jmesAssertion is a JMESPath Assertion.
type jmesAssertion struct{ jsonAssertion }

func (c *compiler) jmesAssertion(e *Element) any {
	a := &jmesAssertion{c.expectation(e, "JMES_PATH")}
	if a.path.fixed() {
		if _, err := jmespath.Compile(a.path.raw); err != nil {
			c.fault(e, "%v", err)
		}
	}
	return a
}

func (a *jmesAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	if len(r.body) == 0 {
		v.failed, v.message = true, "Response was null"
		return v
	}
	ok, err := a.holds(t, r.text())
	switch {
	case err != nil && !a.invert:
		v.failed, v.message = true, err.Error()
	case err == nil && ok == a.invert:
		v.failed, v.message = true, a.explain(t)
	}
	return v
}

// holds reports whether the value that the path leads to is as expected.
func (a *jmesAssertion) holds(t *thread, input string) (ok bool, err error) {
	var doc any
	if err := json.Unmarshal([]byte(input), &doc); err != nil {
		return false, fmt.Errorf("the answer isn't JSON: %w", err)
	}
	found, err := jmespath.Search(a.path.eval(t), doc)
	if err != nil {
		return false, err
	}
	if !a.validate || a.expectNull {
		return (found == nil) == (a.validate && a.expectNull), nil
	}
	shown, expected := jsonText(found), a.expected.eval(t)
	if a.regex {
		re, err := t.program.regex(expected)
		return err == nil && re.matches(shown, true), err
	}
	if shown == expected {
		return true, nil
	}
	var value any
	if err := json.Unmarshal([]byte(expected), &value); err != nil {
		if word := lettersOf(expected); word != "" {
			return false, parserError(fmt.Sprintf("Unrecognized token '%s': was expecting (JSON String, Number, Array, Object or "+
				"token 'null', 'true' or 'false')\n at [Source: (String)\"%s\"; line: 1, column: %d]", word, expected, len(word)+1))
		}
		return false, err
	}
	return reflect.DeepEqual(found, value), nil
}

// parserError is an error in the words of JMeter's parser of JSON.
type parserError string

func (e parserError) Error() string { return string(e) }

// lettersOf returns the word that a text begins with.
func lettersOf(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$'
	})
	if end < 0 {
		end = len(s)
	}
	if end == 0 || unicode.IsDigit(rune(s[0])) {
		return ""
	}
	return s[:end]
}

// explain returns JMeter's message.
func (a *jmesAssertion) explain(t *thread) string {
	not := ""
	if a.invert {
		not = " not"
	}
	switch {
	case !a.validate:
		return "JMESPATH " + a.path.eval(t) + " expected" + not + " to exist"
	case a.expectNull:
		return "Value expected" + not + " to be null"
	case a.regex:
		return "Value expected" + not + " to match " + a.expected.eval(t)
	}
	return "Value expected" + not + " to be equal to " + a.expected.eval(t)
}

// xpathAssertion is an XPath Assertion, or an XPath2 Assertion.
type xpathAssertion struct {
	element          *Element
	query            text
	negate, tolerant bool
	second           bool // XPath2
}

func (c *compiler) xpathAssertion(e *Element) any {
	a := &xpathAssertion{e, c.text(e, "XPath.xpath"), e.flag("XPath.negate"), e.flag("XPath.tolerant"),
		e.Class == "XPath2Assertion"}
	if a.query.fixed() {
		if err := markup.CheckXPath(a.query.raw); err != nil {
			c.fault(e, "%v", err)
		}
	}
	return a
}

func (a *xpathAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	query := a.query.eval(t)
	found, err := evalXPath(query, r.text(), a.tolerant, false)
	if err != nil {
		v.failed, v.message = true, err.Error()
		return v
	}
	ok := len(found) > 0 && found[0] != "false"
	v.failed = ok == a.negate
	switch {
	case a.second && a.negate: // XPath2 has its message even if it holds
		v.message = "Nodes Matched for " + query
	case a.second:
		v.message = "No Nodes Matched for " + query
	case v.failed && a.negate:
		v.message = "Specified XPath was found... Turn off negate if this is not desired"
	case v.failed:
		v.message = "No Nodes Matched " + query
	}
	return v
}

// xmlAssertion is an XML Assertion.
type xmlAssertion struct{ element *Element }

func (a xmlAssertion) check(_ *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	input := r.text()
	if _, err := markup.Parse(input, false); err != nil {
		v.failed, v.message = true, err.Error()
		if !strings.HasPrefix(strings.TrimSpace(input), "<") {
			v.message = "Content is not allowed in prolog."
		}
	}
	return v
}

// hexAssertion is an MD5Hex Assertion.
type hexAssertion struct {
	element *Element
	want    text
}

func (a *hexAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	sum := md5.Sum([]byte(r.text()))
	if got, want := hex.EncodeToString(sum[:]), a.want.eval(t); !strings.EqualFold(got, want) {
		v.failed = true
		v.message = "Error asserting MD5 sum : got " + got + " but should have been " + want
	}
	return v
}
