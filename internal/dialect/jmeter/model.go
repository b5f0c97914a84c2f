package jmeter

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
)

// controllerKind says which controller a node is.
type controllerKind uint8

const (
	simpleController controllerKind = iota
	loopController
	whileController
	ifController
	foreachController
	switchController
	onceController
	interleaveController
	randomController
	randomOrderController
	throughputController
	transactionController
	runtimeController
	criticalController
)

// node is a controller or a sampler of a compiled plan.
type node struct {
	element   *Element
	kind      controllerKind
	name      text
	children  []*node
	sampler   *sampler // nil: a controller
	listeners []iterated
	condition text // if, while, switch, the lock of a critical section
	script    bool // if: the condition is JavaScript
	loops     text
	forever   bool // loop: it begins again when its parent does
	style     int  // interleave
	parent    bool // transaction: its samples are parts of it
}

// count returns the passes of a loop; −1 without end.
func (n *node) count(t *thread) int {
	v, err := strconv.Atoi(strings.TrimSpace(n.loops.eval(t)))
	if err != nil {
		return 0
	}
	return v
}

// iterated is something that acts when a controller begins: a CSV data set, a counter …
type iterated interface{ iterate(t *thread) }

// groupKind is the kind of a thread group.
type groupKind uint8

const (
	setUp groupKind = iota
	mainGroup
	tearDown
)

// group is a thread group.
type group struct {
	element  *Element
	name     string
	kind     groupKind
	number   int // among those of its kind, from 1
	wave     int // groups of a wave run together; a wave begins when those before it are over
	threads  int
	first    int // number of its first thread among all
	ramp     time.Duration
	delay    time.Duration
	duration time.Duration // 0: no limit
	onError  string        // continue, startnextloop, stopthread, stoptest, stoptestnow
	sameUser bool
	root     *node
	counters []*counterConfig
}

// samplerKind says what a sampler does.
type samplerKind uint8

const (
	httpSampler samplerKind = iota
	jdbcSampler
	debugSampler
	actionSampler
	scriptSampler
	dummySampler
)

// sampler is a compiled sampler with everything in whose scope it is.
type sampler struct {
	element   *Element
	kind      samplerKind
	name      text
	operation int // in the plan
	request   int // jdbc: among the operation's requests
	other     int // jdbc: the request whose text is its argument
	begin     int // jdbc: the request that begins a transaction before its statement
	http      *httpRequest
	jdbc      *jdbcRequest
	debug     *Element
	action    *flowAction
	code      *code
	before    []preProcessor
	after     []postProcessor
	asserts   []assertion
	timers    []timer
	writes    []*collector // listeners that write files
}

// sends reports whether the sampler is an operation of the load.
func (s *sampler) sends() bool { return s.kind == httpSampler || s.kind == jdbcSampler }

type preProcessor interface{ process(t *thread, s *sampler) }

type postProcessor interface{ process(t *thread, r *result) }

type assertion interface {
	check(t *thread, r *result) assertResult
}

// assertResult is what an assertion says. message is empty for a success.
type assertResult struct {
	name    string
	failed  bool
	message string
}

// timer says how long a thread waits before a sampler. ready is false if it has to ask again after the pause.
type timer interface {
	wait(t *thread, s *sampler) (pause time.Duration, ready bool)
}

// flowAction is what a Flow Control Action does.
type flowAction struct {
	action string // pause, stop, stopNow, nextOfThread, nextOfLoop, breakLoop
	all    bool   // all threads
	pause  text
}

// result is a sample.
type result struct {
	label, code, message string
	thread               string
	kind                 string // text, bin or ""
	success              bool
	failure              string         // of the first assertion that has a message, even if it holds
	lost                 protocol.Class // why a request had no answer
	start, end           time.Time
	idle                 time.Duration
	latency, connect     time.Duration
	bytes, sent          int64
	head                 string // status line and header lines
	requestHead          string
	requestBody          string
	contentType          string
	encoding             string
	body                 []byte
	unpacked             bool
	url                  string
	groupThreads         int
	allThreads           int
	asserts              []assertResult
	parts                []*result
	ignore               bool
	transaction          bool
	unnamed              bool // JMeter doesn't know its thread
}

func (r *result) elapsed() time.Duration { return r.end.Sub(r.start) - r.idle }

func (r *result) elapsedMs() int64 { return r.elapsed().Milliseconds() }

func (r *result) latencyMs() int64 { return r.latency.Milliseconds() }

// Program is a compiled test plan.
type Program struct {
	file        string
	groups      []*group
	samplers    []*sampler
	operations  []operation
	variables   [][2]text // user defined variables, in order
	lists       []int     // where the variables of an element begin
	protocol    string
	roams       bool          // requests say where they go
	connectTime time.Duration // of all requests, unless the program roams; 0: the usual
	proxy       *overallProxy // of requests that name none; nil: none
	origin      string        // if not: scheme://host:port
	files       *files
	seed        uint64
	now         func() time.Time
	functional  bool
	serialize   bool
	tearsDown   bool // tear down groups run even if the test was told to stop

	mu          sync.Mutex
	props       map[string]string
	regexes     map[string]*regex
	codes       map[codeKey]compiledCode
	texts       map[string]*text
	throughputs map[*node]*[2]int
	locks       map[string]*thread
	sources     map[string]*sourced // local addresses
	waves       []wave
	stopping    bool
	ends        groupKind // the kind of the groups that ran when the test was told to stop
	over        func()    // is called when the last thread is over
	complained  map[string]bool
	sinks       []Sink
	logLines    func(string)
	active      int
	actives     map[*group]int
	starting    map[string]string // variables when threads begin
	written     map[string]*jtl   // files of listeners
	writesFiles bool
	begun       int // threads that have begun
}

