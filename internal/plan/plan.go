// Package plan is what a run does: what to send, when, where, and by which rules. It is pure
// data and its validation; every dialect compiles into it.
package plan

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/keyspace"
	"brunt/internal/metric"
	"brunt/internal/protocol"
	"brunt/internal/secret"
)

// Plan is a complete description of a run. The same plan with the same seed gives the same rows
// and the same stream of operations.
type Plan struct {
	Name string
	Seed uint64
	// number of the load's first operation: its random choices go on where those of so many operations ended
	First      uint64
	Target     Target
	Tables     []Table
	Indexes    []Index
	Operations []Operation
	Keyspace   *keyspace.Spec     // the records that operations with parts of records are on; nil: none
	Prepare    []protocol.Request // sent once before the load, in order
	Mix        Mix
	Turns      []int // ByTurn: indices of Operations, one after the other and then from the start again
	Load       []Phase
	Thresholds []Threshold
	Faults     []Fault // done to servers during the load
	Proxies    []Proxy // between servers, for Faults
	Account    Account
	Verify     Verification
	Registers  *Registers // contested during the load; nil: none
	Settings   Settings
	Scaled     float64 // factor that the rates of Load already include; 0 means 1
	Where      Places  // of the file's outermost keys and of "target.<key>"
}

// Target is where the load goes.
type Target struct {
	Protocol  string            // "pg", "iproto", "sqlite", "redis", "http", …
	Addresses []string          // host:port or host:port*weight each, or one file
	User      string            //
	Password  string            // never printed or stored
	Database  string            //
	Balance   Balance           // how load spreads over the addresses
	Topology  Topology          // how addresses are found again while the load runs
	TLS       TLS               //
	Options   map[string]string // the protocol's own settings
}

// Balance says how load spreads over the addresses of a target.
type Balance struct {
	Mode string // one of BalanceModes; "" means round-robin
	// Per is "session" or "request": whether a session has one address or a connection to each, of which every
	// operation takes one; "" means session, or request if an operation has a Route.
	Per       string
	Hash      string            // with hash: the parameter of operations that is hashed
	Bound     float64           // with hash: how much more than its share of what is under way a node may have; 0: 1.25
	Window    time.Duration     // with nearest: how much longer than the fastest node may take to connect; 0: 1 ms
	Zone      string            // with nearest: the zone of the generator; "": nodes are compared by connect time
	Zones     map[string]string // with nearest: the zone of each address
	SlowStart time.Duration     // with weighted, per request: how long the share of a node that returned grows; 0: not

	// With bucket: the parameters of operations that make the key, how many buckets the cluster has, the function that
	// gives the key's bucket, one of BucketHashes, and which node has which bucket.
	By           []string
	Buckets      int
	HashFunction string
	Map          BucketMap

	At    Position
	Where Places
}

// BucketMap says how it is known which node has which bucket: by a Source, or by one of SQL, Eval and Ranges.
type BucketMap struct {
	Source string // "vshard" or "picodata"
	Tier   string // picodata: the tier whose buckets are meant; "" means default
	SQL    string // a statement that returns rows of the first bucket, the last one and the address of their node
	// Eval is a program for Tarantool that returns such rows; without an address the node that ran it has the buckets.
	Eval   string
	Ranges []BucketRange
	At     Position
	Where  Places
}

// BucketRange is buckets that a node has, both ends among them. Buckets are numbered from 1.
type BucketRange struct {
	From, To int
	Address  string
	At       Position
}

// MaxBuckets is the most buckets that a cluster may have: a map of them takes four bytes each.
const MaxBuckets = 10_000_000

// BucketHashes are the functions that give the bucket of a key; see package bucket.
func BucketHashes() []string { return []string{"murmur3", "crc32-mp", "crc32-text"} }

// BalanceModes are the ways to spread load.
func BalanceModes() []string {
	return []string{"round-robin", "random", "weighted", "bucket", "least-outstanding", "two-choices", "hash", "nearest"}
}

// Topology says how the nodes of a target are found again while the load runs. The zero value means that they
// aren't.
type Topology struct {
	Source   string        // one of TopologySources; "" means that addresses stay as they are
	From     []string      // who is asked, see each source; none: the target's addresses
	Name     string        // srv: the record's name; sentinel: the name of the primary
	Resolver string        // dns, srv: host:port of the DNS server; "" means the system's
	Every    time.Duration // how often is asked; 0 means 5 s
	Leaving  string        // "drain" or "drop": what becomes of sessions at nodes that leave; "" means drain
	Room     int           // how many nodes may join; 0 means 16
	At       Position
	Where    Places
}

