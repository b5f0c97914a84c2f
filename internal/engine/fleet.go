package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
)

// Clock is a run's monotonic clock.
type Clock struct{ start time.Time }

// NewClock returns a clock that reads 0 at start, which must carry a monotonic reading.
func NewClock(start time.Time) Clock { return Clock{start} }

// Now returns the time since the clock's start, ns. It never steps.
func (c Clock) Now() int64 { return int64(time.Since(c.start)) }

// Unix returns the wall-clock time at which the clock read ns, in ns since the epoch.
func (c Clock) Unix(ns int64) int64 { return c.start.UnixNano() + ns }

// FleetConfig is the configuration of a fleet of sessions, on either tier.
type FleetConfig struct {
	Workload  *workload.Workload
	Driver    protocol.Driver
	Collector *measure.Collector
	Clock     Clock
	OnError   func(ErrorEvent) // receives every failure; must be quick and safe for concurrent use

	Sessions int // over all addresses
	// Standby is how many of Sessions, the last, connect when a stage lets them take part: see Stage.ActiveSessions.
	Standby int
	// AtFirst is how many sessions connect before the load. Further ones connect when arrivals of an open stage wait
	// for a session, as long as the server accepts them. 0 means all.
	AtFirst          int
	OperationTimeout time.Duration // of a whole operation, retries included
	Spin             time.Duration // busy-wait before an intended start

	Where
	Dialing
	Retrying
	Lateness
	ForLoops
}

// Where is where sessions and requests go.
type Where struct {
	Targets []protocol.Target // one for each address
	Nodes   *protocol.Nodes   // addresses that may change while the fleet runs; nil: Targets, which don't change
	Balance balance.Policy    // which address a session belongs to; nil means in turn
	// SessionsBy takes the place of Balance if it isn't nil.
	SessionsBy *balance.Balancer
	// RequestsBy makes every session connect to all nodes, and chooses a node for each operation; nil: a session has
	// one address.
	RequestsBy  *balance.Balancer
	DropLeaving bool // close sessions at a node that leaves at once; otherwise they finish their operation
}

// Dialing is how connections are opened.
type Dialing struct {
	ConnectTimeout time.Duration
	Reconnect      bool           // each operation has a connection of its own
	OnDial         func(ns int64) // receives how long each connection took to open; safe for concurrent use; may be nil
}

// Retrying says which attempts follow a failed one.
type Retrying struct {
	Retries     int           // further attempts after a retryable failure
	RetryErrors bool          // library tier: retry after every failure
	RetryPause  time.Duration // before a further attempt, ±20 %; 0 means 1 ms doubling
	RetryWithin time.Duration // since the intended start; later failures aren't repeated; 0: no limit
}

// Lateness says what becomes of arrivals that can't be sent in time.
type Lateness struct {
	DropLate   bool // give up arrivals that are later than DropAfter, instead of queueing them
	DropAfter  time.Duration
	EndOnTime  bool // give up unsent arrivals when an open stage ends; else they are sent late, see Fleet
	SendAll    bool // send them late for as long as it takes
	OutageWait bool // let arrivals wait while nothing is connected; see Fleet
}

// ForLoops is what only event loops need: the codec tier.
type ForLoops struct {
	Loops           int           // 0 means choose
	Pipeline        int           // requests in flight per session; ≥ 1
	TimingTolerance time.Duration // how late a send may be, to be sent together with others
	ClosedOnly      bool          // no stage is open, so kernel timestamps are not needed
	PeakPerS        float64       // the highest rate of an open stage, arrivals a second; 0 if unknown
}

// Grows reports whether sessions connect when the load needs them.
func (c *FleetConfig) Grows() bool { return c.AtFirst > 0 && c.AtFirst < c.Sessions-c.Standby }

// Spare reports whether session number i doesn't connect before the load.
func (c *FleetConfig) Spare(i int) bool {
	return c.Grows() && i >= c.AtFirst || i >= c.Sessions-c.Standby
}

// AnyAddress returns an address to which operation number index could go, for the record of operations that nothing
// could be connected for. It is always the number of a node: there is room for nodes that may join, and these numbers
// are nobody's address yet. Nodes that have left are passed over, unless all have.
func (c *FleetConfig) AnyAddress(index uint64) int {
	n := uint64(c.Nodes.Len())
	for i := range n {
		if at := int((index + i) % n); c.Nodes.Active(at) {
			return at
		}
	}
	return int(index % n)
}

