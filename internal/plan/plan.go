package plan

import (
	"cmp"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/load/keyspace"
	"brunt/internal/plan/metric"
	"brunt/internal/protocol"
)

// Plan is a complete description of a run. The same plan with the same seed gives the same rows
// and the same stream of operations.
type Plan struct {
	Name string
	Seed uint64
	// number of the load's first operation; with it the random choices of an earlier load can be continued
	First      uint64
	Target     Target
	Tables     []Table
	Indexes    []Index
	Operations []Operation
	Scripts    Scripts            // language of the operations that are scripts
	Keyspace   *keyspace.Spec     // records that operations with parts of records use; nil: none
	Prepare    []protocol.Request // sent once before the load, in order
	Mix        Mix
	Turns      []int // with ByTurn: indexes into Operations, used in order and repeated
	Load       []Phase
	Thresholds []Threshold
	Faults     []Fault  // faults injected during the load
	Proxies    []Proxy  // proxies between servers, for Faults
	Inspect    []string // servers to inspect, as for --inspect: "auto", or "KIND=URL"; the flag overrides it
	Account    Account
	Verify     Verification
	Registers  *Registers // check of contended keys during the load; nil: none
	Settings   Settings
	Scaled     float64 // factor that the rates of Load already include; 0 means 1
	Where      Places  // positions of the file's outermost keys and of "target.<key>"
}

// Target is the server or cluster that receives the load.
type Target struct {
	Protocol  string   // "pg", "iproto", "sqlite", "redis", "http", …
	Addresses []string // each host:port or host:port*weight; or one file
	User      string
	Password  string // never printed or stored
	Database  string
	Balance   Balance  // how the load is spread over the addresses
	Topology  Topology // how nodes are discovered while the load runs
	TLS       TLS
	Way       Way               // how connections are opened, if not directly
	Options   map[string]string // protocol-specific settings
	Named     bool              // see protocol.Target; the text of a plan doesn't have it
}

// Balance says how the load is spread over the addresses of a target.
type Balance struct {
	Mode string // one of BalanceModes; "" means round-robin
	// Per is "session" or "request". With "session" each session uses one address; with "request" it has a connection
	// to each address and every operation chooses one. "" means session, or request if an operation has a Route.
	Per       string
	Hash      string            // with hash: name of the operations' parameter that is hashed
	Bound     float64           // with hash: a node's allowed load relative to its share of requests in flight; 0: 1.25
	Window    time.Duration     // with nearest: allowed extra connect time over the fastest node; 0: 1 ms
	Zone      string            // with nearest: the generator's zone; "": nodes are compared by connect time
	Zones     map[string]string // with nearest: the zone of each address
	SlowStart time.Duration     // with weighted, per request: how long a returned node's share ramps up; 0: not at all

	// With bucket: By names the operations' parameters that make the key, Buckets is the cluster's number of buckets,
	// HashFunction (one of BucketHashes) maps a key to its bucket, and Map says which node has which bucket.
	By           []string
	Buckets      int
	HashFunction string
	Map          BucketMap

	At    Position
	Where Places
}

// BucketMap says how to find out which node has which bucket: by a Source, or by one of SQL, Eval and Ranges.
type BucketMap struct {
	Source string // "vshard" or "picodata"
	Tier   string // picodata: the tier whose buckets are used; "" means default
	SQL    string // a statement that returns rows of first bucket, last bucket and address of their node
	// Eval is a Lua program for Tarantool that returns such rows. In a row without an address, the address is the node
	// that ran the program.
	Eval   string
	Ranges []BucketRange
	At     Position
	Where  Places
}

// BucketRange is a range of buckets of one node, including both ends. Buckets are numbered from 1.
type BucketRange struct {
	From, To int
	Address  string
	At       Position
}

// MaxBuckets is the greatest number of buckets of a cluster. A map of them takes four bytes per bucket.
const MaxBuckets = 10_000_000

// BucketHashes returns the names of the functions that map a key to its bucket; see package bucket.
func BucketHashes() []string { return []string{"murmur3", "crc32-mp", "crc32-text"} }

// BalanceModes returns the ways to spread load over addresses.
func BalanceModes() []string {
	return []string{"round-robin", "random", "weighted", "bucket", "least-outstanding", "two-choices", "hash", "nearest"}
}

