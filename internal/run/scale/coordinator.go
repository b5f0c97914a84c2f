package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Policies for lost workers.
const (
	GoOn         = "go-on"        // the other workers go on; the lost worker's remaining operations are not sent
	Redistribute = "redistribute" // the other workers send the lost worker's remaining operations
	Abort        = "abort"        // the load ends
)

// Policies returns the values of Options.OnLost: what the coordinator does when a worker is lost.
func Policies() []string { return []string{GoOn, Redistribute, Abort} }

// Options configure a Coordinator.
type Options struct {
	Run, Version string
	Workers      int
	Dir          string // worker k's bundle is received into folder k, from 1, while there is room
	Listen       string // host:port; port 0 selects a free port
	Identity     Identity
	Job          Job               // sent to all workers
	Interval     time.Duration     // of the record
	Patience     time.Duration     // how long to wait for all workers to join, and then for all to be ready
	MixedCores   bool              // allow workers with different numbers of cores
	OnLost       string            // one of Policies
	Journal      string            // file that Resume reads if this process is killed; "" means no journal
	Extra        map[string]string // stored in the journal; Resume returns it
	Tell         func(text string)
	// Next returns the next phases, once all workers have asked for them; see Worker.Next. Follow calls it. Nil means
	// that workers don't ask.
	Next func() json.RawMessage
	// Waiting, if not nil, returns what the engine reports as the reason why workers have not joined, and what to do
	// about it; "" if it reports none.
	Waiting func(ctx context.Context) string
}

// Coordinator leads the workers of one run. Its parts have their own locks, which are taken after mu.
type Coordinator struct {
	o     Options
	clock Clock
	quit  chan struct{}
	endpoint
	journal journal
	course  course
	packedB atomic.Int64 // bytes of packed histograms that wait for the live view
	mu      sync.Mutex
	cond    *sync.Cond    // signals that a field below, a member's inbox or the course has changed
	turn    chan struct{} // closed and replaced when all workers must get an answer at once
	members []*member
	agreed  bool
	refused *refusal // sent to all workers that wait for their job
	startNs int64
	stop    bool
	unheard bool // Returns has waited in vain
	hard    bool
	aborted message.Message
	losses  []schedule.Loss
	granter *schedule.Granter // gives out the operations of closed stages, with Redistribute
}

// member is the coordinator's state of one worker.
type member struct {
	number  int // from 0
	hello   Hello
	process string
	host    string
	state   State // "" until it joins
	seen    time.Time
	joining int // requests of its process that wait for its job
	lost    bool
	lostNs  int64  // when it was lost, by the coordinator's clock
	given   bool   // its share was given to other workers
	stopped bool   // it came back after its share was given away
	untilNs int64  // the time until which it may send; see Answer
	gone    string // how its process ended; "" if that isn't known
	problem *refusal

	rules  []record.AbortRule // see Report
	rows   uint64
	filled json.RawMessage

	asked int // how many times it has asked for phases

	inbox inbox
	// unstored is why its last intervals couldn't be stored; "" if they were
	unstored string
}

// name returns the worker's name in messages: its number from 1 and its host, if known.
func (m *member) name() string {
	if m.host == "" {
		return strconv.Itoa(m.number + 1)
	}
	return fmt.Sprintf("%d (%s)", m.number+1, m.host)
}

// Listen opens the coordinator's address and begins to serve workers. If the port is in use, the error says so.
func Listen(o Options) (*Coordinator, error) {
	c, err := open(o, otherPort)
	if err == nil {
		c.serve()
	}
	return c, err
}

// open opens the coordinator's address. Requests are answered only after serve is called. taken is what to do if the
// port is in use.
func open(o Options, taken string) (*Coordinator, error) {
	l, err := listen(o.Listen, taken)
	if err != nil {
		return nil, err
	}
	config, err := o.Identity.config()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c := &Coordinator{o: o, clock: NewClock(), quit: make(chan struct{}), granter: schedule.NewGranter(o.Workers)}
	c.prepare()
	for k := range o.Workers {
		m := &member{number: k}
		m.inbox.open(filepath.Join(c.o.Dir, strconv.Itoa(k+1)), &c.packedB)
		c.members = append(c.members, m)
	}
	c.endpoint = newEndpoint(l, config, map[string]http.HandlerFunc{
		"POST /join": c.serveJoin, "POST /clock": c.serveClock, "POST /report": c.serveReport,
		"PUT /file": c.serveFile, "GET /file": c.serveHave,
	})
	return c, nil
}

