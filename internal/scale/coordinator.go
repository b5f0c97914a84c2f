package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"brunt/internal/linefile"
	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/schedule"
)

// Policies for lost workers.
const (
	GoOn         = "go-on"        // the others go on; what the lost one had to send is missing
	Redistribute = "redistribute" // the others send what the lost one would have sent
	Abort        = "abort"        // the load ends
)

// Policies are what can be done when a worker is lost.
func Policies() []string { return []string{GoOn, Redistribute, Abort} }

// Options say how a coordinator works.
type Options struct {
	Run, Version string
	Workers      int
	Dir          string // bundles come home to its folders 1, 2, …
	Listen       string // host:port; port 0 takes a free one
	Identity     Identity
	Job          Job               // what all workers get
	Interval     time.Duration     // of the record
	Patience     time.Duration     // for all workers to come, and then for all to be ready
	MixedCores   bool              // let workers have different numbers of cores
	OnLost       string            // one of Policies
	Journal      string            // file from which Resume goes on if this process is killed; "": none
	Extra        map[string]string // kept in the journal for who resumes
	Tell         func(text string)
	// Next names the phases that come next, when all workers ask for them: see Worker.Next. It is called by Follow. Nil:
	// workers don't ask.
	Next func() json.RawMessage
	// Waiting, if not nil, says what workers that haven't come wait for, as far as their engine tells; "" if it doesn't.
	Waiting func(ctx context.Context) string
}

// Coordinator leads the workers of one run.
type Coordinator struct {
	o        Options
	clock    Clock
	listener net.Listener
	server   *http.Server
	quit     chan struct{}

	mu      sync.Mutex
	cond    *sync.Cond    // something below has changed
	turn    chan struct{} // closed, and made again, when all workers are to hear something
	members []*member
	agreed  bool
	refused *refusal // told to all who wait for their job
	startNs int64
	stop    bool
	hard    bool
	aborted message.Message

	states    map[string]json.RawMessage // of the phases' controllers after the last decision
	faults    []record.Fault             // of the journal
	decisions []Decision
	phases    []json.RawMessage // one for each time that workers asked
	allSent   bool
	losses    []schedule.Loss
	packedB   int               // bytes of packed histograms that wait for the live view
	granter   *schedule.Granter // of closed stages, with Redistribute
	journal   *linefile.File    // nil before the start, and without Options.Journal
}

// member is a worker as its coordinator sees it.
type member struct {
	number  int // from 0
	hello   Hello
	process string
	host    string
	state   State // "" until it joins
	seen    time.Time
	lost    bool
	lostNs  int64  // when it was, by the coordinator's clock
	given   bool   // its share was given to others
	stopped bool   // it came back after that
	untilNs int64  // until when it may send; see Answer
	over    bool   // it left the live view
	gone    string // how its process ended, where that is known
	problem *refusal

	rules  []record.AbortRule // see Report
	rows   uint64             //
	filled json.RawMessage    //

	asked   int        // how many times it asked for phases
	keeping sync.Mutex // held by who appends to its intervals
	lines   int        // of its intervals that are at home
	live    int64      // bytes of them that the live view may read
	passed  int64      // bytes of these that it has read
	packed  []waiting  // for the live view, in the order of their lines
}

// name is what people call a worker.
func (m *member) name() string {
	if m.host == "" {
		return strconv.Itoa(m.number + 1)
	}
	return fmt.Sprintf("%d (%s)", m.number+1, m.host)
}

// Listen opens a coordinator's address. A port that is taken is an error that says so.
func Listen(o Options) (*Coordinator, error) {
	c, err := open(o)
	if err == nil {
		c.serve()
	}
	return c, err
}

// open opens a coordinator's address, at which nobody is answered before serve.
func open(o Options) (*Coordinator, error) {
	l, err := listen(o.Listen)
	if err != nil {
		return nil, err
	}
	config, err := o.Identity.config()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c := &Coordinator{o: o, clock: NewClock(), listener: l, quit: make(chan struct{}),
		granter: schedule.NewGranter(o.Workers)}
	c.prepare()
	for k := range o.Workers {
		c.members = append(c.members, &member{number: k})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /join", c.serveJoin)
	mux.HandleFunc("POST /clock", c.serveClock)
	mux.HandleFunc("POST /report", c.serveReport)
	mux.HandleFunc("PUT /file", c.serveFile)
	mux.HandleFunc("GET /file", c.serveHave)
	c.server = &http.Server{
		Handler: mux, TLSConfig: config, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // who isn't of this run is refused, and told so by TLS
		Protocols: func() *http.Protocols {
			p := &http.Protocols{}
			p.SetHTTP1(true)
			return p
		}(),
	}
	return c, nil
}

// CanListen returns the error that Listen would for an address now.
func CanListen(address string) error {
	l, err := listen(address)
	if err != nil {
		return err
	}
	return l.Close()
}

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the coordinator can't listen at %s: the port is in use; name another with --listen", address)
	}
	if err != nil {
		return nil, fmt.Errorf("the coordinator can't listen at %s: %w; name an address of this machine with --listen",
			address, err)
	}
	return l, nil
}

