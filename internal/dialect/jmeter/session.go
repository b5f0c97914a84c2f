package jmeter

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// newRandom returns a thread's source of random numbers.
func newRandom(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number+1)) }

var (
	_ script.Program = (*Program)(nil)
	_ script.Session = (*thread)(nil)
	_ script.Chooser = (*thread)(nil)
	_ script.Waiter  = (*thread)(nil)
)

// Session implements script.Program: a session is a thread of a group.
func (p *Program) Session(number int) script.Session {
	for _, g := range p.groups {
		if number < g.first+g.threads {
			return p.thread(g, number-g.first)
		}
	}
	return &thread{program: p, group: &group{}, ended: true, own: map[any]any{}, random: newRandom(p.seed, 0)}
}

func (p *Program) thread(g *group, number int) *thread {
	t := &thread{program: p, group: g, number: number, own: map[any]any{}, vars: make(map[string]string,
		len(p.starting)+8),
		random: newRandom(p.seed, uint64(g.first+number)), root: build(g.root, nil)}
	for k, v := range p.starting {
		t.vars[k] = v
	}
	t.vars["__jm__"+g.name+"__idx"] = "0"
	t.vars[lastOK] = "true"
	return t
}

// Threads returns the number of threads of all groups.
func (p *Program) Threads() (n int) {
	for _, g := range p.groups {
		n += g.threads
	}
	return n
}

// activeThreads returns the number of threads that run, of a group or of all.
func (p *Program) activeThreads(g *group) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g == nil {
		return p.active
	}
	return p.actives[g]
}

// stop ends the test: no thread begins another sample.
func (p *Program) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping, p.ends = true, p.running()
}

// running returns the kind of the groups that run now.
func (p *Program) running() groupKind {
	for _, g := range p.groups {
		if p.waves[g.wave].left > 0 {
			return g.kind
		}
	}
	return tearDown
}

// stopped reports whether a group takes no further samples because the test was told to stop. As in JMeter, tear down
// groups outlive that if the plan says so, and the test wasn't stopped in its set up groups or in them.
func (p *Program) stopped(g *group) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping && (g.kind != tearDown || p.ends != mainGroup || !p.tearsDown)
}

// shutDown ends the test, and calls over when its last thread is over. It returns false if none runs.
func (p *Program) shutDown(over func()) bool {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = over
	return p.left() > 0
}

// left returns how many threads aren't over.
func (p *Program) left() (n int) {
	for i := range p.waves {
		n += p.waves[i].left
	}
	return n
}

// waveBegins reports whether the groups before a wave are over, and when the wave began.
func (p *Program) waveBegins(w int) (at time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range w {
		if p.waves[i].left > 0 {
			return at, false
		}
	}
	if p.waves[w].began.IsZero() {
		p.waves[w].began = p.now()
	}
	return p.waves[w].began, true
}

// quit ends a thread.
func (t *thread) quit() { t.ended = true }

// giveUp ends a thread because a sample has failed.
func (t *thread) giveUp() {
	t.quit()
	t.gaveUp = true
}

// Aborted implements script.Aborter.
func (t *thread) Aborted() bool { return t.gaveUp }

// over counts a thread that has ended.
func (t *thread) over() {
	p := t.program
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.group.element == nil || t.state == gone {
		return
	}
	if t.began {
		p.active--
		p.actives[t.group]--
	}
	p.waves[t.group.wave].left--
	t.state = gone
	if p.over != nil && p.left() == 0 {
		p.over()
	}
	for name, by := range p.locks {
		if by == t {
			delete(p.locks, name)
		}
	}
}

// gone is the state of a thread that has ended.
const gone threadState = 255

// stopped reports whether the thread takes no further sample: the test was stopped, which tearDown groups outlive, or
// its time is over.
func (t *thread) stopped() bool {
	if t.ended || t.program.stopped(t.group) {
		return true
	}
	return !t.endAt.IsZero() && !t.program.now().Before(t.endAt)
}

// mostUnasked is the longest pause after which a thread looks whether the test was told to stop: JMeter's
// RAMPUP_GRANULARITY.
const mostUnasked = time.Second

// Wait implements script.Waiter: it goes on to the next sampler that sends something. Long pauses are cut, so that a
// thread notices that the test was told to stop.
func (t *thread) Wait() (time.Duration, bool) {
	if left := t.pauseEnd.Sub(t.program.now()); left > 0 && !t.stopped() {
		return min(left, mostUnasked), false
	}
	pause, quit := t.advance()
	if pause > mostUnasked {
		t.pauseEnd = t.program.now().Add(pause)
		pause = mostUnasked
	}
	return pause, quit
}

