package measure

import (
	"math"
	"slices"
)

// Account records what happened in a span of time: an interval, a phase, a run, or the runs of several machines.
// Accounts can be added up without loss. A histogram is nil if it has no values.
type Account struct {
	StartNs   int64 // since the run's start, monotonic
	EndNs     int64
	Intervals int   // how many intervals were added up
	LengthNs  int64 // sum of the lengths of its intervals, without gaps between them; of a tally, see LoadNs
	// LoadNs is the time under load, without pauses. A tally leaves out the time after an open phase's schedule in which
	// the last answers come no later than answers came before.
	LoadNs int64
	OpenNs int64 // the part of LoadNs in which the schedule of an open phase ran

	Operations []OperationAccount // indexed as the plan's operations
	Addresses  []AddressAccount   // indexed as the plan's addresses
	Offered    uint64             // arrivals that fell due (open loads)
	Overdue    uint64             // of these, still waiting to be sent when their schedule ended

	// OwnLag is the part of the lag that the generator caused, ns, of all arrivals sent in open loads. It runs to the
	// send, from the intended start, or from the time at which the session became free if that was later. Time spent
	// waiting for a session is not included.
	OwnLag *Histogram
	// Turnaround is the time from an answer to the next send of the same session, without think time, ns. It is
	// recorded in closed loads.
	Turnaround *Histogram

	// Standstills are those that ended in the account's time or shortly before, in order, at most 4096. They may have
	// begun before. StandstillLengths, ns, contains the lengths of all of them if several intervals were added up.
	Standstills       []Standstill
	StandstillLengths *Histogram
	Events            []Event // in order, at most MaxEvents
	Health            Health
	Pace              Pace

	Sessions int    // connected at its end
	Busy     int    // of these, waiting for an answer
	Backlog  uint64 // arrivals due and not yet sent at its end
}

// OperationAccount is one operation's part of an account. Latencies are of successful operations;
// failed ones are in FailedResponse so that an error storm doesn't look fast. See Answers for all
// arrivals together.
type OperationAccount struct {
	Counts
	Response         *Histogram // end − intended start, ns
	WithoutGenerator *Histogram // response time without the generator's own lag, ns
	Service          *Histogram // end − actual send, ns
	Lag              *Histogram // actual send − intended start, ns; all operations sent
	FailedResponse   *Histogram // end − intended start of failed operations, ns
	StreamFirst      *Histogram // of answers that were streams: from the send to the first message, ns
	StreamBetween    *Histogram // of answers that were streams: from each message to the next, ns
	StreamLag        *Histogram // of messages sent at an interval: from when one was due to when it was sent, ns

	// Standstills and StandstillLengths are those of this operation alone. Other operations may have succeeded during
	// them. They are empty if there is only one operation, and Add does not change them.
	Standstills       []Standstill
	StandstillLengths *Histogram
}

// Distributions is the number of an operation's histograms.
const Distributions = 8

// Distribution declares one of an operation's histograms. What it says is all that exports, files, rules, comparisons
// and confidence intervals need.
type Distribution struct {
	Name   string // in the record, in files and exports
	Metric string // in rules and comparisons, see package metric; with one its figures stand in files. "" if there is none
	Help   string // one line, exported with the histogram; "" if that isn't exported
	Within bool   // its figures have confidence intervals
	Stream bool   // only answers that were streams have it: exports leave it out where there are none
}

// Declared returns the declarations of the histograms, in the order of OperationAccount.Times.
func Declared() [Distributions]Distribution {
	return [...]Distribution{
		{Name: "response", Metric: "response", Within: true,
			Help: "From the intended start to the end, of operations that succeeded."},
		{Name: "unhindered"},
		{Name: "service", Metric: "service", Within: true,
			Help: "From the actual send to the end, of operations that succeeded."},
		{Name: "lag", Metric: "lag", Help: "From the intended start to the actual send."},
		{Name: "failed_response", Help: "From the intended start to the end, of operations that failed."},
		{Name: "stream_first", Metric: "first", Within: true, Stream: true,
			Help: "From the send to the first message, of answers that were streams."},
		{Name: "stream_between", Metric: "between", Within: true, Stream: true,
			Help: "From each message to the next, of answers that were streams."},
		{Name: "stream_lag", Metric: "pace", Stream: true,
			Help: "From when a message of a stream was due to when it was sent, of streams with an interval."},
	}
}

