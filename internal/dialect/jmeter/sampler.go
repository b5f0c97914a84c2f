package jmeter

import (
	"slices"
	"strings"
	"time"
)

// inScope calls f for the enabled elements in whose scope the current sampler is, those of the test plan first.
func (c *compiler) inScope(f func(e *Element)) {
	for _, level := range c.scope {
		for _, e := range level.Children {
			if e.Enabled {
				f(e)
			}
		}
	}
}

// sampler compiles a sampler. It is the last element of the scope.
func (c *compiler) sampler(e *Element) *sampler {
	s := &sampler{element: e, name: c.textOf(e, "name", e.Name)}
	switch e.Class {
	case "JDBCSampler":
		s.kind = jdbcSampler
		s.jdbc = c.jdbc(e)
	case "DebugSampler":
		s.kind, s.debug = debugSampler, e
	case "TestAction":
		s.kind = actionSampler
		s.action = c.action(e)
	case "JSR223Sampler":
		s.kind = scriptSampler
		s.code = c.script(e)
	default:
		s.kind = httpSampler
		s.http = c.http(e)
	}
	c.inScope(func(x *Element) {
		c.attach(s, x)
	})
	c.program.samplers = append(c.program.samplers, s)
	if s.sends() {
		c.operation(s)
	}
	return s
}

// attach adds an element to a sampler in its scope.
func (c *compiler) attach(s *sampler, e *Element) {
	made, known := c.made[e]
	if !known {
		made = c.make(e)
		c.made[e] = made
	}
	switch m := made.(type) {
	case timer:
		s.timers = append(s.timers, m)
	case preProcessor:
		s.before = append(s.before, m)
	case assertion:
		s.asserts = append(s.asserts, m)
	case postProcessor:
		s.after = append(s.after, m)
	case *collector:
		s.writes = append(s.writes, m)
	}
}

// make compiles an element that acts on samplers; nil for others.
func (c *compiler) make(e *Element) any {
	switch classes[e.Class] {
	case isTimer:
		return c.timer(e)
	case isBefore:
		return c.before(e)
	case isAfter:
		return c.after(e)
	case isAssertion:
		return c.assertion(e)
	case isListener:
		return c.listener(e)
	}
	return nil
}

// listen adds what acts at each iteration of the nearest controller: CSV data sets, counters …
func (c *compiler) listen(n *node, e *Element) {
	for _, child := range e.Children {
		if !child.Enabled {
			continue
		}
		key := child
		switch child.Class {
		case "CSVDataSet":
			if m, ok := c.made[key].(iterated); ok {
				n.listeners = append(n.listeners, m)
				continue
			}
			m := c.csv(child)
			c.made[key] = m
			n.listeners = append(n.listeners, m)
		case "CounterConfig":
			if m, ok := c.made[key].(iterated); ok {
				n.listeners = append(n.listeners, m)
				continue
			}
			m := c.counter(child)
			c.made[key] = m
			n.listeners = append(n.listeners, m)
		case "RandomVariableConfig":
			m := c.randomVariable(child)
			n.listeners = append(n.listeners, m)
		case "UserParameters":
			if child.flag("UserParameters.per_iteration") {
				n.listeners = append(n.listeners, c.userParameters(child))
			}
		case "ConfigTestElement":
			if !httpDefaults(child) && child.GUI != "SimpleConfigGui" {
				c.fault(child, "defaults of this kind (%s) aren't translated", child.GUI)
			}
		case "Arguments", "HeaderManager", "CookieManager", "CacheManager", "AuthManager", "DNSCacheManager",
			"JDBCDataSource":
		}
	}
}

// httpDefaults reports whether an element is HTTP Request Defaults.
func httpDefaults(e *Element) bool {
	return e.Class == "ConfigTestElement" && (strings.Contains(e.GUI, "HttpDefaultsGui") || e.has("HTTPSampler.domain") ||
		e.has("HTTPSampler.path"))
}

// operation assigns a sampler to the operation of its name.
func (c *compiler) operation(s *sampler) {
	p := c.program
	name := strings.NewReplacer("${", "<", "{", "<", "}", ">", "\n", " ").Replace(strings.TrimSpace(s.name.raw))
	if name == "" {
		name = s.element.Class
	}
	i := slices.IndexFunc(p.operations, func(o operation) bool { return o.name == name })
	if i < 0 {
		p.operations = append(p.operations, operation{name: name})
		i = len(p.operations) - 1
	}
	s.operation = i
	p.operations[i].samplers = append(p.operations[i].samplers, s)
	protocol := overHTTP
	if s.kind == jdbcSampler {
		if s.jdbc == nil {
			return
		}
		protocol = s.jdbc.source.protocol
	}
	if p.protocol != "" && p.protocol != protocol {
		c.fault(s.element, "the plan has requests of HTTP and of databases, or of several kinds of databases: "+
			"a load has one protocol; disable the others, or split the plan")
	}
	if p.protocol == "" {
		p.protocol = protocol
	}
}

