package record

import (
	"brunt/internal/render/message"
)

// Failover is the analysis of outages: those that the run's faults caused, and those without a known cause. Arrivals
// are counted by their intended start. A good arrival succeeded within DeadlineNs after it; all others are bad. All
// times are on the run's clock.
type Failover struct {
	Asked       bool  `json:"asked,omitempty"` // requested by the plan or on the command line, not implied by faults
	DeadlineNs  int64 `json:"deadline_ns"`
	ToleranceNs int64 `json:"tolerance_ns"` // the shortest outage that is reported
	HoldNs      int64 `json:"hold_ns"`      // how long the service must be healthy to count as recovered
	// Refused says why there is no analysis, for example that there are too few arrivals.
	Refused   message.Message `json:"refused,omitzero"`
	RatePerS  float64         `json:"rate_per_s,omitempty"` // arrivals a second that the analysis is based on
	Outages   []Outage        `json:"outages,omitempty"`    // in order of their start; the first MaxOutages
	More      int             `json:"outages_omitted,omitempty"`
	Incidents []Incident      `json:"incidents,omitempty"` // in order
	Stalls    []Stall         `json:"stalls,omitempty"`    // of the generator itself; the first MaxOutages
	ByFault   []FaultSummary  `json:"by_fault,omitempty"`  // summaries of incidents of the same name
}

// MaxOutages is how many outages and how many incidents a record lists.
const MaxOutages = 1000

// Scope is what an outage or a figure refers to: one operation, one address, or all arrivals if both are "".
type Scope struct {
	Operation string `json:"operation,omitempty"`
	Address   string `json:"address,omitempty"`
}

// Outage is a maximal interval in which every arrival was bad: from the intended start of the first bad arrival to that
// of the next good one. Both times are accurate to within the gap between arrivals.
type Outage struct {
	Scope
	StartNs int64  `json:"start_ns"`
	EndNs   int64  `json:"end_ns"`
	Ended   bool   `json:"ended"` // false: it lasted until the end of the load
	Bad     uint64 `json:"bad"`   // bad arrivals
	// Fault and Number name the incident to which the outage belongs; "" if no fault explains it.
	Fault  string `json:"fault,omitempty"`
	Number int    `json:"number,omitempty"`
	// Invalid says that the generator itself stalled during the outage, so its length says little about the servers.
	Invalid bool `json:"invalid,omitempty"`
}

// Stall is a time in which the generator itself made arrivals late, or couldn't send any. It isn't an outage.
type Stall struct {
	StartNs  int64  `json:"start_ns"` // intended start of the first arrival
	EndNs    int64  `json:"end_ns"`   // end of the last one's slot
	Arrivals uint64 `json:"arrivals"` // of these, late only because of the generator
}

// Incident is a fault and its consequences, or an outage without a known cause.
type Incident struct {
	Fault  string `json:"fault,omitempty"`  // the fault's name; "" if there was none
	Number int    `json:"number,omitempty"` // number among the faults of the same name, from 1
	// Healing says that the incident follows the healing of the fault.
	Healing bool  `json:"healing,omitempty"`
	BeginNs int64 `json:"begin_ns"` // start of the fault or of the first outage
	DoneNs  int64 `json:"done_ns"`  // when injecting the fault was complete
	EndNs   int64 `json:"end_ns"`   // end of the analysed time: recovery, the next incident, or the end of the load
	// Affected says that there were bad arrivals that the baseline doesn't explain.
	Affected bool `json:"affected"`
	// FirstAffectedNs is the intended start of the first bad arrival. NoticedNs is when the first arrival was found to
	// be bad. DetectionNs is NoticedNs minus DoneNs.
	FirstAffectedNs int64 `json:"first_affected_ns,omitempty"`
	NoticedNs       int64 `json:"noticed_ns,omitempty"`
	DetectionNs     int64 `json:"detection_ns,omitempty"`
	// RecoveredNs is the earliest time after which availability, throughput and the 99th percentile stayed within
	// tolerance of the baseline for HoldNs. RTONs is RecoveredNs minus DoneNs. Both are nil without recovery.
	RecoveredNs *int64 `json:"recovered_ns,omitempty"`
	RTONs       *int64 `json:"rto_ns,omitempty"`
	Never       bool   `json:"never,omitempty"`       // it hadn't recovered when the load ended
	Unconfirmed bool   `json:"unconfirmed,omitempty"` // the load ended before HoldNs had passed since RecoveredNs
	Cut         bool   `json:"cut,omitempty"`         // the next incident began before recovery
	Relapses    int    `json:"relapses,omitempty"`    // how often the service was healthy for less than HoldNs
	Invalid     bool   `json:"invalid,omitempty"`     // the generator itself stalled during the incident
	Baseline    Normal `json:"baseline"`
	// LostWrites is the number of acknowledged writes that were lost; OldestLostNs is how long before BeginNs the
	// oldest of them was acknowledged. Both are nil if writes weren't read back.
	LostWrites   *uint64 `json:"lost_writes,omitempty"`
	OldestLostNs *int64  `json:"oldest_lost_ns,omitempty"`
	Scopes       []Harm  `json:"scopes,omitempty"` // all arrivals first, then the operations and addresses affected
}