// TopologySources are those who know the nodes of a target.
func TopologySources() []string {
	return []string{"roles", "dns", "srv", "patroni", "sentinel", "members"}
}

// TLS says how connections are secured.
type TLS struct {
	Enabled            bool
	InsecureSkipVerify bool
	CAFile             string
	CertFile, KeyFile  string
	ServerName         string
}

// Settings are the rules of execution. The zero value means the defaults named next to each.
type Settings struct {
	Sessions         int           // connections over all addresses; 1
	SessionsAsNeeded bool          // open loads: connections are opened when arrivals wait for one, up to Sessions
	OperationTimeout time.Duration // 30 s
	ConnectTimeout   time.Duration // 5 s
	Retries          int           // further attempts after a retryable error; 3. Negative means none
	LatePolicy       string        // "queue" or "drop" for open loads; "queue"
	Outage           string        // open loads while no address can be reached: "fail" or "wait"; "fail"
	// open loads: what is unsent when the schedule ends is given up; else it is sent late, for OperationTimeout
	EndOnTime       bool
	DropAfter       time.Duration // with "drop": how late an arrival may be; 0 means not at all once no session is free
	Interval        time.Duration // slice of the record; 1 s
	TimingTolerance time.Duration // how late a send may be to be coalesced with others; 0
	ErrorThreshold  float64       // percentage of failed operations that aborts the run; 0 means none
	Tier            string        // "auto", "codec" or "library"; "auto"
	Pipeline        int           // requests in flight a session (codec tier, single-request operations); 1
	Loops           int           // event loops; 0 means as few as carry the load
	Spin            time.Duration // busy-wait before an intended start instead of sleeping; 0
	// whether the machine's cores are kept awake during the load: "auto", "on" or "off"; "auto". See package awake
	Awake       string
	RetryErrors bool          // Retries is for every failure, not only retryable ones (library tier)
	RetryPause  time.Duration // before a further attempt, ±20 %; 0 means 1 ms doubling to 128 ms
}

// Account says how the account of outages is made; see package failover.
type Account struct {
	Enabled   bool
	Deadline  time.Duration // from intended start; later successes are bad. 1 s, or the operations' timeout if less
	Tolerance time.Duration // the shortest outage that is reported; 100 ms
	Hold      time.Duration // how long all must be well again; 5 s, or three intervals if those are more
	At        Position
	Where     Places // of its keys
}

// LeastTolerance is the finest that outages can be told.
const LeastTolerance = 10 * time.Millisecond

// Mix says how operation number i is chosen.
type Mix uint8

const (
	// ByWeight draws each operation independently in proportion to Operation.Weight.
	ByWeight Mix = iota
	// ByCount makes a finite queue that holds each operation exactly Operation.Count times, in
	// an order shuffled by the seed.
	ByCount
	// ByTurn takes operations in a given order, again and again: see Plan.Turns.
	ByTurn
)

// Operation is what a user names and times: one request, or a transaction of several.
type Operation struct {
	Name        string
	Weight      float64 // ByWeight; ≥ 0
	Count       uint64  // ByCount
	Transaction bool    // wrapped in BEGIN and COMMIT where the protocol has them
	Isolation   string  // of the transaction; "" for the server's default
	Route       string  // "primary", "replica" or "any": the role of the nodes that may serve it; "" means any
	Steps       []Step  // in order; at least one
	Inserts     bool    // parts of records are of new ones of the Keyspace, not of chosen ones
	Think       Think   // closed loads: the session's pause after the operation
	At          Position
	Where       Places // of its keys
}

// Step is one request of an operation.
type Step struct {
	Request protocol.Request // ID is set when the plan is compiled
	Params  []Param          // one for each parameter of the request
	Name    string           // for references of later steps; may be ""
	Think   Think            // pause of the session before the next step
	// Variants may stand in for Request, which is the first of them: Pick says which of them operation
	// number i takes. They have the parameters and as many captures as Request.
	Variants []protocol.Request
	Pick     Pick
	Check    keyspace.Check // of what is captured; "" for none
	Wrong    Wrong          // a share of the operations sends it instead; zero for none
	Verify   *Verify        // how what it wrote is read back after the load; nil: it isn't
	At       Position
	Where    Places // of its keys; "params" and "capture" hold lists
}

// Wrong is a request that a server must refuse, sent instead of a step's own for a share of the operations: the
// expected error is then the success, and ends the operation; its absence is a failure.
type Wrong struct {
	Share   float64          // of the operations, from 0 to 1
	Expect  string           // the error's code, such as 42P01, WRONGTYPE or 404; a class of failures; or "any"
	Request protocol.Request // with the step's parameters if it has placeholders, else without any
}