// serve starts to answer workers and to detect lost ones.
func (c *Coordinator) serve() {
	c.endpoint.serve()
	go c.watch()
}

func (c *Coordinator) prepare() {
	c.cond, c.turn = sync.NewCond(&c.mu), make(chan struct{})
	c.journal.tell = c.tell
}

// announce makes the coordinator answer at once all workers that wait for their job or for the start. c.mu must be
// held.
func (c *Coordinator) announce() {
	close(c.turn)
	c.turn = make(chan struct{})
	c.cond.Broadcast()
}

// StartNs returns when the load begins or began, in ns by the coordinator's clock; 0 if that isn't known yet.
func (c *Coordinator) StartNs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startNs
}

// CloseResumable is Close, but keeps the journal of a resumed coordinator, so that the load can be resumed again.
func (c *Coordinator) CloseResumable() error {
	kept := c.journal.leave()
	return errors.Join(c.Close(), kept())
}

// Close answers the requests in progress, stops serving and removes the journal, which contains a private key. Workers
// that are still running retry until they reach their own time limit. So would a worker that has no answer to its last
// report.
func (c *Coordinator) Close() error {
	close(c.quit)
	c.mu.Lock()
	c.announce()
	c.mu.Unlock()
	return errors.Join(c.endpoint.close(), c.journal.end())
}

// Exited records that the process of a worker, numbered from 0, has ended, and how. It is safe for concurrent use.
func (c *Coordinator) Exited(worker int, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[worker]
	m.gone = cmp.Or(how, "it has ended")
	if c.startNs > 0 && m.state != Ended && !m.lost {
		c.lose(m, "its process ended: "+how)
	}
	c.cond.Broadcast()
}

// Stop ends the load of all workers. If hard is true, they don't wait for answers. aborted is the reason if a rule
// ended the load; otherwise it is zero.
func (c *Coordinator) Stop(hard bool, aborted message.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(hard, aborted)
}

func (c *Coordinator) halt(hard bool, aborted message.Message) {
	if !c.stop {
		c.aborted = aborted
	}
	if !c.stop || hard && !c.hard {
		c.journal.note(&event{Stop: &stopped{c.hard || hard, c.aborted}})
	}
	c.stop, c.hard = true, c.hard || hard
	c.announce()
}

// Aborted returns why a rule ended the load; zero if none did.
func (c *Coordinator) Aborted() message.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// Interrupted reports whether Stop has ended the load although no rule required it.
func (c *Coordinator) Interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop && c.aborted.IsZero()
}

// wait blocks until holds returns true or ctx ends; then it returns ctx's error. holds is called with c.mu held.
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

// silence returns how long a worker may go without a report before it is lost: 2.5 intervals, which is less than three,
// but at least leastSilence.
func (c *Coordinator) silence() time.Duration {
	return max(c.o.Interval*5/2, leastSilence)
}

// leastSilence is the minimum of silence. It prevents that workers with very short intervals are lost because a machine
// is busy.
const leastSilence = 1500 * time.Millisecond

// watch declares workers lost that have not reported for longer than silence.
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
		late := now.Sub(last) > c.silence()/2 // this process itself was stopped
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

// beginsBefore reports whether, at the time now, every worker must have reported that its load has begun. c.mu must be
// held.
func (c *Coordinator) beginsBefore(now time.Time) bool {
	return c.startNs > 0 && now.After(c.clock.At(c.startNs).Add(c.silence()))
}

// lose marks a worker as lost and applies the policy for lost workers. The worker may come back. c.mu must be held.
func (c *Coordinator) lose(m *member, why string) {
	m.lost, m.lostNs = true, c.clock.Now()
	m.inbox.close()
	c.tell("worker %s is lost %s into the load: %s", m.name(),
		time.Duration(m.lostNs-c.startNs).Round(100*time.Millisecond), why)
	c.journal.note(&event{Lost: &m.number, AtNs: m.lostNs})
	switch c.o.OnLost {
	case Abort:
		c.halt(false, message.New("stop.worker-lost", message.Text("worker", m.name())))
	case Redistribute:
		c.give(m)
	}
	c.cond.Broadcast()
}