// Topology says how the nodes of a target are discovered while the load runs. The zero value means that they are not.
type Topology struct {
	Source   string        // one of TopologySources; "" means that the addresses don't change
	From     []string      // addresses to query, see each source; none: the target's addresses
	Name     string        // srv: the record's name; sentinel: the name of the primary
	Resolver string        // dns, srv: host:port of the DNS server; "" means the system's
	Every    time.Duration // time between queries; 0 means 5 s
	Leaving  string        // "drain" or "drop": how sessions at leaving nodes end; "" means drain
	Room     int           // how many nodes may join; 0 means 16
	At       Position
	Where    Places
}

// TopologySources returns the sources from which the nodes of a target can be discovered.
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
	// MinVersion and MaxVersion limit the version: "1.0" to "1.3"; "": 1.2 and 1.3.
	MinVersion, MaxVersion string
	// Ciphers are the names of the cipher suites for versions up to 1.2, IANA's or OpenSSL's, with colons between them;
	// "": those that Go takes.
	Ciphers string
	Resume  bool // continue earlier sessions of TLS on new connections
}

// The tiers: what drives the sessions of a load.
const (
	TierAuto    = "auto"    // event loops where a codec of the protocol can send the whole load
	TierCodec   = "codec"   // event loops over a codec
	TierLibrary = "library" // a goroutine for each session, over a client library or a blocking connection
)

// Settings configure the execution. A zero field means the default given next to it.
type Settings struct {
	Sessions         int           // connections over all addresses; 1
	SessionsOfAll    int           // with Share: of all workers
	SessionsBefore   int           // with Share: of the workers before this one
	SessionsAsNeeded bool          // open loads: connections are opened when arrivals wait for one, up to Sessions
	OperationTimeout time.Duration // 30 s
	ConnectTimeout   time.Duration // 5 s
	Retries          int           // further attempts after a retryable error; 3. Negative means none
	LatePolicy       string        // "queue", "drop" or "all", in open loads; "queue"
	Outage           string        // what open loads do while no address is reachable: "fail" or "wait"; "fail"
	// open loads: operations unsent at the end of the schedule are dropped; otherwise they are sent late, for up to
	// OperationTimeout, or until all are sent if LatePolicy is "all"
	EndOnTime       bool
	DropAfter       time.Duration // with "drop": how late an arrival may be; 0: dropped as soon as no session is free
	Interval        time.Duration // slice of the record; 1 s
	TimingTolerance time.Duration // how late a request may be sent in order to be coalesced with others; 0
	ErrorThreshold  float64       // percentage of failed operations at which the run is aborted; 0 means none
	Tier            string        // TierAuto, TierCodec or TierLibrary; TierAuto
	Pipeline        int           // requests in flight per session (codec tier, single-request operations); 1
	Loops           int           // event loops; 0 means as few as the load needs
	Spin            time.Duration // busy-wait before an intended start instead of sleeping; 0
	// whether the machine's cores are kept from sleeping during the load: "auto", "on" or "off"; "auto". See package
	// awake
	Awake string
	// Reconnect makes a session close its connection after each operation and open a new one before the next. The time to
	// connect is time without a free session.
	Reconnect   bool
	RetryErrors bool          // retry after every failure, not only retryable ones (library tier)
	RetryPause  time.Duration // pause before a retry, ±20 %; 0 means 1 ms doubling to 128 ms
	RetryWithin time.Duration // no further attempt when so much has passed since the intended start; 0: no limit
}

// Account configures the analysis of outages; see package failover.
type Account struct {
	Enabled   bool
	Deadline  time.Duration // from intended start; later successes are bad. 1 s, or the operations' timeout if less
	Tolerance time.Duration // the shortest outage that is reported; 100 ms
	Hold      time.Duration // how long the service must be healthy; 5 s, or three intervals if longer
	At        Position
	Where     Places // positions of its keys
}

// LeastTolerance is the shortest outage that can be distinguished.
const LeastTolerance = 10 * time.Millisecond

// Mix says how each operation of the load is chosen.
type Mix uint8