// action compiles a Flow Control Action.
func (c *compiler) action(e *Element) *flowAction {
	target := strings.TrimSpace(e.text("ActionProcessor.target"))
	a := &flowAction{all: target == "2", pause: c.text(e, "ActionProcessor.duration")}
	switch strings.TrimSpace(e.text("ActionProcessor.action")) {
	case "0":
		a.action = "stop"
	case "1":
		a.action = "pause"
	case "2":
		a.action = "stopNow"
	case "3":
		a.action = nextOfThread
	case "4":
		a.action = nextOfLoop
	case "5":
		a.action = breakLoop
	default:
		c.fault(e, "the action %q isn't known", e.text("ActionProcessor.action"))
	}
	return a
}

// script compiles the script of a JSR223 element.
func (c *compiler) script(e *Element) *code {
	language := strings.ToLower(strings.TrimSpace(e.text("scriptLanguage")))
	if strings.TrimSpace(e.text("filename")) == "" && strings.TrimSpace(e.text("script")) == "" {
		empty, _ := compileCode("", groovy)
		return empty
	}
	f := groovy
	switch language {
	case "groovy", "":
	case "jexl", "jexl2", "jexl3":
		f = jexl
	default:
		c.fault(e, "scripts in %s aren't translated; write them in Groovy", language)
		return nil
	}
	src := e.text("script")
	if name := strings.TrimSpace(e.text("filename")); name != "" {
		b, err := c.in.files.read(name)
		if err != nil {
			c.fault(e, "%v", err)
			return nil
		}
		src = string(b)
	}
	x, err := parseText(src)
	if err != nil && !strings.Contains(src, "vars") {
		c.fault(e, "%v", err)
		return nil
	}
	if err == nil && !x.fixed() && strings.Contains(src, "${__") {
		src = x.eval(c.dry()) // as with a compiled script: once
	}
	compiled, err := compileCode(src, f)
	if err != nil {
		c.fault(e, "the script, %v", err)
		return nil
	}
	for _, name := range putNames(src) {
		c.written[name] = true
	}
	return compiled
}

// putNames returns the variables that a script sets.
func putNames(src string) (names []string) {
	for rest := src; ; {
		i := strings.Index(rest, "vars.put")
		if i < 0 {
			return names
		}
		rest = rest[i+8:]
		if j := strings.IndexAny(rest, `"'`); j >= 0 {
			if k := strings.IndexByte(rest[j+1:], rest[j]); k >= 0 {
				names = append(names, rest[j+1:j+1+k])
			}
		}
	}
}

// scripted is a script as a processor, assertion or timer.
type scripted struct {
	element *Element
	code    *code
	params  text
}

func (c *compiler) scripted(e *Element) *scripted {
	return &scripted{element: e, code: c.script(e), params: c.text(e, "parameters")}
}

func (s *scripted) run(t *thread, r *result, v *assertResult) any {
	params := s.params.eval(t)
	value, err := s.code.runCode(t, r, v, map[string]any{"Parameters": params, "args": listOf(strings.Fields(params))})
	if err != nil {
		t.program.complain("%s: the script, %v", s.element, err)
	}
	return value
}

type scriptBefore struct{ *scripted }

func (s scriptBefore) process(t *thread, _ *sampler) { s.run(t, t.previous, nil) }

type scriptAfter struct{ *scripted }

func (s scriptAfter) process(t *thread, r *result) { s.run(t, r, nil) }

type scriptAssertion struct{ *scripted }

func (s scriptAssertion) check(t *thread, r *result) assertResult {
	v := assertResult{name: s.element.Name}
	s.run(t, r, &v)
	return v
}

type scriptTimer struct{ *scripted }

func (s scriptTimer) wait(t *thread, _ *sampler) (time.Duration, bool) {
	n, _, _ := number(s.run(t, t.previous, nil), jexl)
	return time.Duration(n) * time.Millisecond, true
}

// before compiles a preprocessor.
func (c *compiler) before(e *Element) any {
	switch e.Class {
	case "UserParameters":
		if !e.flag("UserParameters.per_iteration") {
			return c.userParameters(e)
		}
	case "JSR223PreProcessor":
		if s := c.scripted(e); s.code != nil {
			return scriptBefore{s}
		}
	case "SampleTimeout":
		c.note("%s: set the response timeout of the requests instead", e)
	}
	return nil
}

// listener compiles a listener.
func (c *compiler) listener(e *Element) any {
	switch e.Class {
	case "BackendListener":
		c.note("%s: not sent; give --export influx=URL, prometheus=URL or otlp=URL", e)
	case "MailerResultCollector":
		c.note("%s: no mails are sent", e)
	case "ResultSaver":
		c.note("%s: answers aren't saved", e)
	case "JSR223Listener":
		if s := c.scripted(e); s.code != nil {
			return scriptAfter{s}
		}
	case "ResultCollector":
		name := c.early(e, "filename")
		if name == "" {
			return nil
		}
		return &collector{element: e, name: name, errorsOnly: e.flag("ResultCollector.error_logging"),
			successOnly: e.flag("ResultCollector.success_only_logging")}
	}
	return nil
}

// collector is a listener that writes samples to a file.
type collector struct {
	element                 *Element
	name                    string
	errorsOnly, successOnly bool
}
