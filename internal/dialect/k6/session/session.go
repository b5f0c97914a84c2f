// Package session is the shared state of one run of k6: its clock, recorders, pools, and record. Modules and executors
// report what they do; the session divides the run into intervals and judges it.
package session

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// Session is one run of k6. It is safe for concurrent use: each of its parts has its own locks. No part calls another
// with its lock held, but for the cutter, which uses the draft and the feed.
type Session struct {
	draft
	feed
	counters
	resources
	asking asking

	clock  engine.Clock
	o      Options
	vus    sync.Map // VU number → *Handle
	shards []*measure.Shared
	held   held
	cutter cutter

	place     atomic.Pointer[func(address string) (string, error)] // see SetPlace
	over      atomic.Bool                                          // k6's load is over
	recording atomic.Bool
}

// Options are the settings of a session.
type Options struct {
	Version string   // of brunt
	Command []string // the command line, without secrets
	Seed    uint64   // seed of the values that modules generate
	Fault   error    // the user's mistake in these options; Begin returns it
	Root    string   // folder for bundles; "" means record.DefaultRoot
	Dir     string   // this run's bundle, instead of a name under Root
	None    bool     // keep no record
	Tell    func(text string)
	Live    Live

	// For a worker that sends a share of the load:
	Epoch  time.Time      // origin of the clock, with a monotonic reading; zero: the time of New
	Worker *record.Worker // goes into the record
	Sinks  []measure.Sink // receive intervals after the bundle does
}

// Live says where intervals are sent during the run, in addition to the record.
type Live struct {
	MetricsAddr  string   // host:port of an endpoint for Prometheus; "" for none
	Destinations []string // see export.Options
	Inspected    []string // KIND=URL of servers to ask what they did, or auto; see docs/inspect.md
}

// New returns a session whose clock starts now, or at Options.Epoch. Nothing is recorded before Begin.
func New(o Options) *Session {
	epoch := o.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	s := &Session{
		clock: engine.NewClock(epoch), o: o,
		draft: draft{tell: o.Tell, operations: map[string]int{}, addresses: map[[2]string]int{}, run: &record.Run{}},
	}
	s.cutter.init(s)
	for range max(4, 2*runtime.GOMAXPROCS(0)) {
		s.shards = append(s.shards, s.cutter.collector.NewShared())
	}
	return s
}

// Seed returns the seed of the values that modules generate.
func (s *Session) Seed() uint64 { return s.o.Seed }

// SetPlace sets the function that applies the script's options about addresses; nil if there are none.
func (s *Session) SetPlace(place func(address string) (string, error)) {
	if place != nil {
		s.place.Store(&place)
	}
}

// Place returns the address, as host:port, to which a module connects for the given one, after the script's options.
// Other forms of addresses are returned unchanged. It returns an error if the options forbid the address.
func (s *Session) Place(address string) (string, error) {
	place := s.place.Load()
	if place == nil {
		return address, nil
	}
	return (*place)(address)
}

// PlaceTarget is Place for the address of a target. Its error is of the class client.
func (s *Session) PlaceTarget(t protocol.Target) (protocol.Target, *protocol.Error) {
	address, err := s.Place(t.Address)
	if err != nil {
		return t, protocol.Bad("%s", err)
	}
	t.Address = address
	return t, nil
}

// Now returns the time on the run's clock in ns.
func (s *Session) Now() int64 { return s.clock.Now() }

// LoadBegins sets the time at which the load of all processes begins. Intervals are cut at whole multiples of their
// length after it.
func (s *Session) LoadBegins(at time.Time) {
	ns := s.At(at)
	s.cutter.mu.Lock()
	s.cutter.gridNs = ns
	s.cutter.mu.Unlock()
	s.loadBegan(ns)
}

// At converts a wall-clock time to the run's clock.
func (s *Session) At(t time.Time) int64 { return s.clock.Now() - int64(time.Since(t)) }

// shard returns the recorder for the VU with that number.
func (s *Session) shard(vu uint64) *measure.Shared { return s.shards[vu%uint64(len(s.shards))] }

// Dropped counts iterations of a scenario that k6 dropped because no VU was free.
func (s *Session) Dropped(scenario string, n uint64) {
	operation := s.Operation(IterationName(scenario))
	s.dropped.Add(n)
	s.shards[0].Do(func(r *measure.Recorder) { r.GiveUp(operation, measure.UnsentNoSession, n) })
}

// IterationName returns the name of the operation under which iterations of a scenario are counted.
func IterationName(scenario string) string { return "iteration " + scenario }