type codeKey struct {
	text    string
	flavour flavour
}

type compiledCode struct {
	code *code
	err  error
}

// wave is what is known of the groups that run together.
type wave struct {
	left  int // threads that aren't over
	began time.Time
}

// operation is an operation of brunt's plan: samplers of one name.
type operation struct {
	name     string
	samplers []*sampler
}

// Sink receives samples.
type Sink interface {
	Sample(r *result)
}

// thread is a thread of a group.
type thread struct {
	program  *Program
	group    *group
	number   int // in its group, from 0
	vars     map[string]string
	objects  map[string]any
	random   *rand.Rand
	root     *controller
	label    string // of the current sampler
	previous *result
	csvRows  map[string][]string
	cache    map[string]cached
	place    place
	loops    int
	spins    int
	startAt  time.Time
	pauseEnd time.Time // of a long pause
	endAt    time.Time // of the scheduler
	own      map[any]any

	// the sampler under way
	leaf    *leaf
	state   threadState
	waiting int // timers that have been asked
	ended   bool
	gaveUp  bool // it has ended because of a failed sample
	began   bool
	dropped bool // what follows the sample has failed, so that it isn't reported
	exchange
	sql jdbcSession
}

// threadState says what Wait does next.
type threadState uint8

const (
	fresh threadState = iota
	starting
	choosing
	timing
	ready
)

// name returns the thread's name.
func (t *thread) name() string {
	return t.group.name + " " + strconv.Itoa(t.group.number) + "-" + strconv.Itoa(t.number+1)
}

// between returns a whole number from lo to hi.
func between(r *rand.Rand, lo, hi int64) int64 {
	if n := uint64(hi-lo) + 1; n != 0 {
		return lo + int64(r.Uint64N(n))
	}
	return int64(r.Uint64())
}

// property returns a property of JMeter's.
func (p *Program) property(name string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.props[name]
	return v, ok
}

func (p *Program) setProperty(name, value string) (old string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old = p.props[name]
	p.props[name] = value
	return old
}

func (p *Program) removeProperty(name string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok := p.props[name]
	delete(p.props, name)
	return orNull(old, ok)
}

// regex returns a compiled regular expression.
func (p *Program) regex(pattern string) (*regex, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if re := p.regexes[pattern]; re != nil {
		return re, nil
	}
	re, err := compileRegex(pattern)
	if err == nil && len(p.regexes) < mostCached {
		p.regexes[pattern] = re
	}
	return re, err
}

// mostCached limits what is kept compiled of texts that are made while a load runs.
const mostCached = 10_000

// code returns a compiled script.
func (p *Program) code(src string, f flavour) (*code, error) {
	key := codeKey{src, f}
	p.mu.Lock()
	c, ok := p.codes[key]
	p.mu.Unlock()
	if ok {
		return c.code, c.err
	}
	c.code, c.err = compileCode(src, f)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.codes) < mostCached {
		p.codes[key] = c
	}
	return c.code, c.err
}

// lock takes a lock of critical sections; it returns false if another thread has it.
func (p *Program) lock(name string, t *thread) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if by := p.locks[name]; by != nil && by != t {
		return false
	}
	p.locks[name] = t
	return true
}

func (p *Program) unlock(name string, t *thread) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locks[name] == t {
		delete(p.locks, name)
	}
}

// complain says once what went wrong, as JMeter's log does.
func (p *Program) complain(format string, args ...any) {
	line := strings.Join(strings.Fields(sprintf(format, args...)), " ")
	p.mu.Lock()
	known := p.complained[line] || len(p.complained) >= mostComplaints
	p.complained[line] = true
	p.mu.Unlock()
	if !known {
		p.log(line)
	}
}

// mostComplaints is how many different lines are said.
const mostComplaints = 100

// log prints a line of a script or about one.
func (p *Program) log(line string) {
	if p.logLines != nil {
		p.logLines(line)
	}
}

// evalText evaluates a text that is known only now.
func (t *thread) evalText(raw string) string {
	if !strings.Contains(raw, "${") {
		return raw
	}
	p := t.program
	p.mu.Lock()
	x := p.texts[raw]
	p.mu.Unlock()
	if x == nil {
		compiled, err := parseText(raw)
		if err != nil {
			p.complain("%v", err)
			compiled = text{raw: raw}
		}
		x = &compiled
		p.mu.Lock()
		if len(p.texts) < mostCached {
			p.texts[raw] = x
		}
		p.mu.Unlock()
	}
	return x.eval(t)
}

// condition evaluates the condition of an If Controller.
func (t *thread) condition(n *node) bool {
	cond := strings.TrimSpace(n.condition.eval(t))
	if !n.script {
		return strings.EqualFold(cond, "true")
	}
	if strings.EqualFold(cond, "true") || strings.EqualFold(cond, "false") {
		return strings.EqualFold(cond, "true")
	}
	c, err := t.program.code(cond, jexl)
	if err == nil {
		var v any
		if v, err = c.runCode(t, t.previous, nil, nil); err == nil {
			return truth(v)
		}
	}
	t.program.complain("%s: the condition %s: %v", n.element, cut(cond), err)
	return false
}