// Normal is the baseline: how the service performed before an incident.
type Normal struct {
	FromNs    int64   `json:"from_ns"`
	ToNs      int64   `json:"to_ns"` // equals FromNs if there was no such time
	GoodShare float64 `json:"good_share"`
	GoodPerS  float64 `json:"good_per_s"`
	P99Ns     Ns      `json:"p99_ns"`
}

// Harm is the effect of an incident on the arrivals of a scope.
type Harm struct {
	Scope
	OutageNs          int64  `json:"outage_ns"` // the sum of its outages
	OutageLongestNs   int64  `json:"outage_longest_ns"`
	Outages           int    `json:"outages"`
	BrownOutNs        int64  `json:"brown_out_ns"` // time with fewer good arrivals than the baseline, without outages
	BrownOutLongestNs int64  `json:"brown_out_longest_ns"`
	Arrivals          uint64 `json:"arrivals"`
	Bad               uint64 `json:"bad"`
	Failed            uint64 `json:"failed"`
	Unknown           uint64 `json:"unknown"` // failed arrivals that may have been applied
	Waited            uint64 `json:"waited"`  // succeeded after the deadline
	Unsent            uint64 `json:"unsent"`  // dropped, or in flight at the end
	Retried           uint64 `json:"retried"`
	WaitNs            int64  `json:"wait_ns"` // total time of the bad arrivals
	// TooFew says that the scope has too few arrivals to detect outages as short as the tolerance. Only outages longer
	// than the time of ten arrivals are detected.
	TooFew bool `json:"too_few,omitempty"`
}

// Spread is the minimum, median and maximum of N values; nil pointers stand for no values.
type Spread struct {
	N        int   `json:"n"`
	LeastNs  int64 `json:"least_ns"`
	MedianNs int64 `json:"median_ns"`
	MostNs   int64 `json:"most_ns"`
}

// FaultSummary summarises the incidents of one name. Invalid ones are counted but otherwise left out.
type FaultSummary struct {
	Fault     string  `json:"fault"` // "" for outages without a known cause
	N         int     `json:"n"`
	Invalid   int     `json:"invalid,omitempty"`
	Never     int     `json:"never,omitempty"`
	Detection *Spread `json:"detection,omitempty"`
	Outage    *Spread `json:"outage,omitempty"` // outages of all arrivals
	RTO       *Spread `json:"rto,omitempty"`
}

// mergeFailover keeps the settings of the analysis. Package failover analyses the merged run.
func mergeFailover(run *Run, parts []*Recorded) {
	if f := parts[0].Run.Failover; f != nil {
		run.Failover = f.settings()
	}
}

// settings returns a copy of f with the settings of the analysis but without its results.
func (f *Failover) settings() *Failover {
	return &Failover{Asked: f.Asked, DeadlineNs: f.DeadlineNs, ToleranceNs: f.ToleranceNs, HoldNs: f.HoldNs}
}
