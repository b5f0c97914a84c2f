package jmeter

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// input is what a plan is compiled from.
type input struct {
	file  string // name of the test plan
	text  []byte
	props map[string]string
	seed  uint64
	files *files
}

// compiler compiles a test plan.
type compiler struct {
	in       *input
	root     *Element
	plan     *Element
	program  *Program
	faults   []*Fault
	notes    []string
	made     map[*Element]any // what elements were compiled to
	scope    []*Element       // from the test plan to the element that is being compiled
	nodes    []*node          // controllers above it
	group    *group
	modules  int // nesting of module and include controllers
	included map[string]*Element
	written  map[string]bool // variables that the plan sets while it runs
	database *dataSource     // of the first JDBC Request
}

// compile compiles a test plan. faults says what can't be carried out; the program is then nil. notes says what was
// left out.
func compile(in *input) (p *Program, faults []*Fault, notes []string) {
	root, err := Parse(in.text)
	if err != nil {
		return nil, []*Fault{asFault(err, in.file)}, nil
	}
	c := &compiler{in: in, root: root, made: map[*Element]any{}, included: map[string]*Element{},
		written: map[string]bool{}}
	c.program = newProgram(in)
	c.setFile(root, in.file)
	if c.plan = enabledChild(root, "TestPlan"); c.plan == nil {
		c.faults = append(c.faults, c.noPlan(root))
		return nil, c.faults, nil
	}
	c.whole()
	if len(c.faults) > 0 {
		slices.SortStableFunc(c.faults, func(a, b *Fault) int { return a.Line - b.Line })
		return nil, slices.CompactFunc(c.faults, func(a, b *Fault) bool { return *a == *b }), c.notes
	}
	return c.program, nil, c.notes
}

func newProgram(in *input) *Program {
	return &Program{file: path.Base(in.file), files: in.files, seed: in.seed, now: time.Now, props: in.props,
		regexes: map[string]*regex{}, codes: map[codeKey]compiledCode{}, texts: map[string]*text{},
		throughputs: map[*node]*[2]int{}, locks: map[string]*thread{}, sources: map[string]*sourced{},
		complained: map[string]bool{},
		actives:    map[*group]int{}, written: map[string]*jtl{}}
}

func asFault(err error, file string) *Fault {
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		return &Fault{File: file, Text: err.Error()}
	}
	if f.File == "" {
		f.File = file
	}
	return f
}

func (c *compiler) setFile(e *Element, file string) {
	e.File = file
	for _, child := range e.Children {
		c.setFile(child, file)
	}
}

func enabledChild(e *Element, class string) *Element {
	for _, child := range e.Children {
		if child.Class == class && child.Enabled {
			return child
		}
	}
	return nil
}

// noPlan explains a file without a test plan.
func (c *compiler) noPlan(root *Element) *Fault {
	f := &Fault{File: c.in.file, Line: root.Line, Text: "there is no test plan in the file"}
	for _, e := range root.Children {
		if strings.Contains(e.Class, "Fragment") || strings.Contains(e.Class, "Controller") {
			f.Line = e.Line
			f.Text = "the file is a test fragment, which only an Include or Module Controller of another plan runs; " +
				"give the plan that includes it"
		}
	}
	return f
}

// whole compiles the test plan.
func (c *compiler) whole() {
	p := c.program
	p.functional, p.serialize = c.plan.flag("TestPlan.functional_mode"), c.plan.flag("TestPlan.serialize_threadgroups")
	p.tearsDown = c.plan.flag("TestPlan.tearDown_on_shutdown")
	if c.plan.text("TestPlan.user_define_classpath") != "" {
		c.note("the class path of the test plan: brunt runs no Java")
	}
	c.arguments(c.plan, c.plan.list("TestPlan.user_defined_variables"))
	c.variablesBelow(c.plan)
	c.scope = []*Element{c.plan}
	for _, e := range c.plan.Children {
		if e.Enabled {
			c.checkLevel(e)
		}
	}
	p.starting = c.startingVariables()
	kinds := map[string]groupKind{"ThreadGroup": mainGroup, "SetupThreadGroup": setUp, "PostThreadGroup": tearDown}
	for kind := setUp; kind <= tearDown; kind++ {
		number := 0
		for _, e := range c.plan.Children {
			if k, ok := kinds[e.Class]; ok && k == kind && e.Enabled {
				number++
				c.threadGroup(e, kind, number)
			}
		}
	}
	if len(p.groups) == 0 && len(c.faults) == 0 {
		f := c.plan.fault("there is no enabled thread group")
		for _, e := range c.plan.Children {
			if e.Class == "TestFragmentController" {
				f = c.plan.fault("there are only test fragments, which nothing runs: " +
					"add a thread group with a Module Controller")
			}
		}
		c.faults = append(c.faults, f)
	}
	if len(c.faults) == 0 {
		c.wavesOf()
		c.targets()
	}
}

