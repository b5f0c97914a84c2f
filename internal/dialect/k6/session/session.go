// Package session is the shared state of one run of k6: its clock, recorders, pools, and record. Modules and executors
// report what they do; the session divides the run into intervals and judges it.
package session

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"brunt/internal/base/secret"
	"brunt/internal/engine"
	"brunt/internal/inspect/observe"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/report/export"
)

// The most operations and addresses that a run distinguishes. Scripts name them during the run, and some put keys into
// the names. Operations beyond the limit are counted together.
const (
	mostOperations = 128
	mostAddresses  = 16
)

// Session is one run of k6. It is safe for concurrent use.
type Session struct {
	clock  engine.Clock
	seed   uint64
	o      Options
	vus    sync.Map // VU number → *Handle
	shards []*measure.Shared

	mu         sync.Mutex // guards what follows
	operations map[string]int
	addresses  map[[2]string]int
	run        *record.Run
	bundle     *record.Bundle
	script     []byte         // content of plan.yml, without plans
	plans      []string       // hashes of the plans that the script runs from files
	native     bool           // the script runs nothing but plans
	figures    observe.Source // Script.Figures
	named      bool           // run has operations or addresses that run.json lacks
	ends       []func() error
	inits      []modules.VU // virtual users that import one of brunt's modules
	settling   []func()     // see BeforeSettled

	held     held
	shared   shared
	cutter   cutter
	exporter *export.Exporter // nil if nothing is exported

	over       atomic.Bool  // k6's load is over
	quiet      atomic.Bool  // print nothing at the end
	requests   atomic.Bool  // an operation other than an iteration was recorded
	reports    atomic.Bool  // see ReportsRequests
	activeVUs  atomic.Int64 // as k6 reported last
	lastNs     atomic.Int64 // the last time at which something ended
	recording  atomic.Bool
	dropped    atomic.Uint64
	threw      atomic.Uint64 // iterations that ended with an exception
	iterations atomic.Uint64

	metrics atomic.Pointer[Metrics]
	samples atomic.Pointer[chan<- metrics.SampleContainer]
	sending sync.RWMutex // held for reading while sending on samples
	silent  bool         // nothing is sent any more; guarded by sending
	aborted bool         // Abort was called; guarded by sending
	state   atomic.Pointer[lib.ExecutionState]
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
}

// New returns a session whose clock starts now, or at Options.Epoch. Nothing is recorded before Begin.
func New(o Options) *Session {
	epoch := o.Epoch
	if epoch.IsZero() {
		epoch = time.Now()
	}
	s := &Session{
		clock: engine.NewClock(epoch), seed: o.Seed, o: o,
		operations: map[string]int{}, addresses: map[[2]string]int{}, run: &record.Run{},
	}
	s.cutter.init(s)
	for range max(4, 2*runtime.GOMAXPROCS(0)) {
		s.shards = append(s.shards, s.cutter.collector.NewShared())
	}
	return s
}

// Quiet sets whether the run prints nothing about itself but errors.
func (s *Session) Quiet(quiet bool) { s.quiet.Store(quiet) }

// Seed returns the seed of the values that modules generate.
func (s *Session) Seed() uint64 { return s.seed }

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

// Operation returns the number of the operation with this name. The first call for a name adds it.
func (s *Session) Operation(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.operations[name]; ok {
		return n
	}
	name = secret.Text(name) // k6 names requests by their URLs
	if n, ok := s.operations[name]; ok {
		return n
	}
	if len(s.run.Operations) >= mostOperations-1 {
		name = record.OtherOperations
		if n, ok := s.operations[name]; ok {
			return n
		}
	}
	n := len(s.run.Operations)
	s.operations[name] = n
	s.run.Operations = append(s.run.Operations, record.Operation{Name: name})
	s.named = true
	return n
}

// Address returns the number of an address. The first call for an address adds it; beyond mostAddresses it returns -1.
func (s *Session) Address(protocol, address string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{protocol, address}
	if n, ok := s.addresses[key]; ok {
		return n
	}
	n := len(s.run.Targets)
	if n >= mostAddresses {
		return -1
	}
	s.addresses[key] = n
	s.run.Targets = append(s.run.Targets, record.Target{Address: address, Protocol: protocol})
	s.named = true
	return n
}

