package jmeter

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// controller is a controller of one thread: it says which sampler comes next. It does what the classes in
// org.apache.jmeter.control do: GenericController and those that extend it.
type controller struct {
	node *node
	up   *controller
	kids []kid

	current   int
	first     bool
	done      bool
	iteration int // how often it has begun, from 0

	loops    int  // loop: passes so far
	broken   bool // loops: a break was asked for
	skip     bool // interleave: one has been chosen
	search   int  // interleave: where the search began; -1: nowhere
	any      bool // interleave: the current one has returned something
	moved    bool // interleave: it has gone on to another child in this turn
	empty    bool // interleave: the current one has just returned nothing
	order    []int
	executed int       // throughput: times
	seen     int       // throughput: iterations
	runs     bool      // throughput, if: this time
	began    time.Time // runtime
	position int       // foreach
	locked   bool      // critical section
	index    string    // loops: the variable with the number of the pass; "": its name isn't known yet
	nothing  int       // transaction: children whose turn ended since the last sampler
	begun    *transaction
}

// kid is a controller or a sampler below a controller.
type kid struct {
	controller *controller
	leaf       *leaf
}

// leaf is a sampler in a thread's tree.
type leaf struct {
	s  *sampler
	up *controller
}

// yielding is returned when a controller has nothing to do for a moment: the thread asks again a little later.
var yielding = &leaf{}

// mostSpins is how many passes without a sampler a thread makes before it yields.
const mostSpins = 200

// build makes a thread's tree.
func build(n *node, up *controller) *controller {
	c := &controller{node: n, up: up, first: true, search: -1}
	for _, child := range n.children {
		if child.sampler != nil {
			c.kids = append(c.kids, kid{leaf: &leaf{child.sampler, c}})
		} else {
			c.kids = append(c.kids, kid{controller: build(child, c)})
		}
	}
	return c
}

// next returns the next sampler; nil when the controller's turn is over.
func (c *controller) next(t *thread) *leaf {
	l := c.choose(t)
	switch c.node.kind {
	case loopController, whileController:
		c.tell(t, c.loops)
	case foreachController:
		c.tell(t, max(c.position-1, 0))
	}
	return l
}

// tell sets the variable of the number of a pass.
func (c *controller) tell(t *thread, pass int) {
	if c.up == nil { // see thread.iterated
		return
	}
	name := c.index
	if name == "" {
		name = "__jm__" + c.node.name.eval(t) + "__idx"
		if c.node.name.fixed() {
			c.index = name
		}
	}
	t.vars[name] = strconv.Itoa(pass)
}

func (c *controller) choose(t *thread) *leaf {
	switch c.node.kind {
	case loopController:
		if c.loopOver(t) {
			c.broken = false
			if c.done = !c.node.forever; !c.done {
				c.loops = 0
			}
			return nil
		}
	case whileController:
		if c.first && c.whileOver(t, false) {
			c.broken = false
			c.restart()
			return nil
		}
	case foreachController:
		if c.first && c.position == 0 && !c.broken {
			c.position = c.foreachStart(t)
		}
		if c.broken || !c.foreachSet(t) {
			c.broken, c.position = false, 0
			c.restart()
			return nil
		}
	case ifController:
		if c.first || c.node.element.flag("IfController.evaluateAll") {
			c.runs = t.condition(c.node)
		}
		if !c.runs {
			for _, k := range c.kids {
				if k.controller != nil {
					k.controller.endLoop(t)
				}
			}
			c.restart()
			return nil
		}
	case switchController:
		if c.first {
			c.current = c.selection(t)
		}
	case throughputController:
		if !c.runs {
			return nil
		}
	case runtimeController:
		if c.first && c.began.IsZero() {
			c.began = t.program.now()
		}
		if t.program.now().Sub(c.began) >= c.runtime(t) {
			c.began = time.Time{}
			c.endLoopOf(t)
			return nil
		}
	case criticalController:
		if !c.locked && !t.program.lock(c.node.condition.eval(t), t) {
			return yielding
		}
		c.locked = true
	case interleaveController, randomController:
		if c.skip {
			c.restart()
			return nil
		}
	case transactionController:
		return c.transact(t)
	}
	return c.generic(t)
}