// Times returns where the operation's histograms are. A histogram that is listed here is added up, merged and recorded;
// Declared says what else is made of it.
func (o *OperationAccount) Times() [Distributions]**Histogram {
	return [...]**Histogram{&o.Response, &o.WithoutGenerator, &o.Service, &o.Lag, &o.FailedResponse, &o.StreamFirst,
		&o.StreamBetween, &o.StreamLag}
}

// AddressAccount is one address's part of an account.
type AddressAccount struct {
	Counts
	Service    *Histogram // ns, successful operations
	Up         int        // sessions connected at the account's end
	Reconnects uint64
}

// Pace describes what limited the rate of the load, as sums over the intervals. See Interval.Settle.
type Pace struct {
	InFlightNs    float64 // how long requests were in flight, summed over the operations that ended
	SessionsNs    float64 // how long sessions were connected, summed over them
	SaturatedNs   int64   // time in which arrivals waited for sessions that waited for the server
	IdleBacklogNs int64   // time in which arrivals waited for the generator
	BacklogMax    uint64
	// The sessions' time in intervals with waiting arrivals: the sum of the generator's own lag, and the rest.
	WaitingOwnNs     float64
	WaitingServiceNs float64
}

func (p *Pace) add(o *Pace) {
	p.InFlightNs += o.InFlightNs
	p.SessionsNs += o.SessionsNs
	p.SaturatedNs += o.SaturatedNs
	p.IdleBacklogNs += o.IdleBacklogNs
	p.BacklogMax = max(p.BacklogMax, o.BacklogMax)
	p.WaitingOwnNs += o.WaitingOwnNs
	p.WaitingServiceNs += o.WaitingServiceNs
}

// mostStandstills limits how many standstills an account lists.
const mostStandstills = 4096

// Add adds o, which must follow a in time. The gauges are taken from o.
func (a *Account) Add(o *Account) { a.add(o, math.MinInt64) }

// add is like Add, but counts standstills only from fromNs on.
func (a *Account) add(o *Account, fromNs int64) {
	if a.Intervals == 0 {
		a.StartNs = o.StartNs
	}
	a.EndNs = o.EndNs
	a.Intervals += o.Intervals
	a.LengthNs += o.LengthNs
	a.LoadNs += o.LoadNs
	a.OpenNs += o.OpenNs
	addStandstills(&a.Standstills, &a.StandstillLengths, o.Standstills, o.StandstillLengths, fromNs)
	a.sum(o, nil)
	for i := range o.Operations {
		a.Operations[i].AddStandstills(&o.Operations[i], fromNs)
	}
	a.Addresses = lengthen(a.Addresses, len(o.Addresses))
	for i := range o.Addresses {
		a.Addresses[i].add(&o.Addresses[i])
		a.Addresses[i].Up = o.Addresses[i].Up
	}
	a.Sessions, a.Busy, a.Backlog = o.Sessions, o.Busy, o.Backlog
	a.Pace.add(&o.Pace)
}

// AddParallel adds o, which another machine measured at the same time for another part of the same load. operations and
// addresses map the indices of o to those of a; if they are nil, the indices are the same. Times are the longer ones
// and not sums, because both machines measured the same time. Standstills are those of the part whose standstills add
// up to more.
func (a *Account) AddParallel(o *Account, operations, addresses []int) {
	if a.Intervals == 0 {
		a.StartNs = o.StartNs
	}
	a.StartNs, a.EndNs = min(a.StartNs, o.StartNs), max(a.EndNs, o.EndNs)
	a.Intervals = max(a.Intervals, o.Intervals)
	ownNs := a.LoadNs
	a.LengthNs = max(a.LengthNs, o.LengthNs)
	a.LoadNs, a.OpenNs = max(a.LoadNs, o.LoadNs), max(a.OpenNs, o.OpenNs)
	longerStandstills(&a.Standstills, &a.StandstillLengths, o.Standstills, o.StandstillLengths)
	a.sum(o, operations)
	for i := range o.Operations {
		from, to := &o.Operations[i], &a.Operations[numberIn(operations, i)]
		longerStandstills(&to.Standstills, &to.StandstillLengths, from.Standstills, from.StandstillLengths)
	}
	for i := range o.Addresses {
		a.Addresses = lengthen(a.Addresses, addresses[i]+1)
		a.Addresses[addresses[i]].add(&o.Addresses[i])
		a.Addresses[addresses[i]].Up += o.Addresses[i].Up
	}
	a.Sessions, a.Busy, a.Backlog = a.Sessions+o.Sessions, a.Busy+o.Busy, a.Backlog+o.Backlog
	p, q := &a.Pace, &o.Pace
	// Add means, not times: a part that ended earlier has no fewer sessions.
	sessionsNs := stretched(p.SessionsNs, ownNs, a.LoadNs) + stretched(q.SessionsNs, o.LoadNs, a.LoadNs)
	saturated, idle := max(p.SaturatedNs, q.SaturatedNs), max(p.IdleBacklogNs, q.IdleBacklogNs)
	p.add(q)
	p.SaturatedNs, p.IdleBacklogNs, p.SessionsNs = saturated, idle, sessionsNs
}