// Describe sets the product and version of the server at an address.
func (s *Session) Describe(address int, product, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address >= 0 && address < len(s.run.Targets) {
		s.run.Targets[address].Product, s.run.Targets[address].Version = product, version
		s.named = true
	}
}

// nameOf returns the name of an operation, "" if there is none.
func (s *Session) nameOf(operation int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if operation < 0 || operation >= len(s.run.Operations) {
		return ""
	}
	return s.run.Operations[operation].Name
}

// addressOf returns the text of an address, "" if there is none.
func (s *Session) addressOf(address int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address < 0 || address >= len(s.run.Targets) {
		return ""
	}
	return s.run.Targets[address].Address
}

// BeforeSettled registers f to be called once after the load, before the last interval is cut; f may record further
// calls. All registered functions run at the same time.
func (s *Session) BeforeSettled(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settling = append(s.settling, f)
}

// settle calls the functions registered by BeforeSettled.
func (s *Session) settle() {
	s.mu.Lock()
	all := s.settling
	s.settling = nil
	s.mu.Unlock()
	var calls sync.WaitGroup
	for _, f := range all {
		calls.Go(f)
	}
	calls.Wait()
}

// AtEnd registers f to be called once after the run, teardown included. Functions run in reverse order.
func (s *Session) AtEnd(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, f)
}

// shard returns the recorder for the VU with that number.
func (s *Session) shard(vu uint64) *measure.Shared { return s.shards[vu%uint64(len(s.shards))] }

// Dropped counts iterations of a scenario that k6 dropped because no VU was free.
func (s *Session) Dropped(scenario string, n uint64) {
	operation := s.Operation(IterationName(scenario))
	s.dropped.Add(n)
	s.shards[0].Do(func(r *measure.Recorder) { r.GiveUp(operation, measure.UnsentNoSession, n) })
}

// Threw counts an iteration that ended with an exception.
func (s *Session) Threw() { s.threw.Add(1) }

// IterationName returns the name of the operation under which iterations of a scenario are counted.
func IterationName(scenario string) string { return "iteration " + scenario }

// counted returns the numbers of iterations so far.
func (s *Session) counted() *record.Iterations {
	return &record.Iterations{Done: s.iterations.Load(), Dropped: s.dropped.Load(), Threw: s.threw.Load()}
}

// shared holds the resources that all VUs share, by key.
type shared struct {
	mu  sync.Mutex
	all map[string]*thing
}

// thing is a shared resource. The first caller opens it, while others wait.
type thing struct {
	mu     sync.Mutex
	closer io.Closer
}

// Shared returns the resource with the key, and opens it if necessary. An error isn't stored: the next call tries
// again. The resource is closed after the run.
func (s *Session) Shared(key string, open func() (io.Closer, error)) (io.Closer, error) {
	s.shared.mu.Lock()
	if s.shared.all == nil {
		s.shared.all = map[string]*thing{}
	}
	t := s.shared.all[key]
	if t == nil {
		t = &thing{}
		s.shared.all[key] = t
	}
	s.shared.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closer != nil {
		return t.closer, nil
	}
	c, err := open()
	if err == nil {
		t.closer = c
	}
	return c, err
}

// close closes the shared resources, and calls the functions registered by AtEnd. After Abort, scripts may still be in
// a call: their resources are then left open until the process ends.
func (s *Session) close() (err error) {
	s.mu.Lock()
	ends := s.ends
	s.ends = nil
	s.mu.Unlock()
	for i := len(ends) - 1; i >= 0; i-- {
		err = errors.Join(err, ends[i]())
	}
	s.sending.RLock()
	aborted := s.aborted
	s.sending.RUnlock()
	if aborted {
		return err
	}
	s.shared.mu.Lock()
	all := s.shared.all
	s.shared.all = nil
	s.shared.mu.Unlock()
	for _, t := range all {
		t.mu.Lock()
		if t.closer != nil {
			err = errors.Join(err, t.closer.Close())
		}
		t.mu.Unlock()
	}
	return err
}