// generic is GenericController.next.
func (c *controller) generic(t *thread) *leaf {
	for {
		c.announce(t)
		if c.done {
			return nil
		}
		if len(c.kids) == 0 {
			c.done = c.node.kind != loopController || !c.node.forever
			return c.unlock(t)
		}
		if c.current >= len(c.kids) {
			return c.passed(t)
		}
		if c.interleaves() {
			if c.search == c.current && c.moved {
				c.restart()
				return nil
			}
			if c.search < 0 {
				c.search = c.current
			}
		}
		k := c.kids[c.at()]
		if k.leaf != nil {
			c.skip = c.interleaves()
			c.advance(t)
			return k.leaf
		}
		if l := k.controller.next(t); l != nil {
			if c.interleaves() && l != yielding {
				c.any, c.empty = true, false
				if c.node.style == 1 { // a block counts as one
					c.search = -1
				} else {
					c.advance(t)
				}
			}
			return l
		}
		if c.nothing++; k.controller.node.kind == transactionController && k.controller.node.parent && c.begun != nil {
			c.begun.calls++ // that of the transaction's end
		}
		if c.returnedNothing(t, k.controller) {
			return c.next(t)
		}
	}
}

// returnedNothing goes on after a child whose turn is over. It reports whether the choice is to be made again.
func (c *controller) returnedNothing(t *thread, child *controller) bool {
	switch {
	case child.done:
		i := c.at()
		c.kids = slices.Delete(slices.Clone(c.kids), i, i+1)
		c.order = nil
		if c.node.kind == switchController {
			c.current = 1 << 30
		}
	case c.interleaves() && c.node.style == 0 && !c.empty: // the block may begin again
		c.empty = true
	default:
		c.empty = false
		c.advance(t)
	}
	return c.interleaves()
}

// at is the index of the current child.
func (c *controller) at() int {
	if c.node.kind == randomOrderController && len(c.order) == len(c.kids) {
		return c.order[c.current]
	}
	return c.current
}

func (c *controller) interleaves() bool {
	return c.node.kind == interleaveController || c.node.kind == randomController
}

// advance goes to the next child.
func (c *controller) advance(t *thread) {
	c.moved = true
	c.skip = c.skip || c.any && c.interleaves()
	switch c.node.kind {
	case switchController:
		c.current = 1 << 30
	case randomController:
		c.current = t.random.IntN(max(len(c.kids), 1))
	default:
		c.current++
	}
}

// announce tells what counts iterations that one begins: counters, CSV data sets, once only controllers …
func (c *controller) announce(t *thread) {
	if !c.first {
		return
	}
	c.first = false
	n := c.iteration
	if c.node.kind == loopController {
		n = c.loops
	}
	switch c.node.kind {
	case randomOrderController:
		c.order = t.random.Perm(len(c.kids))
	case randomController:
		if len(c.kids) > 0 {
			c.current = t.random.IntN(len(c.kids))
		}
	}
	for _, l := range c.node.listeners {
		l.iterate(t)
	}
	if c.up == nil {
		t.iterated()
	}
	for _, k := range c.kids {
		if k.controller == nil {
			continue
		}
		switch k.controller.node.kind {
		case onceController:
			if n == 0 {
				k.controller.restart()
			}
		case throughputController:
			k.controller.decide(t)
		}
	}
}

// passed is called at the end of the children: nextIsNull.
func (c *controller) passed(t *thread) *leaf {
	switch c.node.kind {
	case onceController:
		return nil
	case interleaveController, randomController:
		c.current = 0
		if c.node.kind == randomController {
			c.current = t.random.IntN(max(len(c.kids), 1))
		}
		return c.next(t)
	case loopController, whileController, foreachController:
		c.restart()
		c.loops++
		c.position++
		if t.spins++; t.spins > mostSpins {
			t.spins = 0
			return yielding
		}
		if c.node.kind == whileController && c.whileOver(t, true) {
			return nil
		}
		if c.node.kind == loopController && c.loopOver(t) {
			if c.done = !c.node.forever; !c.done {
				c.loops = 0
			}
			return nil
		}
		return c.next(t)
	case runtimeController:
		c.restart()
		if t.spins++; t.spins > mostSpins {
			t.spins = 0
			return yielding
		}
		return c.next(t)
	}
	c.restart()
	return c.unlock(t)
}

