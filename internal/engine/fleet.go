package engine

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"brunt/internal/balance"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/schedule"
	"brunt/internal/workload"
)

// Clock is a run's monotonic clock.
type Clock struct{ start time.Time }

// NewClock returns a clock that reads 0 at start, which must carry a monotonic reading.
func NewClock(start time.Time) Clock { return Clock{start} }

// Now is nanoseconds since the clock's start. It never steps.
func (c Clock) Now() int64 { return int64(time.Since(c.start)) }

// Unix is the wall-clock time, in nanoseconds since the epoch, at which the clock read ns.
func (c Clock) Unix(ns int64) int64 { return c.start.UnixNano() + ns }

// FleetConfig is what a fleet of sessions needs.
type FleetConfig struct {
	Workload *workload.Workload
	Driver   protocol.Driver
	Targets  []protocol.Target // one an address
	Nodes    *protocol.Nodes   // addresses that may change while the fleet is at work; nil: Targets, which stay
	Sessions int               // over all addresses
	// AtFirst is how many sessions connect before the load; others do when an open stage's arrivals wait for one, as
	// long as the server takes them. 0 means all.
	AtFirst int
	Balance balance.Policy // which address a session belongs to; nil means in turn
	// SessionsBy chooses instead of Balance if it isn't nil.
	SessionsBy *balance.Balancer
	// RequestsBy has every session connect to each node and chooses one for each operation; nil: sessions have one
	// address.
	RequestsBy  *balance.Balancer
	DropLeaving bool // sessions at a node that leaves are closed at once; else they finish their operation
	Collector   *measure.Collector
	Clock       Clock
	OnError     func(ErrorEvent) // receives every failure; must be quick and safe for concurrent use

	OperationTimeout time.Duration // of a whole operation, retries included
	ConnectTimeout   time.Duration
	Retries          int           // further attempts after a retryable failure
	DropLate         bool          // give up arrivals that are later than DropAfter instead of queueing them
	DropAfter        time.Duration //
	EndOnTime        bool          // give up what is unsent when an open stage is over; else it is sent late, see Fleet
	OutageWait       bool          // hold arrivals back while nothing is connected; see Fleet
	TimingTolerance  time.Duration // codec tier: how late a send may be, to be sent with others
	Spin             time.Duration // busy-wait before an intended start
	Pipeline         int           // codec tier: requests in flight a session; ≥ 1
	Loops            int           // codec tier: 0 means choose
	ClosedOnly       bool          // codec tier: no stage is open, so that the kernel needn't keep times of arrival
	PeakPerS         float64       // codec tier: the highest rate of an open stage, arrivals a second; 0 if none is known
	RetryErrors      bool          // library tier: Retries is for every failure
	RetryPause       time.Duration // before a further attempt, ±20 %; 0 means 1 ms doubling
}

// Grows reports whether sessions connect as the load needs them.
func (c *FleetConfig) Grows() bool { return c.AtFirst > 0 && c.AtFirst < c.Sessions }

// NewRoute returns what says which addresses the configuration's sessions and requests go to.
func (c *FleetConfig) NewRoute() balance.Route {
	if c.Nodes == nil {
		c.Nodes = protocol.NewNodes(c.Targets, 0)
	}
	policy := c.Balance
	if policy == nil {
		policy = balance.RoundRobin(c.Nodes.Len())
	}
	homes := balance.NewHomes(c.Sessions, policy, c.SessionsBy, c.Nodes)
	return balance.NewRoute(homes, c.RequestsBy, c.Driver, c.Nodes, &c.Workload.Program)
}

// Dialed notes how long it took to connect to an address, in nanoseconds.
func (c *FleetConfig) Dialed(address int, ns int64) {
	for _, b := range []*balance.Balancer{c.SessionsBy, c.RequestsBy} {
		if b != nil {
			b.Connected(address, ns)
		}
	}
}