const (
	// ByWeight chooses each operation independently with a probability proportional to Operation.Weight.
	ByWeight Mix = iota
	// ByCount makes a finite queue that contains each operation exactly Operation.Count times, shuffled by the seed.
	ByCount
	// ByTurn repeats a given order of operations: see Plan.Turns.
	ByTurn
)

// Operation is the unit that a user names and that is timed: one request, or a transaction of several.
type Operation struct {
	Name        string
	Weight      float64 // ByWeight; ≥ 0
	Count       uint64  // ByCount
	Transaction bool    // wrapped in BEGIN and COMMIT where the protocol has them
	Isolation   string  // of the transaction; "" for the server's default
	Route       string  // role of the nodes that may serve it: "primary", "replica" or "any"; "" means any
	Steps       []Step  // in order; at least one
	// Script is the operation's program in the language of Plan.Scripts; "" if it isn't one. Its steps are then the
	// requests that it may send, in no order, without parameters of their own: see Plan.CompileScripts.
	Script  string
	Inserts bool  // parts of records are those of new records of the Keyspace, not of chosen ones
	Think   Think // closed loads: the session's pause after the operation
	At      Position
	Where   Places // positions of its keys
}

// SetCount makes an operation one of a queue that contains it n times. In plan files, an operation with a count has no
// weight besides.
func (op *Operation) SetCount(n uint64) { op.Count, op.Weight = n, float64(n) }

// Step is one request of an operation.
type Step struct {
	Request protocol.Request // ID is set when the plan is compiled
	Params  []Param          // one for each parameter of the request
	Name    string           // used by references of later steps; may be ""
	Think   Think            // pause of the session before the next step
	// Variants are alternatives to Request, which is the first of them. Pick says which variant each operation uses.
	// All have the parameters, and the same number of captures, of Request.
	Variants []protocol.Request
	Pick     Pick
	Check    keyspace.Check // check of the captured values; "" for none
	Wrong    Wrong          // request that a share of the operations sends instead; zero for none
	Verify   *Verify        // how its write is read back; nil: it isn't
	At       Position
	Where    Places // positions of its keys; "params" and "capture" hold lists
}

// Wrong is a request that the server must refuse. A share of the operations sends it instead of the step's own request.
// The expected error then counts as success and ends the operation; its absence is a failure.
type Wrong struct {
	Share   float64          // fraction of the operations, from 0 to 1
	Expect  string           // the error's code, such as 42P01, WRONGTYPE or 404; a failure class; or "any"
	Request protocol.Request // with the step's parameters if it has placeholders, otherwise without
}

// UsesParams reports whether a request has placeholders for its step's parameters.
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
	case protocol.GRPC:
		texts = r.RPC.Texts()
	default:
		return true
	}
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "$1") })
}

// RequestName returns the name of a step's request: its own name if it has one, otherwise the operation's name, with
// the step's number if there are several steps.
func (op *Operation) RequestName(step int) string {
	switch {
	case op.Steps[step].Request.Name != "":
		return op.Steps[step].Request.Name
	case len(op.Steps) == 1:
		return op.Name
	}
	return op.Name + "/" + strconv.Itoa(step+1)
}

// PlaceOf returns the position of the request with a name; the zero value if it is unknown.
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

// Pick says how one of a step's variants is chosen.
type Pick struct {
	By      string // "turn", "walk", "field" or "other field"
	Walkers int    // walk: number of walkers, each with its own start and a stride of Walkers
}

// The values of Pick.By.
const (
	PickTurn       = "turn"        // one after the other
	PickWalk       = "walk"        // like slow_cooker's sessions, which each go through a list
	PickField      = "field"       // by the Keyspace field that the operation draws
	PickOtherField = "other field" // by a second draw of a field
)

// Param is one parameter: a generated value, a part of a record, or a value that an earlier step captured.
type Param struct {
	Name  string
	Value *ValueSpec    // nil: another kind of parameter
	Part  keyspace.Part // "": another kind of parameter
	Field string        // with keyspace.Field: the field's name; "" for the field drawn by the step's Pick
	Step  int           // captured: the step that captured it, an index into Operation.Steps
	Index int           // captured: index into that step's Request.Capture
	// Argument: Step and Index name a parameter of that step instead of a capture.
	Argument bool
	At       Position
}

