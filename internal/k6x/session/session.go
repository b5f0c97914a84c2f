// Package session is what one run of k6 shares: its clock, its recorders, its pools, and the record
// that it becomes. Modules and executors tell it what they do; it cuts intervals and judges.
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

	"brunt/internal/engine"
	"brunt/internal/export"
	"brunt/internal/measure"
	"brunt/internal/observe"
	"brunt/internal/record"
	"brunt/internal/secret"
)

// The most operations and addresses that a run distinguishes. Scripts name them as they go, some of
// them after keys; what comes later is counted together.
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
	script     []byte         // what plan.yml says, without plans
	plans      []string       // hashes of those that the script runs from files
	native     bool           // plans are all that it runs
	figures    observe.Source // Script.Figures
	named      bool           // operations or addresses are in run that run.json doesn't have yet
	ends       []func() error
	inits      []modules.VU // virtual users that import a module of ours
	settling   []func()     // see BeforeSettled

	held     held
	shared   shared
	cutter   cutter
	exporter *export.Exporter // nil if nothing is exported

	over       atomic.Bool  // k6's load is
	quiet      atomic.Bool  // say nothing at the end
	requests   atomic.Bool  // something but iterations was recorded
	reports    atomic.Bool  // see ReportsRequests
	activeVUs  atomic.Int64 // as k6 said last
	lastNs     atomic.Int64 // the last moment at which something ended
	recording  atomic.Bool
	dropped    atomic.Uint64
	threw      atomic.Uint64 // iterations
	iterations atomic.Uint64

	metrics atomic.Pointer[Metrics]
	samples atomic.Pointer[chan<- metrics.SampleContainer]
	sending sync.RWMutex // held for reading while we send there
	silent  bool         // nothing is sent there any longer; under sending
	aborted bool         // so is this
	state   atomic.Pointer[lib.ExecutionState]
}

// Options are what a session needs from outside.
type Options struct {
	Version string   // of brunt
	Command []string // the command line, without secrets
	Seed    uint64   // of what modules generate
	Fault   error    // of the user in these; Begin returns it
	Root    string   // folder for bundles; "" means record.DefaultRoot
	Dir     string   // this run's bundle, instead of a name under Root
	None    bool     // keep no record
	Tell    func(text string)
	Live    Live

	// For a share of a load that several processes send:
	Epoch  time.Time      // where the clock is 0, with a monotonic reading; zero: at New
	Worker *record.Worker // of the record
	Sinks  []measure.Sink // receive intervals after the bundle
}

// Live says where intervals go while they happen, next to the record.
type Live struct {
	MetricsAddr  string   // host:port of an endpoint for Prometheus; "" for none
	Destinations []string // see export.Options
}

// New returns a session whose clock starts now. Nothing is recorded before Begin.
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

// Quiet says whether the run says nothing of itself but what went wrong.
func (s *Session) Quiet(quiet bool) { s.quiet.Store(quiet) }

// Seed is the seed of what modules generate.
func (s *Session) Seed() uint64 { return s.seed }

// Now is nanoseconds on the run's clock.
func (s *Session) Now() int64 { return s.clock.Now() }

// LoadBegins says that the load of all processes begins at a moment: intervals are cut at whole numbers of their length
// after it.
func (s *Session) LoadBegins(at time.Time) {
	ns := s.At(at)
	s.cutter.mu.Lock()
	s.cutter.gridNs = ns
	s.cutter.mu.Unlock()
	s.loadBegan(ns)
}

// At is a moment of the wall clock on the run's clock.
func (s *Session) At(t time.Time) int64 { return s.clock.Now() - int64(time.Since(t)) }

// Operation is the number of the operation of a name, which is made on first use.
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

// Address is the number of an address, which is made on first use; -1 beyond the most that are told
// apart.
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

// Describe says what serves at an address.
func (s *Session) Describe(address int, product, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address >= 0 && address < len(s.run.Targets) {
		s.run.Targets[address].Product, s.run.Targets[address].Version = product, version
		s.named = true
	}
}

// nameOf is the name of an operation.
func (s *Session) nameOf(operation int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if operation < 0 || operation >= len(s.run.Operations) {
		return ""
	}
	return s.run.Operations[operation].Name
}

// addressOf is the text of an address, "" for none.
func (s *Session) addressOf(address int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address < 0 || address >= len(s.run.Targets) {
		return ""
	}
	return s.run.Targets[address].Address
}

// BeforeSettled has f called once after the load, before what was recorded last is counted: it may record further
// calls. All are called at once.
func (s *Session) BeforeSettled(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settling = append(s.settling, f)
}

// settle calls what BeforeSettled was given.
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

// AtEnd has f called once after the run, teardown included. The latest is called first.
func (s *Session) AtEnd(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, f)
}

// shard is a recorder for the VU of a number.
func (s *Session) shard(vu uint64) *measure.Shared { return s.shards[vu%uint64(len(s.shards))] }

// Dropped counts iterations of a scenario that k6 gave up because no VU was free.
func (s *Session) Dropped(scenario string, n uint64) {
	operation := s.Operation(IterationName(scenario))
	s.dropped.Add(n)
	s.shards[0].Do(func(r *measure.Recorder) { r.GiveUp(operation, measure.UnsentNoSession, n) })
}

// Threw counts an iteration that ended with an exception.
func (s *Session) Threw() { s.threw.Add(1) }

// IterationName is the name of the operation that a scenario's iterations are, where they count as such.
func IterationName(scenario string) string { return "iteration " + scenario }

// counted are the iterations so far.
func (s *Session) counted() *record.Iterations {
	return &record.Iterations{Done: s.iterations.Load(), Dropped: s.dropped.Load(), Threw: s.threw.Load()}
}

// shared is what all VUs have together, by key.
type shared struct {
	mu  sync.Mutex
	all map[string]*thing
}

// thing is opened by the first that asks, while others wait for it.
type thing struct {
	mu     sync.Mutex
	closer io.Closer
}

// Shared returns what is open under key, or opens it. An error is not kept: the next call tries again.
// What is open is closed after the run.
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

// close closes what is open, and calls what AtEnd was given. After Abort, scripts may be in the middle of a call:
// what they use is left to the end of the process, which is next.
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