// serve begins to answer workers and to look for lost ones.
func (c *Coordinator) serve() {
	go func() { _ = c.server.ServeTLS(c.listener, "", "") }() // its only error is that it was closed
	go c.watch()
}

func (c *Coordinator) prepare() { c.cond, c.turn = sync.NewCond(&c.mu), make(chan struct{}) }

// announce has all workers hear what has changed at once: those that wait for their job, and those that wait for the
// start. c.mu is held.
func (c *Coordinator) announce() {
	close(c.turn)
	c.turn = make(chan struct{})
	c.cond.Broadcast()
}

// Port is the port that workers call.
func (c *Coordinator) Port() int { return c.listener.Addr().(*net.TCPAddr).Port }

// StartNs is when the load begins or began, by the coordinator's clock; 0 if that isn't known yet.
func (c *Coordinator) StartNs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startNs
}

// Close ends the service and removes the journal with its key. Workers that are still there try again until they lose
// patience.
func (c *Coordinator) Close() error {
	close(c.quit)
	return errors.Join(c.server.Close(), c.endJournal())
}

// Exited says that the process of a worker has ended, and how. It is safe for concurrent use.
func (c *Coordinator) Exited(worker int, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[worker]
	if m.gone = how; how == "" {
		m.gone = "it has ended"
	}
	if c.startNs > 0 && m.state != Ended && !m.lost {
		c.lose(m, "its process ended: "+how)
	}
	c.cond.Broadcast()
}

// Stop ends the load of all workers; hard has them not wait for answers. aborted is why, if a rule did it.
func (c *Coordinator) Stop(hard bool, aborted message.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(hard, aborted)
}

func (c *Coordinator) halt(hard bool, aborted message.Message) {
	if !c.stop {
		c.aborted = aborted
	}
	c.stop, c.hard = true, c.hard || hard
	c.announce()
}

// Aborted is why the load was ended by a rule; zero if none did.
func (c *Coordinator) Aborted() message.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// wait blocks until holds, which is called with the lock held, is true, or ctx ends.
func (c *Coordinator) wait(ctx context.Context, holds func() bool) error {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.cond.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.cond.Wait()
	}
	return nil
}

// silence is how long a worker may say nothing before it is lost: three intervals end later than that.
func (c *Coordinator) silence() time.Duration {
	return max(c.o.Interval*5/2, leastSilence)
}

// leastSilence keeps workers with very short intervals from being lost to a busy machine.
const leastSilence = 500 * time.Millisecond

// watch looks for workers that say nothing.
func (c *Coordinator) watch() {
	tick := time.NewTicker(max(c.o.Interval/4, 50*time.Millisecond))
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
		}
		now := time.Now()
		c.mu.Lock()
		late := now.Sub(last) > c.silence()/2 // it is this process that stood still
		for _, m := range c.members {
			if late {
				m.seen = now
			}
			begun := m.state == Running || m.state == Sent || m.state == Ready && c.beginsBefore(now)
			if begun && !m.lost && now.Sub(m.seen) > c.silence() {
				c.lose(m, fmt.Sprintf("nothing was heard of it for %s", now.Sub(m.seen).Round(100*time.Millisecond)))
			}
		}
		c.mu.Unlock()
		last = now
	}
}

// beginsBefore reports whether every worker must have said by a time that it has begun. The lock is held.
func (c *Coordinator) beginsBefore(now time.Time) bool {
	return c.startNs > 0 && now.After(c.clock.At(c.startNs).Add(c.silence()))
}