// earlier reports whether the parameter takes its value from an earlier step.
func (p *Param) earlier() bool { return p.Value == nil && p.Part == "" }

// Think is a pause. Distribution is "constant" (Min), "uniform" (from Min to Max) or "exponential" (with mean Min,
// truncated at Max if Max > 0). The zero value is no pause.
type Think struct {
	Distribution string
	Min, Max     time.Duration
}

// PhaseKind is the kind of a load phase.
type PhaseKind string

// The kinds that remain after a dialect has expanded its shorthands. Steps and spikes become open phases.
const (
	Open   PhaseKind = "open"   // arrivals follow the rate regardless of the server
	Closed PhaseKind = "closed" // each session sends as soon as it is free
	Pause  PhaseKind = "pause"  // nothing is sent
)

// Phase is a part of the load.
type Phase struct {
	Name     string
	Kind     PhaseKind
	Duration time.Duration // closed: 0 means until Operations have been done
	RateFrom float64       // open: operations per second at the start
	RateTo   float64       // open: at the end; the rate changes linearly
	// Arrivals is, of an open phase, "uniform" (default), "poisson" or "whole": uniform, but counted from 0 in the phase,
	// which begins with an arrival and has a whole number of them.
	Arrivals string
	// Times are, if not nil, the arrivals of an open phase, from its start: ascending, and before its end. The rates are
	// then their mean.
	Times    []time.Duration
	Sessions int // closed: number of active sessions; 0 means all
	// SessionsOfAll is, with Share, Sessions of all workers.
	SessionsOfAll int
	Operations    uint64    // stop after this number of operations; 0 means no limit
	WarmUp        bool      // recorded, but excluded from totals and thresholds
	Adaptive      *Adaptive // open: controls the rate, which begins at RateFrom; nil: the rate follows the schedule
	At            Position
}

// Adaptive says how the rate of an open phase is controlled while it runs: to keep a metric at a goal, or to send as
// much as the server can handle. See package control for the methods.
type Adaptive struct {
	Method    string      // one of control.Methods
	Goal      metric.Rule // an upper limit; its Text is "" if there is none
	Watch     string      // instead of Goal: the observed source, as given to --watch
	Metric    string      // metric of that source
	Level     float64     // set point of that metric, above 0; of a counter, its rate a second
	MinPerS   float64     // least rate, above 0
	MaxPerS   float64     // greatest rate
	Tolerance float64     // gradient: allowed response time relative to that without load, above 1
	MaxErrors float64     // fraction of failed operations at which the load backs off, 0–1
}

// Threshold is a rule over a metric of the run.
type Threshold struct {
	metric.Rule
	AbortOnFail bool
	AbortDelay  time.Duration // the run can't be aborted before this time since the start of the load
	At          Position
}

// ParseThreshold parses a rule; see metric.ParseRule.
func ParseThreshold(text string) (Threshold, error) {
	r, err := metric.ParseRule(text)
	return Threshold{Rule: r}, err
}

// Require adds the rules of flags --threshold to a plan; see ParseThreshold.
func (p *Plan) Require(rules []string) error {
	for _, text := range rules {
		t, err := ParseThreshold(text)
		if err != nil {
			return fmt.Errorf("--threshold %q: %w", text, err)
		}
		p.Thresholds = append(p.Thresholds, t)
	}
	return nil
}

// Weighted returns the target's addresses without weights (as in host:port*3) and the weights, 1 where none is given.
// The weights are nil if no address has one.
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