// unlock ends a critical section.
func (c *controller) unlock(t *thread) *leaf {
	if c.locked {
		c.locked = false
		t.program.unlock(c.node.condition.eval(t), t)
	}
	return nil
}

// restart prepares for the next pass: reInitialize.
func (c *controller) restart() {
	if !c.interleaves() {
		c.current = 0
	}
	c.first, c.skip, c.any, c.moved, c.search = true, false, false, false, -1
	c.iteration++
}

// loopOver reports whether a loop has made its passes.
func (c *controller) loopOver(t *thread) bool {
	n := c.node.count(t)
	return c.broken || n >= 0 && c.loops >= n
}

func (c *controller) whileOver(t *thread, end bool) bool {
	if c.broken {
		return true
	}
	cond := strings.TrimSpace(c.node.condition.eval(t))
	if end && cond == "" || strings.EqualFold(cond, "LAST") {
		return t.vars[lastOK] == "false"
	}
	return strings.EqualFold(cond, "false")
}

// lastOK is the variable that says whether the last sample was a success.
const lastOK = "JMeterThread.last_sample_ok"

func (c *controller) foreachStart(t *thread) int {
	n, _ := strconv.Atoi(strings.TrimSpace(t.evalText(c.node.element.text("ForeachController.startIndex"))))
	return n + 1
}

// foreachSet sets the variable of a pass, and reports whether there is one.
func (c *controller) foreachSet(t *thread) bool {
	e := c.node.element
	if end, err := strconv.Atoi(strings.TrimSpace(t.evalText(e.text("ForeachController.endIndex")))); err == nil &&
		c.position > end {
		return false
	}
	name := t.evalText(e.text("ForeachController.inputVal"))
	if !e.has("ForeachController.useSeparator") || e.flag("ForeachController.useSeparator") {
		name += "_"
	}
	v, ok := t.vars[name+strconv.Itoa(c.position)]
	if !ok {
		return false
	}
	if c.first {
		t.vars[t.evalText(e.text("ForeachController.returnVal"))] = v
	}
	return true
}

// selection returns the index of the child that a switch controller chooses.
func (c *controller) selection(t *thread) int {
	value := c.node.condition.eval(t)
	if value == "" {
		return 0
	}
	if n, err := strconv.Atoi(value); err == nil {
		if n < 0 || n >= len(c.kids) {
			return 0
		}
		return n
	}
	fallback := 1 << 30
	for i, k := range c.kids {
		name := ""
		if k.leaf != nil {
			name = k.leaf.s.name.eval(t)
		} else {
			name = k.controller.node.element.Name
		}
		if strings.EqualFold(name, value) {
			return i
		}
		if strings.EqualFold(name, "default") {
			fallback = i
		}
	}
	return fallback
}

// decide says whether a throughput controller runs in this iteration.
func (c *controller) decide(t *thread) {
	executed, seen := &c.executed, &c.seen
	if !c.node.element.flag("ThroughputController.perThread") {
		t.program.mu.Lock()
		defer t.program.mu.Unlock()
		g := t.program.throughputs[c.node]
		if g == nil {
			g = new([2]int)
			t.program.throughputs[c.node] = g
		}
		executed, seen = &g[0], &g[1]
	}
	e := c.node.element
	if e.text("ThroughputController.style") == "1" {
		percent, _ := strconv.ParseFloat(strings.TrimSpace(t.evalText(number0(e,
			"ThroughputController.percentThroughput"))), 64)
		c.runs = (100*float64(*executed)+50)/float64(*seen+1) < percent
	} else {
		most, _ := strconv.Atoi(strings.TrimSpace(t.evalText(number0(e, "ThroughputController.maxThroughput"))))
		c.runs = *executed < most
	}
	*seen++
	if c.runs {
		*executed++
	}
}

// number0 returns a property's text, whichever way JMeter has written the number.
func number0(e *Element, name string) string {
	p := e.props[name]
	if p == nil {
		return ""
	}
	if p.text == "" || strings.TrimSpace(p.text) == "" {
		return p.value("value")
	}
	return p.text
}