// lose gives a worker up, which may come back.
func (c *Coordinator) lose(m *member, why string) {
	m.lost, m.over, m.lostNs = true, true, c.clock.Now()
	c.tell("worker %s is lost %s into the load: %s", m.name(),
		time.Duration(m.lostNs-c.startNs).Round(100*time.Millisecond), why)
	c.note(&event{Lost: &m.number, AtNs: m.lostNs})
	switch c.o.OnLost {
	case Abort:
		c.halt(false, message.New("stop.worker-lost", message.Text("worker", m.name())))
	case Redistribute:
		c.give(m)
	}
	c.cond.Broadcast()
}

// give gives the share of a lost worker to the others: from the end of what it may send on, or from when they have
// heard of it if its process has ended.
func (c *Coordinator) give(m *member) {
	loss := schedule.Loss{Machine: uint64(m.number), FromNs: m.untilNs}
	if m.gone != "" {
		loss.FromNs = min(loss.FromNs, m.lostNs-c.startNs+int64(c.o.Interval))
	}
	for _, other := range c.members {
		if !other.lost && !other.given && other.state != Ended {
			loss.Heirs = append(loss.Heirs, uint64(other.number))
		}
	}
	if len(loss.Heirs) == 0 {
		return
	}
	m.given = true
	c.losses = append(c.losses, loss)
	c.note(&event{Loss: &loss})
	c.tell("the share of worker %s is sent by the other %d from %s into the load on", m.name(), len(loss.Heirs),
		time.Duration(loss.FromNs).Round(100*time.Millisecond))
}

// grant answers a worker's wish for operations of a closed stage. A worker whose sessions others have gets nothing new.
// c.mu is held.
func (c *Coordinator) grant(m *member, w *schedule.Wish) *schedule.Grant {
	alive, wish := 0, *w
	for _, other := range c.members {
		if !other.lost && other.state != Ended {
			alive++
		}
	}
	if m.given || c.stop || m.lost {
		wish.Number, wish.Ended = 0, false
	}
	g, events := c.granter.Grant(m.number, &wish, alive)
	for i := range events {
		if err := c.keepGrant(&events[i]); err != nil {
			c.tell("if this process is killed, it can't be resumed: %v", err)
		}
	}
	return &g
}

// keepGrant adds a grant to the journal. A journal that lacks one must not be resumed, or operations could be sent
// twice.
func (c *Coordinator) keepGrant(e *schedule.GrantEvent) error {
	if c.journal == nil {
		return nil
	}
	err := c.journal.AppendJSON(&event{Grant: e})
	if err == nil {
		return nil
	}
	name := c.journal.Name()
	err = errors.Join(err, c.journal.Close(), os.Remove(name))
	c.journal = nil
	return err
}

// Rules are the thresholds of a script that may end the load, with each worker's values; nil until all workers that
// aren't lost have told theirs.
func (c *Coordinator) Rules() (all [][]record.AbortRule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m.rules == nil && !m.lost {
			return nil
		}
		all = append(all, m.rules)
	}
	return all
}

// Redistributes reports whether shares of lost workers are given to others.
func (c *Coordinator) Redistributes() bool { return c.o.OnLost == Redistribute }

// Unneeded is how many operations of closed stages that have ended no worker was allowed to send.
func (c *Coordinator) Unneeded() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granter.Unneeded()
}

// lease is how much longer than now a worker may send, once it has been heard: longer than it may be silent, so that
// only who is lost runs out of it.
func (c *Coordinator) lease() time.Duration { return c.silence() + c.o.Interval }

func (c *Coordinator) tell(format string, args ...any) {
	if c.o.Tell != nil {
		c.o.Tell(fmt.Sprintf(format, args...))
	}
}