// checkLevel reports elements below the test plan that can't be run.
func (c *compiler) checkLevel(e *Element) {
	switch e.Class {
	case "ThreadGroup", "SetupThreadGroup", "PostThreadGroup", "TestFragmentController":
	default:
		if strings.HasSuffix(e.Class, "ThreadGroup") {
			c.fault(e, "this kind of thread group isn't translated; use a Thread Group")
			return
		}
		c.classify(e)
	}
}

func (c *compiler) fault(e *Element, format string, args ...any) {
	c.faults = append(c.faults, e.fault(format, args...))
}

func (c *compiler) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(c.notes, n) {
		c.notes = append(c.notes, n)
	}
}

// text compiles a text property.
func (c *compiler) text(e *Element, name string) text {
	return c.textOf(e, name, number0(e, name))
}

func (c *compiler) textOf(e *Element, name, raw string) text {
	x, err := parseText(raw)
	if err != nil {
		c.fault(e, "%s: %v", name, err)
	}
	return x
}

// early evaluates a text before the load, with the variables that are known then.
func (c *compiler) early(e *Element, name string) string {
	x := c.text(e, name)
	return strings.TrimSpace(x.eval(c.dry()))
}

// dry returns a thread to evaluate texts with before the load.
func (c *compiler) dry() *thread {
	t := &thread{program: c.program, group: &group{}, vars: map[string]string{}, random: newRandom(c.in.seed, 0)}
	for k, v := range c.program.starting {
		t.vars[k] = v
	}
	return t
}