// UsesParams reports whether a request takes its step's parameters.
func UsesParams(r *protocol.Request) bool {
	texts := r.Words
	switch r.Verb {
	case protocol.SQL:
		texts = []string{r.Text}
	case protocol.Command:
	case protocol.HTTP:
		texts = []string{r.Web.Path, string(r.Web.Body)}
		for _, h := range r.Web.Header {
			texts = append(texts, h[1])
		}
	default:
		return true
	}
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "$1") })
}

// RequestName is the name of a step's request: what it says itself, the operation's, or the
// operation's and the step's number.
func (op *Operation) RequestName(step int) string {
	switch {
	case op.Steps[step].Request.Name != "":
		return op.Steps[step].Request.Name
	case len(op.Steps) == 1:
		return op.Name
	}
	return op.Name + "/" + strconv.Itoa(step+1)
}

// PlaceOf is where the request of a name stands; the zero value if nobody knows.
func (p *Plan) PlaceOf(request string) Position {
	for i := range p.Operations {
		op := &p.Operations[i]
		for k := range op.Steps {
			if op.RequestName(k) == request {
				return op.Steps[k].Where.At("sql", op.Steps[k].At)
			}
		}
	}
	return Position{}
}

// Pick is how one of a step's variants is picked.
type Pick struct {
	By      string // "turn", "walk", "field" or "other field"
	Walkers int    // walk: how many go through the variants, each from its own place with a stride of their number
}

// The ways to pick.
const (
	PickTurn       = "turn"        // each in turn
	PickWalk       = "walk"        // as slow_cooker's sessions go through a list
	PickField      = "field"       // the variant of the field of the Keyspace that the operation draws
	PickOtherField = "other field" // of a further draw
)

// Param is one parameter: a value to generate, a part of a record, or a value that an earlier step
// captured.
type Param struct {
	Name  string
	Value *ValueSpec    // nil: another kind of parameter
	Part  keyspace.Part // "": another kind of parameter
	Field string        // with keyspace.Field: the field's name; "" for the one that the step's Pick draws
	Step  int           // captured: the step that it comes from, an index into Operation.Steps
	Index int           // captured: which of that step's Request.Capture
	// Argument: Step and Index name a parameter of that step instead of a capture.
	Argument bool
	At       Position
}

// earlier reports whether the parameter takes a value of an earlier step.
func (p *Param) earlier() bool { return p.Value == nil && p.Part == "" }

// Think is a pause. Distribution is "constant" (Min), "uniform" (Min–Max) or "exponential"
// (mean Min, cut at Max if Max > 0). The zero value is no pause.
type Think struct {
	Distribution string
	Min, Max     time.Duration
}

// PhaseKind is the kind of a load phase.
type PhaseKind string

// The kinds after a dialect has resolved its shorthands (steps and spikes are open phases).
const (
	Open   PhaseKind = "open"   // arrivals follow the rate whatever the server does
	Closed PhaseKind = "closed" // each session sends when it is free
	Pause  PhaseKind = "pause"  // nothing is sent
)

// Phase is a part of the load.
type Phase struct {
	Name       string
	Kind       PhaseKind
	Duration   time.Duration // closed: 0 means until Operations have been done
	RateFrom   float64       // open: operations per second at the start
	RateTo     float64       // open: at the end; the rate changes linearly
	Arrivals   string        // open: "uniform" (default) or "poisson"
	Sessions   int           // closed: how many sessions work; 0 means all
	Operations uint64        // stop after so many operations; 0 means no limit
	WarmUp     bool          // recorded, but kept out of totals and thresholds
	Adaptive   *Adaptive     // open: what decides the rate, which begins at RateFrom; nil: nothing, it follows the clock
	At         Position
}

// Adaptive says how the rate of an open phase is decided while it runs: so that a figure stays at a goal, or so that as
// much is sent as a server takes. See package control for the methods.
type Adaptive struct {
	Method    string      // one of control.Methods
	Goal      metric.Rule // of Text "" if there is none: an upper limit
	Watch     string      // instead of Goal: what is watched, as --watch names it
	Metric    string      // of what is watched
	Level     float64     // of that metric, above 0; of a counter, a second
	MinPerS   float64     // least rate, above 0
	MaxPerS   float64     // greatest rate
	Tolerance float64     // gradient: how many times the response time without load is taken, above 1
	MaxErrors float64     // share of failed operations from which the load backs off, 0–1
}