// An Error ends a run before its load, with an exit code.
type Error struct {
	Code    int
	Text    string
	Missing bool // workers didn't come, or weren't ready, in time
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// The exit codes of Error; see docs/exit-codes.md.
const (
	codeBadPlan     = 104
	codeUnreachable = 108
)

// Gather waits until all workers are there and agree, gives them their job, and waits until all are ready. Those who
// are missing after Options.Patience are named. An error is ctx's or an *Error.
func (c *Coordinator) Gather(ctx context.Context) error {
	if err := c.gather(ctx, Joined, "come"); err != nil {
		return c.refuse(err)
	}
	if err := c.disagreement(); err != nil {
		return c.refuse(err)
	}
	c.mu.Lock()
	c.o.Job.EpochNs = c.clock.Now()
	c.agreed = true
	c.announce()
	c.mu.Unlock()
	if err := c.gather(ctx, Ready, "become ready"); err != nil {
		return c.refuse(err)
	}
	return nil
}

// refuse tells the workers to leave.
func (c *Coordinator) refuse(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = &refusal{"the coordinator has called the run off: " + err.Error(), 0}
	c.halt(true, message.Message{})
	return err
}

// gather waits until all workers are in a state, or one of them failed.
func (c *Coordinator) gather(ctx context.Context, state State, verb string) error {
	timed, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	var failed *member
	err := c.wait(timed, func() bool {
		all := true
		for _, m := range c.members {
			if m.problem != nil || m.gone != "" {
				failed = m
				return true
			}
			all = all && (m.state == state || state == Joined && m.state == Ready)
		}
		return all
	})
	why := ""
	if err != nil && ctx.Err() == nil && c.o.Waiting != nil {
		why = c.o.Waiting(ctx)
	}
	if why == "" {
		why = fmt.Sprintf("see that they run and can reach port %d of this machine", c.Port())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case failed != nil && failed.problem != nil:
		return &Error{Code: failed.problem.Code, Text: fmt.Sprintf("worker %s: %s", failed.name(), failed.problem.Text)}
	case failed != nil:
		return &Error{Code: codeUnreachable, Text: fmt.Sprintf("worker %s ended before the load: %s",
			failed.name(), failed.gone)}
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var missing []string
	for _, m := range c.members {
		if m.state != state {
			missing = append(missing, m.name())
		}
	}
	return &Error{Code: codeUnreachable, Missing: true, Text: fmt.Sprintf(
		"%d of %d workers didn't %s within %s: %s; %s, or give more time with --join-timeout",
		len(missing), len(c.members), verb, c.o.Patience, strings.Join(missing, ", "), why)}
}

// The most that clocks may differ, and may be uncertain as a share of an interval.
const (
	mostOffset      = 10 * time.Second
	mostUncertainty = 10 // of an interval: a tenth
)

// disagreement is an *Error that says in which points the workers can't run one load, nil if they can.
func (c *Coordinator) disagreement() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var faults []string
	for _, m := range c.members {
		h, offset := &m.hello, time.Duration(m.hello.Offset.Ns).Abs()
		if h.Version != c.o.Version {
			faults = append(faults, fmt.Sprintf("worker %s runs brunt %s, this is %s: give it the same binary", m.name(),
				h.Version, c.o.Version))
		}
		if first := c.members[0]; h.Cores != first.hello.Cores && !c.o.MixedCores {
			faults = append(faults, fmt.Sprintf(
				"worker %s has %d cores, worker %s has %d, and each gets the same share: use equal machines, or allow it with --mixed-cores",
				m.name(), h.Cores, first.name(), first.hello.Cores))
		}
		if offset > mostOffset {
			faults = append(faults, fmt.Sprintf("the clock of worker %s is %s off: set it (NTP)", m.name(),
				offset.Round(time.Millisecond)))
		}
		if u := time.Duration(h.Offset.UncertaintyNs); u > c.o.Interval/mostUncertainty {
			faults = append(faults, fmt.Sprintf(
				"the clock of worker %s is known to %s only, too little for intervals of %s: use a faster network, or longer intervals",
				m.name(), u.Round(time.Microsecond), c.o.Interval))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &Error{Code: codeBadPlan, Text: "the workers disagree: " + strings.Join(faults, "; ")}
}

// Start sets the instant at which all workers begin, so much later than now that each hears of it in time.
func (c *Coordinator) Start(lead time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startNs = c.clock.Now() + int64(lead)
	if err := c.begin(); err != nil {
		c.tell("if this process is killed, it can't be resumed: %v", err)
	}
	c.announce()
	return c.startNs
}

// Follow calls f with the intervals of all workers together, as they end. It returns when each worker's load is over
// or the worker lost. run is what record.Merge makes of the parts that Begun opens.
func (c *Coordinator) Follow(run *record.Run, parts []*record.Recorded, f func(*measure.Interval) error) error {
	sources := make([]record.Source, len(parts))
	for i, p := range parts {
		sources[i] = record.Source{Run: p.Run, Lines: c.intervals(c.members[i])}
	}
	return record.Align(run, sources, func(iv *measure.Interval) error { return f(record.Filled(iv)) })
}

// chunk is how much of a worker's intervals the live view reads at a time, if that is a line.
const chunk = 64 << 10

// intervals passes on the lines of a worker's intervals as they come. They wait in the file at home, whatever the other
// workers do, and not in memory.
func (c *Coordinator) intervals(m *member) func(func(line, packed []byte) error) error {
	return func(f func(line, packed []byte) error) error {
		defer c.release(m)
		var buffer []byte
		for at, number := int64(0), 0; ; {
			c.mu.Lock()
			for m.live == at && !m.over {
				all, passed := c.asked()
				if !all || !passed && at == 0 {
					c.cond.Wait()
					continue
				}
				c.mu.Unlock()
				if passed {
					c.nextPhases()
				} else if err := f(nil, nil); err != nil { // a worker may have cut its last interval in two
					return err
				}
				c.mu.Lock()
			}
			end := m.live
			c.mu.Unlock()
			if end == at {
				return nil
			}
			var err error
			if buffer, err = wholeLines(filepath.Join(c.folder(m.number), record.IntervalsFile), at, end, buffer); err != nil {
				return err
			}
			for line := range bytes.Lines(buffer) {
				c.mu.Lock()
				m.passed += int64(len(line))
				held := c.next(m, number)
				c.mu.Unlock()
				number++
				if err := pass(line, held, f); err != nil {
					return err
				}
			}
			at += int64(len(buffer))
		}
	}
}

// pass calls f with a line and what is held of its histograms, which is released then.
func pass(line []byte, held *bytes.Buffer, f func(line, packed []byte) error) error {
	if held == nil {
		return f(line, nil)
	}
	defer packedBuffers.Put(held)
	return f(line, held.Bytes())
}

// wholeLines reads whole lines of a file, of which there are some between two places: a chunk, or one line. It uses
// the memory of buffer.
func wholeLines(path string, from, to int64, buffer []byte) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for size := min(to-from, chunk); ; size = min(to-from, 2*size) {
		buffer = slices.Grow(buffer[:0], int(size))[:size]
		if _, err := file.ReadAt(buffer, from); err != nil {
			return nil, err
		}
		if whole := bytes.LastIndexByte(buffer, '\n') + 1; whole > 0 || size == to-from {
			return buffer[:whole], nil
		}
	}
}

// folder is where a worker's bundle comes home to.
func (c *Coordinator) folder(worker int) string {
	return filepath.Join(c.o.Dir, strconv.Itoa(worker+1))
}

// Begun opens the bundles of all workers as they were when these became ready.
func (c *Coordinator) Begun() (parts []*record.Recorded, err error) {
	for k := range c.members {
		p, err := record.Open(record.OS{}, c.folder(k))
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Part is what came home of a worker.
type Part struct {
	Name   string
	Dir    string // its bundle, as far as it came
	Spool  string // where the worker wrote it, on its own machine
	Lost   bool
	Filled json.RawMessage // with Job.Fill: what it has filled; nil if that isn't its part
	LostNs int64           // since the start of the load
	// GivenNs is from when on others had a lost worker's share, since the start of the load; 0 if nobody had.
	GivenNs int64
}

// someEnded reports whether the bundle of any worker is complete.
func (c *Coordinator) someEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.members, func(m *member) bool { return m.state == Ended })
}

// Home waits until the bundles of all workers are here. Lost workers have until grace after the others to come back,
// unless their process is known to have ended, and Options.Patience if that is longer and all are lost: then it is
// probably the network, and their load may still go on. ctx ends the waiting.
func (c *Coordinator) Home(ctx context.Context, grace time.Duration) []Part {
	all := func(lostToo bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(c.members, func(m *member) bool {
				return m.state != Ended && (!m.lost || lostToo && m.gone == "")
			})
		}
	}
	if err := c.wait(ctx, all(false)); err == nil {
		if !c.someEnded() {
			grace = max(grace, c.o.Patience)
		}
		timed, cancel := context.WithTimeout(ctx, grace)
		_ = c.wait(timed, all(true)) // a worker that isn't back by then stays lost
		cancel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []Part
	for _, m := range c.members {
		p := Part{Name: m.name(), Dir: c.folder(m.number), Spool: m.hello.Dir, Lost: m.state != Ended || m.given,
			Filled: m.filled}
		if p.Lost {
			p.LostNs = m.lostNs - c.startNs
		}
		for _, l := range c.losses {
			if l.Machine == uint64(m.number) {
				p.GivenNs = max(l.FromNs, 1)
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// countLines is how many whole lines a file has.
func countLines(data []byte) int { return bytes.Count(data, []byte("\n")) }