// give assigns the share of a lost worker to the other workers: from the time until which it may send, or, if its
// process has ended and this is earlier, from one interval after the loss, when the others know of it. c.mu must be
// held.
func (c *Coordinator) give(m *member) {
	loss := schedule.Loss{Machine: uint64(m.number), FromNs: m.untilNs}
	if m.gone != "" {
		loss.FromNs = min(loss.FromNs, m.lostNs-c.startNs+int64(c.o.Interval))
	}
	for _, other := range c.members {
		if !other.lost && !other.given && other.state != Ended {
			loss.Receivers = append(loss.Receivers, uint64(other.number))
		}
	}
	if len(loss.Receivers) == 0 {
		return
	}
	m.given = true
	c.losses = append(c.losses, loss)
	c.journal.note(&event{Loss: &loss})
	c.tell("the share of worker %s is sent by the other %d from %s into the load on", m.name(), len(loss.Receivers),
		time.Duration(loss.FromNs).Round(100*time.Millisecond))
}

// grant answers a worker's request for operations of a closed stage. A worker that is lost, or whose share was given to
// others, gets no new operations, and neither does any worker after Stop. c.mu must be held.
func (c *Coordinator) grant(m *member, w *schedule.Request) *schedule.Grant {
	alive, request := 0, *w
	for _, other := range c.members {
		if !other.lost && other.state != Ended {
			alive++
		}
	}
	if m.given || c.stop || m.lost {
		request.Number, request.Ended = 0, false
	}
	g, events := c.granter.Grant(m.number, &request, alive)
	for i := range events {
		c.journal.note(&event{Grant: &events[i]})
	}
	return &g
}

// Rules returns the thresholds of a script that may end the load, with the values of each worker. It returns nil until
// all workers that aren't lost have reported theirs.
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

// Redistributes reports whether the shares of lost workers are given to other workers.
func (c *Coordinator) Redistributes() bool { return c.o.OnLost == Redistribute }

// Unneeded returns how many operations of closed stages that have ended were given to no worker.
func (c *Coordinator) Unneeded() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granter.Unneeded()
}

// lease returns how long a worker may go on sending after a report: an interval longer than silence, so that only a
// lost worker reaches this limit.
func (c *Coordinator) lease() time.Duration { return c.silence() + c.o.Interval }

func (c *Coordinator) tell(format string, args ...any) {
	if c.o.Tell != nil {
		c.o.Tell(fmt.Sprintf(format, args...))
	}
}