// Connecting bounds an attempt to connect to an address.
func (c *FleetConfig) Connecting(ctx context.Context, address int) (context.Context, context.CancelFunc) {
	timeout := c.Nodes.At(address).ConnectTimeout
	if timeout <= 0 {
		timeout = c.ConnectTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// Refused tells of an attempt to connect that failed.
func (c *FleetConfig) Refused(address int, e *protocol.Error) {
	if c.OnError != nil {
		f := protocol.Failure{Class: e.Class, Code: e.Code, Text: e.Text, Fatal: true}
		c.OnError(ErrorEvent{AtNs: c.Clock.Now(), Operation: -1, Address: address, Attempt: 1, Failure: f})
	}
}

// Unconnected fills m for operation number index, meant to start at intended, which can't be sent because
// nothing is connected. It has no lag: that it waited says nothing of the generator.
func (c *FleetConfig) Unconnected(m *measure.Sample, index uint64, address int, open bool, intended, now int64) {
	*m = measure.Sample{
		Operation: c.Workload.Pick(index), Address: address, Open: open, Intended: intended, Sent: intended, End: now,
		Attempts: 1, Class: protocol.Connect,
	}
}

// TellUnconnected tells of the operation that Unconnected has filled m for.
func (c *FleetConfig) TellUnconnected(m *measure.Sample, index uint64) {
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

// NewCursor returns a cursor by the configuration's rules.
func (c *FleetConfig) NewCursor() workload.Cursor {
	return c.Workload.NewCursor(workload.Rules{Retries: c.Retries, EveryFailure: c.RetryErrors})
}

// Fill sets what a sample has from the cursor of an operation that is over.
func Fill(m *measure.Sample, c *workload.Cursor) {
	m.Operation, m.End, m.Attempts, m.Class = c.Operation, c.EndNs, c.Attempts, c.Failure.Class
	m.Missing, m.Missed, m.BadHash, m.Status, m.BytesIn = c.Missing, c.Missed, c.BadHash, c.Status, c.BytesIn
}

// Overtime is how long after the end of an open stage its arrivals are still sent.
func (c *FleetConfig) Overtime() time.Duration {
	if c.EndOnTime {
		return 0
	}
	return c.OperationTimeout
}

// ErrorEvent is one failed attempt, or a failed connection (Operation −1).
type ErrorEvent struct {
	AtNs      int64
	Operation int
	Index     uint64
	Address   int
	Attempt   int
	Failure   protocol.Failure
}

// Fleet is a set of sessions over all addresses. A session that loses its connection (a timeout, a
// reset, a server's close) connects again at once, and after a failed attempt again and again with
// jittered back-off of up to a second, for as long as the fleet is open.
//
// While nothing is connected, an arrival of an open stage waits for attempts to connect that haven't
// failed yet, for up to OperationTimeout. Once each address has refused, arrivals fail at once, as
// those of any client would; with OutageWait they wait for OperationTimeout. In a closed stage each
// failed attempt costs an operation, so that they fail at the back-off's pace; with OutageWait they
// do so only when nothing has been connected for OperationTimeout.
type Fleet interface {
	// Connect opens all sessions. It succeeds if at least one address could be reached and
	// accepted the program; otherwise the error is the first *protocol.Error met.
	Connect(ctx context.Context) error
	// Run carries out one stage. It returns when the stage is over and every operation begun has
	// finished, or soon after ctx is done: then no operation is begun, and what is in flight is
	// carried out, retries included, for up to its timeout or until hard is closed. next is the
	// number of the first operation that a following stage may use.
	//
	// Every arrival that falls due has one fate in the recorders: it succeeds, fails, is given up
	// unsent, or is unfinished when hard is closed. Those that could not be sent by an open
	// stage's end are sent late for at most OperationTimeout, then given up as what kept them from
	// being sent says. Whenever an interval ends, offered = fates + backlog + in flight.
	Run(ctx context.Context, hard <-chan struct{}, stage schedule.Stage) (next uint64, err error)
	// Close closes all sessions.
	Close()
}

// Growing is implemented by fleets whose sessions connect as the load needs them, see FleetConfig.AtFirst.
type Growing interface {
	// Opened returns how many sessions were in use at most so far, and whether the server took no more than that.
	// It is safe for concurrent use.
	Opened() (sessions int, full bool)
}

// Growth counts the sessions of a fleet that grows. It is safe for concurrent use.
type Growth struct {
	awake, most atomic.Int64
	full        atomic.Bool
}

// Wake counts sessions that are to connect.
func (g *Growth) Wake(n int) {
	now := g.awake.Add(int64(n))
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
}

// Rest counts a session that isn't needed any more, or that the server doesn't take.
func (g *Growth) Rest() { g.awake.Add(-1) }

// Fill notes that the server took no further session.
func (g *Growth) Fill() {
	g.full.Store(true)
	g.most.Store(g.awake.Load()) // those that were on their way and aren't taken come here, too
}

// Full reports whether the server took no further session.
func (g *Growth) Full() bool { return g.full.Load() }

// Awake is how many sessions are in use.
func (g *Growth) Awake() int { return int(g.awake.Load()) }

// Most is how many sessions there were at most, those left out that the server didn't take.
func (g *Growth) Most() int { return int(g.most.Load()) }

// Pauses after connections that couldn't be made double between these.
const (
	reconnectMin = 50 * time.Millisecond
	reconnectMax = time.Second
)

// Backoff draws the pauses before further attempts. It is not safe for concurrent use.
type Backoff struct{ rand *rand.Rand }

// NewBackoff returns pauses that are a function of both numbers.
func NewBackoff(seed, stream uint64) Backoff {
	return Backoff{rand.New(rand.NewPCG(seed, stream))}
}

// Retry is the pause after so many failed attempts at an operation, at least 1: the one given ±20 %,
// or else 1 ms doubling to 128 ms, with full jitter.
func (b Backoff) Retry(attempts int, pause time.Duration) time.Duration {
	if pause > 0 {
		return pause*4/5 + time.Duration(b.rand.Int64N(int64(pause)*2/5+1))
	}
	return time.Duration(b.rand.Int64N(int64(time.Millisecond) << min(attempts-1, 7)))
}

// Reconnect is the pause before an attempt to connect after so many failed ones in a row: none
// before the first, then 25 to 75 ms doubling up to a second, with full jitter, so that a server's
// return is soon noticed.
func (b Backoff) Reconnect(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	d := min(reconnectMin<<min(failures, 16), 2*reconnectMax)
	return time.Duration(b.rand.Int64N(int64(d)/2)) + reconnectMin/2
}
