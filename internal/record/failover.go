package record

import (
	"brunt/internal/message"
)

// Failover is the account of outages: those that the run's faults led to, and those that nobody caused. Arrivals are
// counted by their intended start. A good arrival succeeded within DeadlineNs after it; all others are bad. All times
// are on the run's clock.
type Failover struct {
	Asked       bool  `json:"asked,omitempty"` // by the plan or on the command line, not only because there are faults
	DeadlineNs  int64 `json:"deadline_ns"`
	ToleranceNs int64 `json:"tolerance_ns"` // the shortest outage that is reported
	HoldNs      int64 `json:"hold_ns"`      // how long all must be well again, to count as recovered
	// Refused says why there is no account: its arrivals are too few to tell, for example.
	Refused   message.Message `json:"refused,omitzero"`
	RatePerS  float64         `json:"rate_per_s,omitempty"` // arrivals a second that the account rests on
	Outages   []Outage        `json:"outages,omitempty"`    // in order of their beginning; the first MaxOutages
	More      int             `json:"outages_omitted,omitempty"`
	Incidents []Incident      `json:"incidents,omitempty"` // in order
	ByFault   []FaultSummary  `json:"by_fault,omitempty"`  // of incidents of the same name
}

// MaxOutages is how many outages and incidents a record names.
const MaxOutages = 1000

// Scope is what an outage or account is of: one operation, one address, or all arrivals where both are "".
type Scope struct {
	Operation string `json:"operation,omitempty"`
	Address   string `json:"address,omitempty"`
}

// Outage is a longest time in which every arrival was bad: from the intended start of the first bad one to that of the
// next good one. Both are known to the gap between arrivals.
type Outage struct {
	Scope
	StartNs int64  `json:"start_ns"`
	EndNs   int64  `json:"end_ns"`
	Ended   bool   `json:"ended"` // false: it went on until the load was over
	Bad     uint64 `json:"bad"`   // arrivals
	// Invalid says that the generator itself stood still within it, so that its length says little of servers.
	Invalid bool `json:"invalid,omitempty"`
}

// Incident is a fault and what followed from it, or an outage that nobody caused.
type Incident struct {
	Fault  string `json:"fault,omitempty"`  // its name; "" if there was none
	Number int    `json:"number,omitempty"` // of those of its name, from 1
	// Healing says that it is what came of healing the fault.
	Healing bool  `json:"healing,omitempty"`
	BeginNs int64 `json:"begin_ns"` // of the fault, or of the first outage
	DoneNs  int64 `json:"done_ns"`  // when the fault had been done
	EndNs   int64 `json:"end_ns"`   // where the account ends: recovered, the next incident, or the end of the load
	// Affected says that there were bad arrivals that the baseline doesn't explain.
	Affected bool `json:"affected"`
	// FirstAffectedNs is the intended start of the first bad arrival, NoticedNs when the first one was seen to be bad,
	// DetectionNs how long that was after DoneNs.
	FirstAffectedNs int64 `json:"first_affected_ns,omitempty"`
	NoticedNs       int64 `json:"noticed_ns,omitempty"`
	DetectionNs     int64 `json:"detection_ns,omitempty"`
	// RecoveredNs is the earliest time from which on availability, throughput and the 99th percentile were within
	// tolerance of the baseline for HoldNs; RTONs how long after DoneNs. Both are absent if that never came.
	RecoveredNs *int64 `json:"recovered_ns,omitempty"`
	RTONs       *int64 `json:"rto_ns,omitempty"`
	Never       bool   `json:"never,omitempty"`       // it hadn't recovered when the load ended
	Unconfirmed bool   `json:"unconfirmed,omitempty"` // the load ended before HoldNs had passed since RecoveredNs
	Cut         bool   `json:"cut,omitempty"`         // the next incident came before it had recovered
	Relapses    int    `json:"relapses,omitempty"`    // how often it was well again for less than HoldNs
	Invalid     bool   `json:"invalid,omitempty"`     // the generator itself stood still within it
	Baseline    Normal `json:"baseline"`
	// LostWrites and OldestLostNs are the acknowledged writes that were lost, and how long before BeginNs the oldest of
	// them was acknowledged; absent where nobody looked.
	LostWrites   *uint64 `json:"lost_writes,omitempty"`
	OldestLostNs *int64  `json:"oldest_lost_ns,omitempty"`
	Scopes       []Harm  `json:"scopes,omitempty"` // of all arrivals first, then of operations and addresses affected
}

// Normal is what the time before an incident was like.
type Normal struct {
	FromNs    int64   `json:"from_ns"`
	ToNs      int64   `json:"to_ns"` // as FromNs if there was no such time
	GoodShare float64 `json:"good_share"`
	GoodPerS  float64 `json:"good_per_s"`
	P99Ns     Ns      `json:"p99_ns"`
}

// Harm is what an incident did to the arrivals of a scope.
type Harm struct {
	Scope
	OutageNs          int64  `json:"outage_ns"` // the sum of its outages
	OutageLongestNs   int64  `json:"outage_longest_ns"`
	Outages           int    `json:"outages"`
	BrownOutNs        int64  `json:"brown_out_ns"` // fewer good arrivals than the baseline's, outages not counted
	BrownOutLongestNs int64  `json:"brown_out_longest_ns"`
	Arrivals          uint64 `json:"arrivals"`
	Bad               uint64 `json:"bad"`
	Failed            uint64 `json:"failed"`
	Unknown           uint64 `json:"unknown"` // of the failed ones, those that may have been applied
	Waited            uint64 `json:"waited"`  // succeeded after the deadline
	Unsent            uint64 `json:"unsent"`  // given up, or in flight at the end
	Retried           uint64 `json:"retried"`
	WaitNs            int64  `json:"wait_ns"` // what the bad ones took, summed up
	// TooFew says that the scope's arrivals are too few to tell an outage as short as the tolerance: only those of more
	// than ten arrivals' time are.
	TooFew bool `json:"too_few,omitempty"`
}

// Spread is the least, the median and the most of several values; absent where there are none.
type Spread struct {
	N        int   `json:"n"`
	LeastNs  int64 `json:"least_ns"`
	MedianNs int64 `json:"median_ns"`
	MostNs   int64 `json:"most_ns"`
}

// FaultSummary is what the incidents of one name came to, invalid ones left out.
type FaultSummary struct {
	Fault     string  `json:"fault"` // "" for outages that nobody caused
	N         int     `json:"n"`
	Invalid   int     `json:"invalid,omitempty"`
	Never     int     `json:"never,omitempty"`
	Detection *Spread `json:"detection,omitempty"`
	Outage    *Spread `json:"outage,omitempty"` // of all arrivals
	RTO       *Spread `json:"rto,omitempty"`
}

// mergeFailover keeps how the parts' account is made; package failover makes that of the whole.
func mergeFailover(run *Run, parts []*Recorded) {
	if f := parts[0].Run.Failover; f != nil {
		run.Failover = f.settings()
	}
}

// settings are how the account is made, without what came of it.
func (f *Failover) settings() *Failover {
	return &Failover{Asked: f.Asked, DeadlineNs: f.DeadlineNs, ToleranceNs: f.ToleranceNs, HoldNs: f.HoldNs}
}