// An Error ends a run before its load, with the exit code Code.
type Error struct {
	Code    int
	Text    string
	Missing bool // workers didn't join, or weren't ready, in time
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// The exit codes of Error; see docs/exit-codes.md.
const (
	codeBadPlan     = exitcode.BadPlan
	codeInterrupted = exitcode.Interrupted
	codeUnreachable = exitcode.Unreachable
)

// Gather waits until all workers have joined, checks that they can run one load, sends them their job, and waits until
// all are ready. It returns ctx's error or an *Error, which names the workers that have not joined or are not ready
// after Options.Patience.
func (c *Coordinator) Gather(ctx context.Context) error {
	if err := c.gather(ctx, Joined, "join"); err != nil {
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

// refuse makes all workers leave, with err as the reason, and returns err.
func (c *Coordinator) refuse(err error) error {
	code := codeInterrupted
	if e, ok := errors.AsType[*Error](err); ok {
		code = e.Code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = &refusal{"the coordinator has called the run off: " + err.Error(), code}
	c.halt(true, message.Message{})
	return err
}

// gather waits until all workers have reached a state, or one of them has failed. verb names the state in the error.
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
	why = cmp.Or(why, fmt.Sprintf("see that they run and can reach port %d of this machine", c.Port()))
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

// Limits of a worker's clock: its offset from the coordinator's, and the uncertainty of that offset.
const (
	mostOffset      = 10 * time.Second
	mostUncertainty = 10 // the uncertainty is at most an interval divided by this
)

// disagreement returns an *Error that lists the reasons why the workers can't run one load; nil if they can.
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

// Start sets the time at which all workers begin to lead from now, and returns it in ns by the coordinator's clock.
// lead must be long enough for every worker to receive the time.
func (c *Coordinator) Start(lead time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startNs = c.clock.Now() + int64(lead)
	c.journal.begin(c.o.Journal, c.beginning(), c.course.events())
	c.announce()
	return c.startNs
}

// Follow calls f with the merged intervals of all workers, as they end. It returns when each worker's load is over or
// the worker is lost. run is the result of record.Merge for the parts that Bundles returns.
func (c *Coordinator) Follow(run *record.Run, parts []*record.Recorded, f func(*measure.Interval) error) error {
	sources, now := make([]record.Source, len(parts)), make([]measure.Worker, len(parts))
	for i, p := range parts {
		sources[i] = record.Source{Run: p.Run, Lines: c.intervals(c.members[i]), Seen: seen(&now[i])}
	}
	return record.Align(run, sources, func(iv *measure.Interval) error {
		c.workers(now)
		iv.Workers = now
		return f(record.Filled(iv))
	})
}

// seen returns a function that takes a worker's figures from its intervals.
func seen(w *measure.Worker) func(*measure.Interval) {
	return func(iv *measure.Interval) {
		w.LagMaxNs = 0
		var done uint64
		for i := range iv.Operations {
			o := &iv.Operations[i]
			done += o.Done
			if o.Lag != nil {
				w.LagMaxNs = max(w.LagMaxNs, o.Lag.Max())
			}
		}
		w.Done += done
		w.DonePerS = record.PerSecond(done, iv.EndNs-iv.StartNs)
	}
}

// workers sets the names of workers, and which are lost.
func (c *Coordinator) workers(all []measure.Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range all {
		m, w := c.members[i], &all[i]
		if w.Name, w.Lost = m.name(), m.lost || m.given; w.Lost {
			w.DonePerS, w.LagMaxNs = 0, 0
		}
	}
}

// intervals returns a function that passes on the lines of a worker's intervals as they arrive. Lines that the live
// view has not read yet are in the received file, not in memory, even if other workers are late.
func (c *Coordinator) intervals(m *member) func(func(line, packed []byte) error) error {
	return func(f func(line, packed []byte) error) error {
		in := &m.inbox
		defer in.release()
		for at, number := int64(0), 0; ; {
			end, err := c.await(in, at, f)
			if err != nil || end == at {
				return err
			}
			size, lines, err := in.pass(at, end, number, f)
			if err != nil {
				return err
			}
			at, number = at+size, number+lines
		}
	}
}

// await waits until an inbox has more than its first at bytes, and returns how many it has; at if there will be no
// more. While all workers wait for phases, it gets these, or calls f without a line.
func (c *Coordinator) await(in *inbox, at int64, f func(line, packed []byte) error) (end int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		live, over := in.live()
		if live != at || over {
			return live, nil
		}
		all, passed := c.asked()
		if !all || !passed && at == 0 {
			c.cond.Wait()
			continue
		}
		c.mu.Unlock()
		if passed {
			c.nextPhases()
		} else { // a worker may have cut its last interval in two
			err = f(nil, nil)
		}
		c.mu.Lock()
		if err != nil {
			return at, err
		}
	}
}

// folder returns the folder into which a worker's bundle is received.
func (c *Coordinator) folder(worker int) string { return c.members[worker].inbox.folder() }

// Discard removes the received bundles.
func (c *Coordinator) Discard() error {
	err := os.RemoveAll(c.o.Dir)
	for k := range c.members {
		err = errors.Join(err, os.RemoveAll(c.folder(k))) // it may have been moved
	}
	return err
}

// Bundles opens the received bundles of all workers. They have the state in which each worker became ready.
func (c *Coordinator) Bundles() (parts []*record.Recorded, err error) {
	for k := range c.members {
		p, err := record.Open(record.OS{}, c.folder(k))
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Part is what the coordinator has received from one worker.
type Part struct {
	Name   string
	Dir    string // folder of its bundle, as far as it was received
	Spool  string // folder of the bundle on the worker's own machine
	Lost   bool
	Filled json.RawMessage // with Job.Fill: what the worker has filled; nil if it fills nothing
	LostNs int64           // when it was lost, since the start of the load
	// GivenNs is the time, since the start of the load, from which other workers had the share of a lost worker; 0 if
	// none had.
	GivenNs int64
}

// mayReturn reports whether lost workers may still come back: no worker's bundle is complete, and Returns hasn't waited
// for them in vain.
func (c *Coordinator) mayReturn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.unheard && !slices.ContainsFunc(c.members, func(m *member) bool { return m.state == Ended })
}

// Receive waits until the bundles of all workers have been received, and returns what was received. When the other
// workers have ended, lost workers have grace to come back, unless their process is known to have ended. If all are
// lost, they have Options.Patience if that is longer: then the cause is probably the network, and their load may still
// run. Receive returns early when ctx ends.
func (c *Coordinator) Receive(ctx context.Context, grace time.Duration) []Part {
	all := func(lostToo bool) func() bool {
		return func() bool {
			return !slices.ContainsFunc(c.members, func(m *member) bool {
				return m.state != Ended && (!m.lost || lostToo && m.gone == "")
			})
		}
	}
	if err := c.wait(ctx, all(false)); err == nil {
		if c.mayReturn() {
			grace = max(grace, c.o.Patience)
		}
		timed, cancel := context.WithTimeout(ctx, grace)
		_ = c.wait(timed, all(true)) // a worker that has not come back by then stays lost
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