// stretched scales a sum over one length of time to another length.
func stretched(sum float64, fromNs, toNs int64) float64 {
	if fromNs <= 0 {
		return sum
	}
	return sum * float64(toNs) / float64(fromNs)
}

// sum adds the figures that are sums in every case.
func (a *Account) sum(o *Account, operations []int) {
	a.Offered += o.Offered
	a.Overdue += o.Overdue
	merge(&a.OwnLag, o.OwnLag)
	merge(&a.Turnaround, o.Turnaround)
	room := MaxEvents - len(a.Events)
	a.Events = append(a.Events, o.Events[:min(room, len(o.Events))]...)
	a.Health.Add(&o.Health)
	for i := range o.Operations {
		k := numberIn(operations, i)
		a.Operations = lengthen(a.Operations, k+1)
		a.Operations[k].Add(&o.Operations[i])
	}
}

// numberIn maps operation i of another account to this account's index. If operations is nil, it is i.
func numberIn(operations []int, i int) int {
	if operations == nil {
		return i
	}
	return operations[i]
}

// addStandstills appends the standstills of from to to, and adds their lengths. If the lengths are nil, they are
// computed from the list. Standstills before fromNs are ignored.
func addStandstills(to *[]Standstill, lengths **Histogram, from []Standstill, fromLengths *Histogram, fromNs int64) {
	for _, s := range from {
		if s.StartNs = max(s.StartNs, fromNs); s.EndNs-s.StartNs < StandstillNs {
			continue
		}
		if len(*to) < mostStandstills {
			*to = append(*to, s)
		}
		if fromLengths == nil {
			if *lengths == nil {
				*lengths = NewHistogram()
			}
			(*lengths).Record(s.EndNs - s.StartNs)
		}
	}
	merge(lengths, fromLengths)
}

// longerStandstills replaces to by the standstills of another machine if those add up to more.
func longerStandstills(to *[]Standstill, lengths **Histogram, other []Standstill, otherLengths *Histogram) {
	if otherLengths.Sum() > (*lengths).Sum() {
		*to, *lengths = slices.Clone(other), nil
		merge(lengths, otherLengths)
	}
}

// AddStandstills adds the standstills of from, which must follow to in time, from fromNs on.
func (to *OperationAccount) AddStandstills(from *OperationAccount, fromNs int64) {
	addStandstills(&to.Standstills, &to.StandstillLengths, from.Standstills, from.StandstillLengths, fromNs)
}

// Add adds from.
func (to *OperationAccount) Add(from *OperationAccount) {
	to.Counts.Add(&from.Counts)
	sums := to.Times()
	for i, h := range from.Times() {
		merge(sums[i], *h)
	}
}

func (to *AddressAccount) add(from *AddressAccount) {
	to.Counts.Add(&from.Counts)
	merge(&to.Service, from.Service)
	to.Reconnects += from.Reconnects
}

// All returns the sum of all operations. It shares no memory with them.
func (a *Account) All() (all OperationAccount) {
	for i := range a.Operations {
		all.Add(&a.Operations[i])
	}
	return all
}

// Totals returns the sum of the counts of all operations.
func (a *Account) Totals() (c Counts) {
	for i := range a.Operations {
		c.Add(&a.Operations[i].Counts)
	}
	return c
}

// Response merges the response times of all operations.
func (a *Account) Response() *Histogram {
	h := NewHistogram()
	for i := range a.Operations {
		merge(&h, a.Operations[i].Response)
	}
	return h
}

// DurationNs returns the time from the start of the first interval to the end of the last one.
func (a *Account) DurationNs() int64 { return a.EndNs - a.StartNs }

// Infinite is the response time of an arrival without a good answer.
const Infinite = math.MaxInt64

