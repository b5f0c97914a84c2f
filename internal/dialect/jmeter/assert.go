package jmeter

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/jmespath/go-jmespath"
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
	case "JSONPathAssertion", "JMESPathAssertion":
		return c.jsonAssertion(e)
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
		return assertResult{failed: true, message: strings.Join(failed, "\t")}
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
	not := ""
	if a.kind&testNot != 0 {
		not = "not "
	}
	switch {
	case a.kind&(testContains|testSubstring) != 0:
		return "Test failed: " + what + " expected " + not + "to contain /" + pattern + "/"
	case a.kind&testMatch != 0:
		return "Test failed: " + what + " expected " + not + "to match /" + pattern + "/"
	}
	text := "Test failed: " + what + " expected " + not + "to equal /\n\n****** received  : " + shorten(input) +
		"\n\n****** comparison: " + shorten(pattern) + "\n\n/"
	return text
}

func shorten(s string) string {
	if len(s) > 100 {
		return s[:100]
	}
	return s
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

// jsonAssertion is a JSON Assertion, or a JMESPath Assertion.
type jsonAssertion struct {
	element                             *Element
	path, expected                      text
	validate, expectNull, invert, regex bool
	jmes                                bool
}

func (c *compiler) jsonAssertion(e *Element) any {
	a := &jsonAssertion{element: e, path: c.text(e, "JSON_PATH"), expected: c.text(e, "EXPECTED_VALUE"),
		validate: e.flag("JSONVALIDATION"), expectNull: e.flag("EXPECT_NULL"), invert: e.flag("INVERT"),
		regex: e.flag("ISREGEX"),
		jmes:  e.Class == "JMESPathAssertion"}
	if a.jmes {
		a.path = c.text(e, "JMES_PATH")
	}
	if a.path.fixed() {
		var err error
		if a.jmes {
			_, err = jmespath.Compile(a.path.raw)
		} else {
			_, err = parseJSONPath(a.path.raw)
		}
		if err != nil {
			c.fault(e, "%v", err)
		}
	}
	return a
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
	var values []string
	null := false
	var err error
	if a.jmes {
		values, err = evalJMESPath(path, input)
		null = len(values) == 0
	} else {
		values, null, err = pathValues(path, input)
	}
	if err != nil {
		return err.Error()
	}
	if len(values) == 0 && !null {
		return "No results for path: " + path
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

// xpathAssertion is an XPath Assertion.
type xpathAssertion struct {
	element          *Element
	query            text
	negate, tolerant bool
}

func (c *compiler) xpathAssertion(e *Element) any {
	prefix := map[string]string{"XPathAssertion": "XPath", "XPath2Assertion": "XPath2"}[e.Class]
	a := &xpathAssertion{e, c.text(e, prefix+".xpath"), e.flag(prefix + ".negate"), e.flag(prefix + ".tolerant")}
	if a.query.fixed() {
		if err := checkXPath(a.query.raw); err != nil {
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
	if ok == a.negate {
		v.failed = true
		v.message = "No Nodes Matched " + query
		if a.negate {
			v.message = "Specified XPath was found... Turn off negate if this is not desired"
		}
	}
	return v
}

// xmlAssertion is an XML Assertion.
type xmlAssertion struct{ element *Element }

func (a xmlAssertion) check(_ *thread, r *result) assertResult {
	v := assertResult{name: a.element.Name}
	if _, err := parseTree(r.text(), false); err != nil {
		v.failed, v.message = true, err.Error()
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