// Threshold is a rule over a metric of the run.
type Threshold struct {
	metric.Rule
	AbortOnFail bool
	AbortDelay  time.Duration // grace from the start of the load before it may abort
	At          Position
}

// ParseThreshold is metric.ParseRule.
func ParseThreshold(text string) (Threshold, error) {
	r, err := metric.ParseRule(text)
	return Threshold{Rule: r}, err
}

// Weighted returns the target's addresses without their weights, as in host:port*3, and the weights,
// 1 where none is given; nil if no address has one.
func (t *Target) Weighted() (addresses []string, weights []int) {
	weighted := false
	for _, a := range t.Addresses {
		weight := 1
		if at := strings.LastIndexByte(a, '*'); at > 0 {
			if n, err := strconv.Atoi(a[at+1:]); err == nil {
				a, weight, weighted = a[:at], n, true
			}
		}
		addresses, weights = append(addresses, a), append(weights, weight)
	}
	if !weighted {
		return addresses, nil
	}
	return addresses, weights
}

// Secrets are the values of p that nothing printed or stored may hold.
func (p *Plan) Secrets() (all []string) {
	add := func(name, value string) {
		if secret.Name(name) && value != "" {
			all = append(all, value)
		}
	}
	add("password", p.Target.Password)
	for name, value := range p.Target.Options {
		add(name, value)
	}
	request := func(w *protocol.Web) {
		if w == nil {
			return
		}
		for _, h := range w.Header {
			add(h[0], h[1])
		}
		if w.SecretBody {
			add("secret", string(w.Body))
		}
		if u, err := url.ParseRequestURI(w.Path); err == nil {
			for name, values := range u.Query() {
				for _, value := range values {
					add(name, value)
				}
			}
		}
	}
	if r := p.Registers; r != nil {
		request(r.Write.Web)
		request(r.Read.Web)
	}
	for i := range p.Faults {
		request(&p.Faults[i].HTTP.Inject)
		request(&p.Faults[i].HTTP.Heal)
	}
	for i := range p.Operations {
		for k := range p.Operations[i].Steps {
			step := &p.Operations[i].Steps[k]
			request(step.Request.Web)
			request(step.Wrong.Request.Web)
			if step.Verify != nil {
				request(step.Verify.Read.Web)
			}
			for v := range step.Variants {
				request(step.Variants[v].Web)
			}
		}
	}
	return all
}

// WithDefaults returns s with every field that is zero at the default that Settings documents. Fields
// that say something keep it, so that a second call changes nothing.
func (s Settings) WithDefaults() Settings {
	if s.Sessions <= 0 {
		s.Sessions = 1
	}
	if s.OperationTimeout <= 0 {
		s.OperationTimeout = 30 * time.Second
	}
	if s.ConnectTimeout <= 0 {
		s.ConnectTimeout = 5 * time.Second
	}
	if s.Retries == 0 {
		s.Retries = 3
	}
	if s.LatePolicy == "" {
		s.LatePolicy = "queue"
	}
	if s.Awake == "" {
		s.Awake = "auto"
	}
	if s.Outage == "" {
		s.Outage = "fail"
	}
	if s.Interval <= 0 {
		s.Interval = time.Second
	}
	if s.Tier == "" {
		s.Tier = "auto"
	}
	if s.Pipeline < 1 {
		s.Pipeline = 1
	}
	return s
}

// MostSessions is how many sessions the load needs at once: those of the settings, or of the
// closed phase that names the most.
func (p *Plan) MostSessions() int {
	n := max(p.Settings.Sessions, 1)
	for i := range p.Load {
		n = max(n, p.Load[i].Sessions)
	}
	return n
}

// PeakPerS is the highest rate that an open phase has, operations a second; 0 if none is open.
func (p *Plan) PeakPerS() float64 {
	rate := 0.0
	for i := range p.Load {
		if ph := &p.Load[i]; ph.Kind == Open {
			rate = max(rate, ph.RateFrom, ph.RateTo)
			if ph.Adaptive != nil {
				rate = max(rate, ph.Adaptive.MaxPerS)
			}
		}
	}
	return rate
}

// LoadModel is "open", "closed" or "mixed", by the phases that send anything.
func (p *Plan) LoadModel() string {
	var open, closed bool
	for i := range p.Load {
		open = open || p.Load[i].Kind == Open
		closed = closed || p.Load[i].Kind == Closed
	}
	switch {
	case open && closed:
		return "mixed"
	case open:
		return "open"
	}
	return "closed"
}
