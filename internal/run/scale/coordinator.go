package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/load/schedule"
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

// Coordinator leads the workers of one run. What it knows of the workers, the end of the load and the shares of lost
// workers is guarded by the roster's lock; the other parts have their own locks, which are taken after it.
type Coordinator struct {
	o     Options
	clock Clock
	quit  chan struct{}
	endpoint
	roster
	ending
	shares
	journal journal
	course  course
	packedB atomic.Int64 // bytes of packed histograms that wait for the live view

	// Guarded by the roster's lock, too.
	agreed  bool  // all workers have joined and can run one load
	startNs int64 // when the load begins or began, by clock; 0: not known yet
	unheard bool  // AwaitReturn waited, and nobody came back
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
	c := &Coordinator{o: o, clock: NewClock(), quit: make(chan struct{}),
		shares: shares{granter: schedule.NewGranter(o.Workers)}}
	c.prepare()
	for k := range o.Workers {
		m := &member{number: k}
		m.inbox.open(filepath.Join(c.o.Dir, strconv.Itoa(k+1)), &c.packedB)
		c.members = append(c.members, m)
	}
	c.endpoint = newEndpoint(l, config, desk{c}.handlers())
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

// StartNs returns when the load begins or began, in ns by the coordinator's clock; 0 if that isn't known yet.
func (c *Coordinator) StartNs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startNs
}

func (c *Coordinator) tell(format string, args ...any) {
	if c.o.Tell != nil {
		c.o.Tell(fmt.Sprintf(format, args...))
	}
}