func (c *compiler) number(e *Element, name string, fallback int) int {
	s := c.early(e, name)
	if s == "" {
		return fallback
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < -1 || n > 1e9 {
		c.fault(e, "%s: %q isn't a number that is known before the load", name, cut(s))
		return fallback
	}
	return int(n)
}

// arguments adds user defined variables.
func (c *compiler) arguments(e *Element, list []*property) {
	for _, outer := range list {
		if outer.name != "Arguments.arguments" {
			continue
		}
		c.program.lists = append(c.program.lists, len(c.program.variables))
		for _, arg := range outer.list {
			name, err := parseText(arg.value("Argument.name"))
			value, err2 := parseText(arg.value("Argument.value"))
			if err := errors.Join(err, err2); err != nil {
				c.faults = append(c.faults, &Fault{File: e.File, Line: arg.line, Element: e.String(), Text: err.Error()})
				continue
			}
			c.program.variables = append(c.program.variables, [2]text{name, value})
		}
	}
}

// variablesBelow adds the user defined variables of the enabled elements below one.
func (c *compiler) variablesBelow(e *Element) {
	for _, child := range e.Children {
		if !child.Enabled {
			continue
		}
		if child.Class == "Arguments" {
			c.arguments(child, []*property{child.props["Arguments.arguments"]})
		}
		c.variablesBelow(child)
	}
}

// startingVariables evaluates the user defined variables. They see properties and those of earlier elements, but not
// those of their own.
func (c *compiler) startingVariables() map[string]string {
	t := &thread{program: c.program, group: &group{}, vars: map[string]string{}, random: newRandom(c.in.seed, 1<<40)}
	now := c.program.now()
	out := map[string]string{"START.MS": strconv.FormatInt(now.UnixMilli(), 10), "START.YMD": javaTime("yyyyMMdd", now),
		"START.HMS": javaTime("HHmmss", now), "TESTSTART.MS": strconv.FormatInt(now.UnixMilli(), 10)}
	for i := range c.program.variables {
		if slices.Contains(c.program.lists, i) {
			maps.Copy(t.vars, out)
		}
		v := &c.program.variables[i]
		out[v[0].eval(t)] = v[1].eval(t)
	}
	return out
}

// threadGroup compiles a thread group.
func (c *compiler) threadGroup(e *Element, kind groupKind, number int) {
	g := &group{element: e, name: e.Name, kind: kind, number: number, onError: e.text("ThreadGroup.on_sample_error"),
		sameUser: !e.has("ThreadGroup.same_user_on_next_iteration") || e.flag("ThreadGroup.same_user_on_next_iteration")}
	c.group = g
	g.threads = c.number(e, "ThreadGroup.num_threads", 1)
	g.ramp = time.Duration(c.number(e, "ThreadGroup.ramp_time", 0)) * time.Second
	if e.flag("ThreadGroup.scheduler") {
		g.duration = time.Duration(c.number(e, "ThreadGroup.duration", 0)) * time.Second
		g.delay = time.Duration(c.number(e, "ThreadGroup.delay", 0)) * time.Second
	}
	if g.threads > 1_000_000 {
		c.fault(e, "%d threads are more than 1000000", g.threads)
		return
	}
	root := &node{element: e, kind: loopController, loops: text{raw: "1"}}
	if main := e.props["ThreadGroup.main_controller"]; main != nil {
		if loops := main.get("LoopController.loops"); loops != nil {
			root.loops = c.textOf(e, "Loop Count", strings.TrimSpace(loops.text))
		}
		// Without the property, JMeter's own value is true.
		if f := main.get("LoopController.continue_forever"); f == nil || strings.EqualFold(f.text, "true") {
			root.loops = text{raw: "-1"}
		}
	}
	g.root = root
	c.scope = []*Element{c.plan}
	c.listen(root, c.plan)
	c.scope = append(c.scope, e)
	c.listen(root, e)
	c.nodes = []*node{root}
	c.below(root, e)
	c.scope = c.scope[:1]
	if g.threads > 0 {
		c.program.groups = append(c.program.groups, g)
	}
}

// wavesOf numbers the threads and decides which groups run together.
func (c *compiler) wavesOf() {
	p := c.program
	first, w := 0, -1
	for i, g := range p.groups {
		if i == 0 || g.kind != p.groups[i-1].kind || g.kind == mainGroup && p.serialize {
			w++
			p.waves = append(p.waves, wave{})
		}
		g.wave, g.first = w, first
		first += g.threads
		p.waves[w].left += g.threads
	}
}

// below compiles what hangs below a controller.
func (c *compiler) below(n *node, e *Element) {
	for _, child := range e.Children {
		if child.Enabled {
			c.child(n, child)
		}
	}
}

// child compiles one element below a controller.
func (c *compiler) child(n *node, e *Element) {
	switch c.classify(e) {
	case isController:
		if len(c.scope) > mostDepth || c.modules > 20 {
			c.fault(e, "controllers are nested too deeply, or a module runs itself")
			return
		}
		m := c.controller(n, e)
		if m == nil {
			return
		}
		n.children = append(n.children, m)
	case isSampler:
		c.scope = append(c.scope, e)
		if s := c.sampler(e); s != nil {
			n.children = append(n.children, &node{element: e, sampler: s})
		}
		c.listen(n, e)
		c.scope = c.scope[:len(c.scope)-1]
	}
}

// controller compiles a controller with what is below it.
func (c *compiler) controller(up *node, e *Element) *node {
	m := &node{element: e, kind: controllers[e.Class], name: c.textOf(e, "name", e.Name)}
	from := e
	switch e.Class {
	case "ModuleController":
		if from = c.module(e); from == nil {
			return nil
		}
		m = c.moduleNode(e, from)
		c.modules++
		defer func() { c.modules-- }()
	case "IncludeController":
		if from = c.include(e); from == nil {
			return nil
		}
		c.modules++
		defer func() { c.modules-- }()
	default:
		c.settings(m, e)
	}
	c.scope = append(c.scope, e)
	if from != e {
		c.scope = append(c.scope, from)
		c.listen(m, from)
	}
	c.listen(m, e)
	c.nodes = append(c.nodes, m)
	c.below(m, from)
	c.nodes = c.nodes[:len(c.nodes)-1]
	c.scope = c.scope[:len(c.scope)-1]
	if from != e {
		c.scope = c.scope[:len(c.scope)-1]
	}
	return m
}

// settings reads what a controller has besides children.
func (c *compiler) settings(m *node, e *Element) {
	switch m.kind {
	case loopController:
		m.loops, m.forever = c.text(e, "LoopController.loops"), true
		if !e.has("LoopController.loops") {
			m.loops = text{raw: "1"}
		}
	case whileController:
		m.condition = c.text(e, "WhileController.condition")
	case ifController:
		m.condition, m.script = c.text(e, "IfController.condition"), !e.flag("IfController.useExpression")
		if m.script && m.condition.fixed() {
			if _, err := compileCode(m.condition.raw, jexl); err != nil {
				c.fault(e, "the condition: %v", err)
			}
		}
	case switchController:
		m.condition = c.text(e, "SwitchController.value")
	case interleaveController, randomController:
		m.style, _ = strconv.Atoi(strings.TrimSpace(e.text("InterleaveControl.style")))
		if e.flag("InterleaveControl.accrossThreads") {
			c.note("%s: interleaving across threads; each thread interleaves by itself", e)
		}
	case transactionController:
		m.parent = e.flag("TransactionController.parent")
	case criticalController:
		m.condition = c.text(e, "CriticalSectionController.lockName")
	case throughputController:
		for _, name := range []string{"ThroughputController.maxThroughput", "ThroughputController.percentThroughput"} {
			c.text(e, name)
		}
	}
}

// moduleNode returns a controller for the one that a Module Controller names.
func (c *compiler) moduleNode(e, target *Element) *node {
	m := &node{element: target, kind: controllers[target.Class], name: c.textOf(target, "name", target.Name)}
	c.settings(m, target)
	_ = e
	return m
}

// module finds the controller that a Module Controller names.
func (c *compiler) module(e *Element) *Element {
	var names []string
	for _, p := range e.list("ModuleController.node_path") {
		names = append(names, p.text)
	}
	at := c.root
	for _, name := range names[min(1, len(names)):] { // the first is the window's root, which isn't in the file
		next := enabledOrNot(at, name)
		if next == nil {
			c.fault(e, "there is no %q below %q, which its path names", name, at.Name)
			return nil
		}
		at = next
	}
	if at == c.root || len(names) == 0 {
		c.fault(e, "it names no controller")
		return nil
	}
	if _, ok := controllers[at.Class]; !ok {
		c.fault(e, "it names %s, which isn't a controller", at)
		return nil
	}
	return at
}

func enabledOrNot(e *Element, name string) *Element {
	for _, child := range e.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// include reads the fragment that an Include Controller names.
func (c *compiler) include(e *Element) *Element {
	name := c.early(e, "IncludeController.includepath")
	if prefix, ok := c.program.property("includecontroller.prefix"); ok {
		name = prefix + name
	}
	if from := c.included[name]; from != nil {
		return from
	}
	b, err := c.in.files.read(name)
	if err != nil {
		c.fault(e, "%v", err)
		return nil
	}
	root, err := Parse(b)
	if err != nil {
		c.faults = append(c.faults, asFault(err, name))
		return nil
	}
	c.setFile(root, name)
	from := root
	if plan := enabledChild(root, "TestPlan"); plan != nil {
		from = plan
	}
	if fragment := enabledChild(from, "TestFragmentController"); fragment != nil {
		from = fragment
	} else if from.Class == "TestPlan" {
		c.fault(e, "%s has no test fragment", name)
		return nil
	}
	c.variablesBelow(from)
	c.program.starting = c.startingVariables()
	c.included[name] = from
	return from
}