// Secrets returns the values of p that must never be printed or stored, the longest first: one may be part of another.
func (p *Plan) Secrets() (all []string) {
	add := func(name, value string) {
		if secret.Name(name) && value != "" {
			all = append(all, value)
		}
	}
	add("password", p.Target.Password)
	add("password", p.Target.Way.password())
	for _, options := range []map[string]string{p.Target.Options, p.Scripts.Options} {
		for name, value := range options {
			for part := range strings.SplitSeq(value, "\n") {
				add(name, part)
			}
		}
	}
	parts := func(text string) {
		for _, f := range secret.Find(text) {
			all = append(all, text[f.From:f.To])
		}
	}
	for c := range p.Calls() {
		for _, h := range c.Metadata {
			add(h[0], h[1])
		}
		for _, m := range c.Messages {
			parts(m)
		}
	}
	for w := range p.HTTPRequests() {
		for _, h := range w.Header {
			add(h[0], h[1])
		}
		if w.SecretBody {
			add("secret", string(w.Body))
		}
		parts(string(w.Body))
		if u, err := url.ParseRequestURI(w.Path); err == nil {
			for name, values := range u.Query() {
				for _, value := range values {
					add(name, value)
				}
			}
		}
	}
	for _, template := range all {
		all = append(all, strings.ReplaceAll(template, "$$", "$")) // as it is sent
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// HTTPRequests returns the HTTP requests of the plan, each with the position of what it belongs to: what is sent before
// the load, the operations with what is read back, the registers, and the faults.
func (p *Plan) HTTPRequests() iter.Seq2[*protocol.Web, Position] {
	return func(yield func(*protocol.Web, Position) bool) {
		ok := true
		pass := func(w *protocol.Web, at Position) { ok = ok && (w == nil || yield(w, at)) }
		for i := range p.Prepare {
			pass(p.Prepare[i].Web, p.Where.At("prepare", Position{}))
		}
		for i := range p.Operations {
			for k := range p.Operations[i].Steps {
				step := &p.Operations[i].Steps[k]
				pass(step.Request.Web, step.At)
				pass(step.Wrong.Request.Web, step.At)
				if step.Verify != nil {
					pass(step.Verify.Read.Web, step.At)
				}
				for v := range step.Variants {
					pass(step.Variants[v].Web, step.At)
				}
			}
		}
		if r := p.Registers; r != nil {
			pass(r.Write.Web, r.At)
			pass(r.Read.Web, r.At)
		}
		for i := range p.Faults {
			f := &p.Faults[i]
			pass(&f.HTTP.Inject, f.At)
			pass(&f.HTTP.Heal, f.At)
		}
	}
}

// Calls returns the gRPC calls of the plan's operations, each with the position of what it belongs to.
func (p *Plan) Calls() iter.Seq2[*protocol.RPC, Position] {
	return func(yield func(*protocol.RPC, Position) bool) {
		ok := true
		pass := func(c *protocol.RPC, at Position) { ok = ok && (c == nil || yield(c, at)) }
		for i := range p.Prepare {
			pass(p.Prepare[i].RPC, p.Where.At("prepare", Position{}))
		}
		for i := range p.Operations {
			for k := range p.Operations[i].Steps {
				step := &p.Operations[i].Steps[k]
				pass(step.Request.RPC, step.At)
				pass(step.Wrong.Request.RPC, step.At)
				if step.Verify != nil {
					pass(step.Verify.Read.RPC, step.At)
				}
				for v := range step.Variants {
					pass(step.Variants[v].RPC, step.At)
				}
			}
		}
	}
}

// WithDefaults returns s with the documented default in every field that is zero. Other fields are kept, so a second
// call changes nothing.
func (s Settings) WithDefaults() Settings {
	s.Sessions = max(s.Sessions, 1)
	if s.OperationTimeout <= 0 {
		s.OperationTimeout = 30 * time.Second
	}
	if s.ConnectTimeout <= 0 {
		s.ConnectTimeout = 5 * time.Second
	}
	if s.Interval <= 0 {
		s.Interval = time.Second
	}
	s.Retries = cmp.Or(s.Retries, 3)
	s.LatePolicy = cmp.Or(s.LatePolicy, "queue")
	s.Awake = cmp.Or(s.Awake, "auto")
	s.Outage = cmp.Or(s.Outage, "fail")
	s.Tier = cmp.Or(s.Tier, TierAuto)
	s.Pipeline = max(s.Pipeline, 1)
	return s
}

// MostSessions returns how many sessions the load needs at once: the greatest of the number in the settings and those
// of the closed phases.
func (p *Plan) MostSessions() int {
	n := max(p.Settings.Sessions, 1)
	for i := range p.Load {
		n = max(n, p.Load[i].Sessions)
	}
	return n
}

// PeakPerS returns the highest rate of the open phases in operations a second; 0 if there are none.
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

// LoadModel returns "open", "closed" or "mixed", depending on the kinds of phases that send requests.
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