// advance does what the thread does between operations, until it has to wait or an operation begins.
func (t *thread) advance() (time.Duration, bool) {
	for range 10_000 {
		if t.state != gone && t.stopped() {
			t.over()
		}
		switch t.state {
		case gone:
			return 0, true
		case fresh:
			if d := t.enter(); d > 0 {
				return d, false
			}
		case starting:
			if d := t.startAt.Sub(t.program.now()); d > 0 {
				return d, false
			}
			t.start()
		case resuming:
			if d := t.startAt.Sub(t.program.now()); d > 0 {
				return d, false
			}
			t.state = choosing
		case choosing:
			if t.choose() {
				return time.Millisecond, false
			}
		case timing:
			if d := t.time(); d > 0 {
				return d, false
			}
		case ready:
			if t.prepare() {
				return 0, false
			}
		}
	}
	return time.Millisecond, false
}

// enter waits for the thread's wave.
func (t *thread) enter() time.Duration {
	at, ok := t.program.waveBegins(t.group.wave)
	if !ok {
		return max(10*time.Millisecond, time.Duration(t.program.Threads())*100*time.Microsecond)
	}
	g := t.group
	t.startAt = at.Add(g.delay + g.ramp*time.Duration(t.number)/time.Duration(max(g.threads, 1)))
	if g.duration > 0 {
		t.endAt = at.Add(g.delay + g.duration)
	}
	t.state = starting
	return 0
}

// start counts the thread as active.
func (t *thread) start() {
	p := t.program
	p.mu.Lock()
	defer p.mu.Unlock()
	t.began, t.state = true, choosing
	p.begun++
	p.active++
	p.actives[t.group]++
}

// choose finds the next sampler. It reports whether the thread is to ask again later.
func (t *thread) choose() (later bool) {
	l := t.root.next(t)
	switch {
	case l == yielding:
		return true
	case l == nil || t.ended:
		t.ended = true
		return false
	}
	t.spins = 0
	t.leaf, t.state, t.waiting = l, timing, 0
	t.label = l.s.name.eval(t)
	for _, b := range l.s.before {
		b.process(t, l.s)
	}
	return false
}

// time returns how long the thread waits before its sampler: the sum of all timers in scope. Timers that wait for
// other threads are asked again.
func (t *thread) time() time.Duration {
	s := t.leaf.s
	var sum time.Duration
	for t.waiting < len(s.timers) {
		d, ok := s.timers[t.waiting].wait(t, s)
		if !ok {
			return sum + d
		}
		sum += d
		t.waiting++
	}
	t.state = ready
	if left := t.endAt.Sub(t.program.now()); !t.endAt.IsZero() && left < sum {
		sum = max(left, 0)
	}
	return sum
}

// prepare makes the sampler's request. It returns false if it has done without an operation.
func (t *thread) prepare() bool {
	s := t.leaf.s
	t.state = choosing
	switch s.kind {
	case httpSampler:
		return t.prepareHTTP()
	case jdbcSampler:
		return true
	case debugSampler:
		t.debug(s)
	case actionSampler:
		t.act(s.action)
	case scriptSampler:
		t.runScript(s)
	}
	return false
}

// iterated is called when the thread's loop begins another pass.
func (t *thread) iterated() {
	t.vars["__jm__"+t.group.name+"__idx"] = strconv.Itoa(t.loops)
	t.loops++
	if t.loops == 1 {
		return
	}
	for _, k := range t.group.counters {
		delete(t.own, k)
	}
	for key := range t.own {
		if m, ok := key.(*cookieManager); ok && (m.clear || !t.group.sameUser) {
			delete(t.own, m)
		}
	}
	if t.clearsCache() {
		t.cache = nil
	}
}

func (t *thread) clearsCache() bool {
	for _, s := range t.program.samplers {
		if s.http != nil && s.http.cache != nil && s.http.cache.clear {
			return true
		}
	}
	return false
}

// act does what a Flow Control Action says.
func (t *thread) act(a *flowAction) {
	switch a.action {
	case "pause":
		if d := duration(ms(t, &a.pause)); d > 0 {
			t.startAt = t.program.now().Add(d)
			t.state = resuming
			if !t.endAt.IsZero() && t.startAt.After(t.endAt) {
				t.startAt = t.endAt
			}
		}
	case "stop", "stopNow":
		if a.all {
			t.program.stop()
		}
		t.quit()
	default:
		t.leave(t.leaf.up, a.action)
	}
}

// runScript runs a JSR223 Sampler.
func (t *thread) runScript(s *sampler) {
	now := t.program.now()
	r := &result{label: t.label, code: "200", message: "OK", success: true, kind: "text", start: now, end: now,
		url: "null"}
	v, err := s.code.runCode(t, r, nil, nil)
	if err != nil {
		r.success, r.code, r.message = false, "500", "javax.script.ScriptException: "+err.Error()
		t.program.complain("%s: the script, %v", s.element, err)
	} else if v != nil && r.body == nil {
		r.body, r.unpacked = []byte(show(v)), true
	}
	r.end = t.program.now()
	r.bytes = int64(len(r.body))
	t.finish(r)
}

// debug makes the sample of a Debug Sampler.
func (t *thread) debug(s *sampler) { t.finish(t.shown(s.debug)) }