func (c *controller) runtime(t *thread) time.Duration {
	n, _ := strconv.ParseFloat(strings.TrimSpace(t.evalText(c.node.element.text("RunTime.seconds"))), 64)
	return time.Duration(n * float64(time.Second))
}

// endLoop prepares the controller for another pass, wherever it stands: triggerEndOfLoop.
func (c *controller) endLoop(t *thread) {
	if c.node.kind == transactionController && c.begun != nil {
		c.commit(t)
	}
	c.unlock(t)
	c.restart()
	c.loops, c.position = 0, 0
}

// endLoopOf is endLoop for the controller and all below it.
func (c *controller) endLoopOf(t *thread) {
	for _, k := range c.kids {
		if k.controller != nil {
			k.controller.endLoopOf(t)
		}
	}
	c.endLoop(t)
}

// iterates reports whether the controller is a loop.
func (c *controller) iterates() bool {
	return c.node.kind == loopController || c.node.kind == whileController || c.node.kind == foreachController
}

// The actions that leave a pass.
const (
	nextOfThread = "nextOfThread"
	nextOfLoop   = "nextOfLoop"
	breakLoop    = "breakLoop"
)

// leave ends the pass of the thread's loop, or of the innermost loop around a sampler.
func (t *thread) leave(from *controller, how string) {
	for c := from; c != nil; c = c.up {
		if c.up == nil || how != nextOfThread && c.iterates() {
			if how == breakLoop && c.up != nil || how == breakLoop && c.iterates() {
				c.broken = true
				c.current, c.first, c.loops = 0, true, 0
				return
			}
			c.restart()
			c.loops++
			c.position++
			return
		}
		c.endLoop(t)
	}
}

// transaction is a transaction under way.
type transaction struct {
	result  *result
	calls   int // of TransactionController.next that found something
	samples int
	failed  int
	idle    time.Duration
	prevEnd time.Time
	code    string        // of the last that failed
	total   time.Duration // of its samples
}

// transact is TransactionController.next.
func (c *controller) transact(t *thread) *leaf {
	if c.first {
		now := t.program.now()
		c.nothing = 0
		c.begun = &transaction{result: &result{label: c.node.name.eval(t), success: true, start: now, url: "null"},
			prevEnd: now}
	}
	l := c.generic(t)
	if l == nil && c.begun != nil {
		c.commit(t)
	}
	if l != nil && l != yielding && c.begun != nil && !c.node.parent {
		c.begun.calls += 1 + c.nothing // JMeter's GenericController.next calls itself after each
		c.nothing = 0
	}
	return l
}

// add counts a sample of a transaction.
func (x *transaction) add(r *result) {
	x.samples++
	if r.start.After(x.prevEnd) {
		x.idle += r.start.Sub(x.prevEnd)
	}
	x.prevEnd = r.end
	x.total += r.elapsed()
	x.result.bytes += r.bytes
	x.result.sent += r.sent
	x.result.latency += r.latency
	x.result.connect += r.connect
	if !r.success {
		x.failed++
		x.code = r.code
		x.result.success = false
	}
}

// commit reports a transaction.
func (c *controller) commit(t *thread) {
	x := c.begun
	c.begun = nil
	r := x.result
	e := c.node.element
	r.end = t.program.now()
	switch timers := !e.has("TransactionController.includeTimers") || e.flag("TransactionController.includeTimers"); {
	case c.node.parent:
		if timers {
			break
		}
		r.end = r.start.Add(x.total)
	case !timers:
		r.idle = x.idle + max(r.end.Sub(x.prevEnd), 0)
	}
	if c.node.parent {
		x.calls = x.samples
	}
	r.message = "Number of samples in transaction : " + strconv.Itoa(x.calls) + ", number of failing samples : " +
		strconv.Itoa(x.failed)
	if r.success {
		r.code = "200"
	} else if c.node.parent {
		r.code = x.code
	}
	r.transaction = !c.node.parent
	r.unnamed = x.samples == 0 && !c.node.parent
	t.emit(r, c.up, nil)
}