// Complete returns the configuration with its defaults in place of what is missing. Each tier's fleet begins with it,
// so that both mean the same by a configuration. It fails if no fleet can be made of it.
func (c FleetConfig) Complete() (FleetConfig, error) {
	if len(c.Targets) == 0 && c.Nodes == nil || c.Workload == nil || c.Collector == nil {
		return c, errors.New("make a fleet: targets, a workload and a collector are needed")
	}
	c.Sessions = max(c.Sessions, 1)
	c.Pipeline = max(c.Pipeline, 1)
	if c.OperationTimeout <= 0 {
		c.OperationTimeout = defaultOperationTimeout
	}
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = defaultConnectTimeout
	}
	if c.Nodes == nil {
		c.Nodes = protocol.NewNodes(c.Targets, 0)
	}
	return c, nil
}

// The timeouts of a FleetConfig without its own. Plans always have them.
const (
	defaultOperationTimeout = 30 * time.Second
	defaultConnectTimeout   = 5 * time.Second
)

// NewRoute returns the route of a complete configuration, which decides to which addresses its sessions and requests
// go.
func (c *FleetConfig) NewRoute() balance.Route {
	policy := c.Balance
	if policy == nil {
		policy = balance.RoundRobin(c.Nodes.Len())
	}
	homes := balance.NewHomes(c.Sessions, policy, c.SessionsBy, c.Nodes)
	return balance.NewRoute(homes, c.RequestsBy, c.Driver, c.Nodes, &c.Workload.Program)
}

// Dialed records how long it took to connect to an address, ns.
func (c *FleetConfig) Dialed(address int, ns int64) {
	if c.OnDial != nil {
		c.OnDial(ns)
	}
	for _, b := range []*balance.Balancer{c.SessionsBy, c.RequestsBy} {
		if b != nil {
			b.Connected(address, ns)
		}
	}
}