// Answers are the response times of arrivals. An arrival without a good answer has an infinite response time.
type Answers struct {
	Times    *Histogram // of arrivals with a good answer, ns; may be nil
	NoAnswer uint64
}

// Answers returns the response times of all arrivals.
func (o *OperationAccount) Answers() Answers { return Answers{o.Response, o.NoAnswer()} }

// Quantile is like Histogram.Quantile, but returns Infinite if the quantile falls among the arrivals without a good
// answer, and 0 if there are no arrivals.
func (a Answers) Quantile(q float64) int64 {
	finite := a.Times.Count()
	if a.NoAnswer == 0 && finite == 0 {
		return 0
	}
	all := finite + a.NoAnswer
	if rank := rankOf(q, all); rank <= finite {
		return a.Times.atRank(rank)
	}
	return Infinite
}

func lengthen[T any](s []T, n int) []T {
	if n > len(s) {
		s = append(s, make([]T, n-len(s))...)
	}
	return s
}

// merge adds from to *to. It allocates *to if from has values.
func merge(to **Histogram, from *Histogram) {
	if from.Count() == 0 {
		return
	}
	if *to == nil {
		*to = NewHistogram()
	}
	(*to).Merge(from)
}

// MaxEvents limits the events of an account. Later ones are dropped.
const MaxEvents = 1024

// Event is an action or a decision during the load: a restart of a server, a fault, a change of the load, a note.
type Event struct {
	AtNs int64  `json:"at_ns"` // on the run's clock
	Kind string `json:"kind"`  // one word, such as "note", "restart", "fault", "healed" or "decision"
	Text string `json:"text"`  // for people
}

// PhaseAccount is a phase and what happened in it.
type PhaseAccount struct {
	Name   string
	Kind   string
	WarmUp bool
	Account
	drain drain
}

// Tally adds up a run, by phase and in total without warm-up. Its memory depends only on the number of operations,
// addresses and phases.
type Tally struct {
	total    Account
	phases   []PhaseAccount
	lastNs   int64
	lastUnix int64
}

// Interval implements Sink.
func (t *Tally) Interval(iv *Interval) error {
	t.lastNs = max(t.lastNs, iv.EndNs)
	t.lastUnix = max(t.lastUnix, iv.UnixNs+iv.DurationNs())
	p := t.Phase(iv.Phase)
	if p == nil {
		t.phases = append(t.phases, PhaseAccount{Name: iv.Phase, Kind: iv.Kind, WarmUp: iv.WarmUp})
		p = &t.phases[len(t.phases)-1]
	}
	account := iv.Account
	if iv.Kind == KindOpen {
		p.drain.interval(iv, &account)
	}
	p.Add(&account)
	if iv.WarmUp {
		return nil
	}
	from := t.total.StartNs
	if t.total.Intervals == 0 {
		from = iv.StartNs
	}
	t.total.add(&account, from)
	return nil
}

// Total returns the sum so far, without warm-up. It is shared with the tally.
func (t *Tally) Total() *Account { return &t.total }

// Phases returns the sums by phase, in the order of their beginning. They are shared with the tally.
func (t *Tally) Phases() []PhaseAccount { return t.phases }

// Phase returns the sum of one phase, or nil if it has not begun.
func (t *Tally) Phase(name string) *PhaseAccount {
	for i := range t.phases {
		if t.phases[i].Name == name {
			return &t.phases[i]
		}
	}
	return nil
}

// LastNs returns the end of the last interval on the run's clock.
func (t *Tally) LastNs() int64 { return t.lastNs }

// LastUnixNs returns the end of the last interval on the wall clock, in ns since the epoch, or 0 before the first
// interval.
func (t *Tally) LastUnixNs() int64 { return t.lastUnix }

// AddParallel adds the tally of another machine; see Account.AddParallel.
func (t *Tally) AddParallel(o *Tally, operations, addresses []int) {
	t.lastNs, t.lastUnix = max(t.lastNs, o.lastNs), max(t.lastUnix, o.lastUnix)
	t.total.AddParallel(&o.total, operations, addresses)
	for i := range o.phases {
		from := &o.phases[i]
		p := t.Phase(from.Name)
		if p == nil {
			t.phases = append(t.phases, PhaseAccount{Name: from.Name, Kind: from.Kind, WarmUp: from.WarmUp})
			p = &t.phases[len(t.phases)-1]
		}
		p.AddParallel(&from.Account, operations, addresses)
	}
}