// shown returns a sample whose body is what a Debug Sampler or PostProcessor shows: the variables, and properties if
// they are asked for.
func (t *thread) shown(e *Element) *result {
	now := t.program.now()
	r := &result{label: t.label, code: "200", message: "OK", success: true, kind: "text", start: now, end: now,
		url: "null"}
	var b strings.Builder
	if e.flag("displayJMeterVariables") {
		b.WriteString("JMeterVariables:\n")
		for _, k := range sortedNames(t.vars) {
			b.WriteString(k + "=" + t.vars[k] + "\n")
		}
		b.WriteString("\n")
	}
	if e.flag("displayJMeterProperties") {
		t.program.mu.Lock()
		b.WriteString("JMeterProperties:\n")
		for _, k := range sortedNames(t.program.props) {
			b.WriteString(k + "=" + t.program.props[k] + "\n")
		}
		t.program.mu.Unlock()
	}
	r.body, r.unpacked = []byte(b.String()), true
	r.bytes = int64(len(r.body))
	return r
}

// finish runs what follows a sample: extractors, assertions, listeners, and what an error leads to.
func (t *thread) finish(r *result) {
	s := t.leaf.s
	t.previous = r
	for _, a := range s.after {
		if a.process(t, r); t.dropped {
			t.dropped = false
			return
		}
	}
	for _, a := range s.asserts {
		v := a.check(t, r)
		if v.failed {
			r.success = false
		}
		if r.failure == "" {
			r.failure = v.message
		}
		r.asserts = append(r.asserts, v)
	}
	t.vars[lastOK] = strconv.FormatBool(r.success)
	if !r.ignore {
		t.emit(r, t.leaf.up, s)
	}
	if !r.success {
		t.failed()
	}
}

// failed does what the thread group says about errors.
func (t *thread) failed() {
	switch t.group.onError {
	case "startnextloop":
		t.leave(t.leaf.up, nextOfThread)
	case "stopthread":
		t.giveUp()
	case "stoptest", "stoptestnow":
		t.program.stop()
		t.giveUp()
	}
}

// hides makes a sample a part of the nearest transaction whose samples are parts of it, and reports whether there is
// one.
func (c *controller) hides(r *result) bool {
	for ; c != nil; c = c.up {
		if c.begun != nil && c.node.parent {
			c.begun.add(r)
			c.begun.result.parts = append(c.begun.result.parts, r)
			return true
		}
	}
	return false
}

// emit reports a sample to the transactions around it and to the listeners.
func (t *thread) emit(r *result, up *controller, s *sampler) {
	p := t.program
	if r.thread = t.name(); r.unnamed {
		r.thread = ""
	}
	p.mu.Lock()
	r.groupThreads, r.allThreads = p.actives[t.group], p.active
	p.mu.Unlock()
	if !r.transaction && up.hides(r) {
		return
	}
	for c := up; c != nil && s != nil; c = c.up {
		if c.begun != nil {
			c.begun.add(r)
		}
	}
	for _, sink := range p.sinks {
		sink.Sample(r)
	}
	if s == nil {
		return
	}
	for _, w := range s.writes {
		p.write(w, r)
	}
}

// resuming is the state of a thread in the pause of a Flow Control Action.
const resuming = starting + 100

// Choose implements script.Chooser.
func (t *thread) Choose(uint64) int {
	if t.leaf == nil {
		return 0
	}
	return t.leaf.s.operation
}

// Again implements script.Session. Failed requests aren't repeated.
func (t *thread) Again() script.Step { return script.Step{} }

// Resume implements script.Session: the resources of a page are there.
func (t *thread) Resume() script.Step {
	if t.page == nil {
		return script.Step{}
	}
	t.page.finish()
	return t.complete(nil)
}

// Begin implements script.Session.
func (t *thread) Begin(int, uint64) script.Step {
	if t.leaf == nil || t.ended {
		return script.Step{Quit: true}
	}
	if t.leaf.s.kind == jdbcSampler {
		return t.sendSQL()
	}
	return t.beginHTTP()
}

// Answered implements script.Session.
func (t *thread) Answered(r *protocol.Reply) script.Step {
	if t.leaf.s.kind == jdbcSampler {
		return t.answeredSQL(r)
	}
	return t.answeredHTTP(r)
}

// Requests implements script.Program.
func (p *Program) Requests(operation int) []protocol.Request {
	if !p.web() {
		return p.statements(operation)
	}
	r := protocol.Request{Verb: protocol.HTTP, Params: []gen.Kind{gen.String},
		Web:     &protocol.Web{Method: "GET", Path: "/", Body: []byte("$1"), Raw: true},
		Capture: []protocol.Capture{{Name: "head", Kind: gen.String}, {Name: "body", Kind: gen.String}}}
	if p.roams {
		r.Params = append(r.Params, gen.String)
		r.Web.Origin, r.Web.Body = "$1", []byte("$2")
	}
	for _, s := range p.operations[operation].samplers {
		if m := s.http.method.raw; m != "GET" && m != "HEAD" && m != "OPTIONS" {
			r.Web.Method = "POST"
		}
	}
	return []protocol.Request{r}
}