// Connecting limits the time of an attempt to connect to an address.
func (c *FleetConfig) Connecting(ctx context.Context, address int) (context.Context, context.CancelFunc) {
	timeout := c.Nodes.At(address).ConnectTimeout
	if timeout <= 0 {
		timeout = c.ConnectTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// Refused reports a failed attempt to connect.
func (c *FleetConfig) Refused(address int, e *protocol.Error) {
	if c.OnError != nil {
		f := protocol.Failure{Class: e.Class, Code: e.Code, Text: e.Text, Fatal: true}
		c.OnError(ErrorEvent{AtNs: c.Clock.Now(), Operation: -1, Address: address, Attempt: 1, Failure: f})
	}
}

// Unconnected fills m for operation number index, with an intended start, which can't be sent because nothing is
// connected. The sample has no lag, because the generator did not cause the wait.
func (c *FleetConfig) Unconnected(m *measure.Sample, index uint64, address int, open bool, intended, now int64) {
	*m = measure.Sample{
		Operation: c.Workload.Pick(index), Address: address, Open: open, Intended: intended, Sent: intended, End: now,
		Attempts: 1, Class: protocol.Connect,
	}
}

// ReportUnconnected reports the failure of an operation whose sample m was set by Unconnected.
func (c *FleetConfig) ReportUnconnected(m *measure.Sample, index uint64) {
	if c.Workload.Done != nil {
		c.Workload.Done(m.Operation, index, protocol.Connect)
	}
	if c.OnError != nil {
		c.OnError(ErrorEvent{
			AtNs: m.End, Operation: m.Operation, Index: index, Address: m.Address, Attempt: 1,
			Failure: protocol.Failure{Class: protocol.Connect, Text: "no session is connected to any address", Fatal: true},
		})
	}
}

// NewCursor returns the cursor of a session with a number from 0, with the configuration's rules for retries.
func (c *FleetConfig) NewCursor(session int) workload.Cursor {
	return c.Workload.NewCursor(session, workload.Rules{Retries: c.Retries, EveryFailure: c.RetryErrors})
}

// TooLate reports whether an attempt that failed at endNs must not be repeated, because the operation was meant to
// start too long before.
func (c *FleetConfig) TooLate(intendedNs, endNs int64) bool {
	return c.RetryWithin > 0 && endNs-intendedNs > int64(c.RetryWithin)
}

// Fill sets the fields of a sample that come from the cursor of a finished operation.
func Fill(m *measure.Sample, c *workload.Cursor) {
	m.Operation, m.End, m.Attempts, m.Class = c.Operation, c.EndNs, c.Attempts, c.Failure.Class
	m.Facts = c.Facts
	m.Counted = c.Counts()
}

// Overtime returns for how long after the end of an open stage its arrivals are still sent.
func (c *FleetConfig) Overtime() time.Duration {
	switch {
	case c.EndOnTime:
		return 0
	case c.SendAll:
		return longest
	}
	return c.OperationTimeout
}

// longest is an overtime that no load reaches.
const longest = 10 * 366 * 24 * time.Hour

// ErrorEvent is one failed attempt, or a failed connection (Operation −1).
type ErrorEvent struct {
	AtNs      int64
	Operation int
	Index     uint64
	Address   int
	Attempt   int
	Failure   protocol.Failure
}

// Fleet is a set of sessions over all addresses. A session that loses its connection (by a timeout, a reset, or a close
// by the server) reconnects at once. After a failed attempt it tries again, with jittered back-off of up to a second,
// while the fleet is open.
//
// While nothing is connected, an arrival of an open stage waits for attempts to connect that have not failed yet, for
// up to OperationTimeout. When each address has refused, arrivals fail at once, as they would for any client. With
// OutageWait they wait for OperationTimeout instead. In a closed stage each failed attempt fails one operation, so
// operations fail at the rate of the back-off. With OutageWait they fail only when nothing has been connected for
// OperationTimeout.
type Fleet interface {
	// Connect opens all sessions. It succeeds if at least one address could be reached and accepted the program.
	// Otherwise it returns the first *protocol.Error that occurred.
	Connect(ctx context.Context) error
	// Run executes one stage. It returns when the stage has ended and every operation that was begun has finished, or
	// soon after ctx is done. In the latter case no operation is begun, and operations in flight are continued,
	// including retries, until their timeout or until hard is closed. next is the number of the first operation that a
	// following stage may use.
	//
	// Every arrival that falls due has one fate in the recorders: it succeeds, fails, is given up unsent, or is
	// unfinished when hard is closed. Arrivals that could not be sent by the end of an open stage are sent late for at
	// most OperationTimeout, and then given up with the reason that prevented sending. At the end of every interval,
	// offered = fates + backlog + in flight.
	Run(ctx context.Context, hard <-chan struct{}, stage schedule.Stage) (next uint64, err error)
	// Close closes all sessions.
	Close()
}

// Growing is implemented by fleets whose sessions connect when the load needs them, see FleetConfig.AtFirst.
type Growing interface {
	// Opened returns the largest number of sessions in use so far, and whether the server accepted no more than that.
	// It is safe for concurrent use.
	Opened() (sessions int, full bool)
}

// Growth counts the sessions of a fleet that grows. It is safe for concurrent use.
type Growth struct {
	awake, most atomic.Int64
	full        atomic.Bool
}

// Wake counts sessions that are about to connect.
func (g *Growth) Wake(n int) {
	now := g.awake.Add(int64(n))
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
}

// Rest counts a session that is no longer needed, or that the server didn't accept.
func (g *Growth) Rest() { g.awake.Add(-1) }

// Fill records that the server accepted no further session.
func (g *Growth) Fill() {
	g.full.Store(true)
	g.most.Store(g.awake.Load()) // also called for sessions that were connecting and were not accepted
}

// Full reports whether the server accepted no further session.
func (g *Growth) Full() bool { return g.full.Load() }

// Awake returns how many sessions are in use.
func (g *Growth) Awake() int { return int(g.awake.Load()) }

// Most returns the largest number of sessions so far, without those that the server didn't accept.
func (g *Growth) Most() int { return int(g.most.Load()) }

// Pauses after failed attempts to connect double between these limits.
const (
	reconnectMin = 50 * time.Millisecond
	reconnectMax = time.Second
)

// Backoff draws random pauses before further attempts. It is not safe for concurrent use.
type Backoff struct{ rand *rand.Rand }

// NewBackoff returns a Backoff whose pauses are a function of both numbers.
func NewBackoff(seed, stream uint64) Backoff {
	return Backoff{rand.New(rand.NewPCG(seed, stream))}
}

// Retry returns the pause after the given number of failed attempts at an operation, at least 1: the given pause ±20 %,
// or otherwise 1 ms doubling to 128 ms, with full jitter.
func (b Backoff) Retry(attempts int, pause time.Duration) time.Duration {
	if pause > 0 {
		return pause*4/5 + time.Duration(b.rand.Int64N(int64(pause)*2/5+1))
	}
	return time.Duration(b.rand.Int64N(int64(time.Millisecond) << min(attempts-1, 7)))
}

// Reconnect returns the pause before an attempt to connect, after the given number of failed ones in a row: none before
// the first attempt, then 25 to 75 ms doubling up to a second, with full jitter, so that a server's return is noticed
// soon.
func (b Backoff) Reconnect(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	d := min(reconnectMin<<min(failures, 16), 2*reconnectMax)
	return time.Duration(b.rand.Int64N(int64(d)/2)) + reconnectMin/2
}
