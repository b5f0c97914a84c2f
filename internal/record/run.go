// Package record is the run bundle on disk: crash-safe append while running, reading back, and
// lossless merging.
//
// A bundle is a folder: plan.yml (the resolved plan, secrets replaced), run.json (this file's
// Run), intervals.ndjson (one Interval a line, flushed as it ends), errors.ndjson (the first
// samples of each class), faults.ndjson (what was done to servers, as it happened), writes.ndjson (what became
// of writes that are to be read back) and observe/ (what else was watched).
package record

import (
	"time"

	"brunt/internal/measure"
	"brunt/internal/message"
)

// SchemaVersion is the version of run.json and intervals.ndjson that this package writes.
const SchemaVersion = 2

// Run is run.json. The tag merge of a field, and of those of what its lists hold, says what becomes of it where the
// parts of a load are merged: see mergeRules.
type Run struct {
	Schema      int             `json:"schema" merge:"same"`
	ID          string          `json:"id" merge:"first"`
	Name        string          `json:"name" merge:"first"`
	Brunt       string          `json:"brunt" merge:"each"` // version of the program
	Command     []string        `json:"command" merge:"part"`
	Started     time.Time       `json:"started" merge:"earliest"`
	Ended       time.Time       `json:"ended" merge:"latest"` // zero while running or after a kill
	Complete    bool            `json:"complete" merge:"all"`
	Interrupted bool            `json:"interrupted" merge:"any"`
	Aborted     message.Message `json:"aborted,omitzero" merge:"first"` // why the run stopped itself
	Seed        uint64          `json:"seed" merge:"same"`
	LoadModel   string          `json:"load_model" merge:"same"`           // "open", "closed" or "mixed"
	Tier        string          `json:"tier" merge:"most"`                 // "codec" or "library"
	TierReason  message.Message `json:"tier_reason,omitzero" merge:"each"` //
	Timing      message.Message `json:"timing,omitzero" merge:"each"`      // how sends and receipts were timed
	Sessions    int             `json:"sessions" merge:"sum"`
	// SessionsAsNeeded says that sessions connected as the load needed them. Sessions is then how many were in use at
	// most, and of a run that isn't complete, how many there may be; of a script of k6, how many virtual users were at
	// work on average.
	SessionsAsNeeded bool `json:"sessions_as_needed,omitempty" merge:"any"`
	Pipeline         int  `json:"pipeline,omitempty" merge:"most"` // most requests in flight of a session; 1 if absent
	// ToleranceNs is how late a send may be, to be sent with others.
	ToleranceNs int64 `json:"timing_tolerance_ns" merge:"most"`
	Spin        bool  `json:"spin,omitempty" merge:"any"` // loops spin before an intended start instead of sleeping
	IntervalNs  int64 `json:"interval_ns" merge:"most"`
	DurationNs  int64 `json:"duration_ns" merge:"sums"` // of load, warm-up excluded
	// Stride and Offset are this machine's part of the operations: those number Offset, Offset + Stride, …
	Stride uint64 `json:"stride,omitempty" merge:"part"`
	Offset uint64 `json:"offset,omitempty" merge:"part"`
	// Cut is the load's unequal parts, as k6 writes a sequence of segments; this is part Offset of Stride.
	Cut string `json:"cut,omitempty" merge:"part"`
	// PlanHash is of plan.yml without its remarks: SHA-256, hexadecimal.
	PlanHash    string         `json:"plan_hash,omitempty" merge:"same"`
	Environment Environment    `json:"environment" merge:"first"`
	Targets     []Target       `json:"targets" merge:"by Address Protocol"`
	Phases      []Phase        `json:"phases" merge:"by Name"`
	Operations  []Operation    `json:"operations" merge:"by Name"`
	Total       Operation      `json:"total" merge:"sums"`
	Thresholds  []Threshold    `json:"thresholds,omitempty" merge:"whole"`
	Health      Health         `json:"health" merge:"whole"`
	Standstill  Standstill     `json:"standstill" merge:"sums"`                  // of the server, as far as it can be seen
	Failures    []FailureCount `json:"failures,omitempty" merge:"by Class Code"` // failed attempts by class and code
	Verdict     Verdict        `json:"verdict" merge:"sums"`
	Warnings    []Warning      `json:"warnings,omitempty" merge:"distinct"`
	Events      []Event        `json:"events,omitempty" merge:"sums"`        // what was done or decided during the load
	Faults      []Fault        `json:"faults,omitempty" merge:"whole"`       // done to servers during the load
	Hints       []Hint         `json:"hints,omitempty" merge:"sums"`         // changes seen, the first MaxHints
	HintsMore   uint64         `json:"hints_omitted,omitempty" merge:"sums"` // how many came after them
	Failover    *Failover      `json:"failover,omitempty" merge:"whole"`     // the account of outages; see package failover
	Verified    *Verified      `json:"verified,omitempty" merge:"fields"`    // what reading writes back found
	Registers   *Registers     `json:"registers,omitempty" merge:"fields"`   // keys that were contested
	Setup       *Setup         `json:"setup,omitempty" merge:"fields"`
	Tables      []TableUse     `json:"tables,omitempty" merge:"by Name"`     // of the plan, as found or made
	Sequences   []Sequence     `json:"sequences,omitempty" merge:"distinct"` // that began after what their columns held
	Awake       *Awake         `json:"awake,omitempty" merge:"first"`        //
	// a target is on the machine that generates the load
	ServerHere  bool         `json:"server_here,omitempty" merge:"any"`
	Watched     []Watched    `json:"watched,omitempty" merge:"whole"`        // what else happened
	Iterations  *Iterations  `json:"iterations,omitempty" merge:"fields"`    //
	Inspections []Inspection `json:"inspections,omitempty" merge:"distinct"` //
	// Flags are what sets things in the command in use, for advice: "sessions", "rate", "loops", "threshold", "awake",
	// and "engine", what drives a load with less of this machine. What it has nothing for is left out.
	Flags map[string]string `json:"flags,omitempty" merge:"first"`
	Extra map[string]string `json:"extra,omitempty" merge:"first"` // what a dialect wants kept
	// Worker is how this part of a run was led, if it was one of several workers'.
	Worker *Worker `json:"worker,omitempty" merge:"part"`
	// Parts are what a merged run was made of; see Part.
	Parts []Part `json:"parts,omitempty" merge:"whole"`
	// Messages are what the texts above are made of, by their text in English. Described fills it for what is written.
	Messages message.Table `json:"messages,omitempty" merge:"part"`
}

// Part is what one part of a merged run said that holds for itself and not for the whole.
type Part struct {
	ID          string      `json:"id"`
	Offset      uint64      `json:"offset"` // see Run.Stride
	Brunt       string      `json:"brunt"`
	Command     []string    `json:"command"`
	Started     time.Time   `json:"started"`
	Ended       time.Time   `json:"ended"`
	Sessions    int         `json:"sessions"`
	Done        uint64      `json:"done"`
	Environment Environment `json:"environment"`
	Awake       *Awake      `json:"awake,omitempty"`
	Worker      *Worker     `json:"worker,omitempty"`
	// Of parts that workers ran: operations done a second, the 99th percentile of their response times (of service
	// times in closed loads), and what their own figures are worth.
	DonePerS      float64 `json:"done_per_s,omitempty"`
	ResponseP99Ns Ns      `json:"response_p99_ns,omitempty"`
	Verdict       string  `json:"verdict,omitempty"`
	// Invalid is why the part's own figures don't stand, if they don't: of parts that workers ran.
	Invalid []message.Message `json:"invalid,omitempty"`
}

// Worker is a process that ran a part of a load under a coordinator.
type Worker struct {
	Name string `json:"name"` // its number and its host
	// ClockOffsetNs is how far the coordinator's clock was ahead of the worker's, as measured before the load;
	// ClockUncertaintyNs how far from that it may have been.
	ClockOffsetNs      int64 `json:"clock_offset_ns"`
	ClockUncertaintyNs int64 `json:"clock_uncertainty_ns"`
	StartLateNs        int64 `json:"start_late_ns"` // how much later than agreed it began, by its own clock
	// Passed is how many operations the whole load had, those of all workers, up to the end of this one's.
	Passed uint64 `json:"passed,omitempty"`
	// LostNs is when it was lost, since the start of the load; 0 if it wasn't. GivenNs is from when on others had its
	// share; 0 if nobody had. Missing is how many operations of its share nobody has sent: about, if the load ended early.
	LostNs  int64  `json:"lost_ns,omitempty"`
	GivenNs int64  `json:"given_ns,omitempty"`
	Missing uint64 `json:"missing,omitempty"`
}

// Environment is the fingerprint of the machine that generated the load.
type Environment struct {
	OS        string `json:"os"`
	Kernel    string `json:"kernel"`
	Arch      string `json:"arch"`
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	CPUQuota  string `json:"cpu_quota,omitempty"` // cgroup limit in cores
	MemoryB   uint64 `json:"memory_bytes"`
	Go        string `json:"go"`
	MaxProcs  int    `json:"gomaxprocs"`
	Governor  string `json:"cpu_governor,omitempty"`
	ClockRes  int64  `json:"clock_resolution_ns"`
	Hostname  string `json:"hostname,omitempty"`
	Container bool   `json:"container"`
}

// Target is an address and its figures.
type Target struct {
	Address    string            `json:"address" merge:"same"`
	Protocol   string            `json:"protocol" merge:"same"`
	Product    string            `json:"product,omitempty" merge:"first"`
	Version    string            `json:"version,omitempty" merge:"each"`
	Settings   map[string]string `json:"settings,omitempty" merge:"first"`
	Counts     Counts            `json:"counts" merge:"sums"`
	Service    Latency           `json:"service" merge:"sums"`
	Reconnects uint64            `json:"reconnects" merge:"sums"`
	RateWithin *Bounds           `json:"rate_within,omitempty" merge:"sums"` // of successes a second
}

// Phase is a part of the load as it went.
type Phase struct {
	Name       string  `json:"name" merge:"same"`
	Kind       string  `json:"kind" merge:"same"`
	StartNs    int64   `json:"start_ns" merge:"sums"`
	DurationNs int64   `json:"duration_ns" merge:"sums"`
	OwnNs      int64   `json:"own_ns,omitempty" merge:"sums"`      // of DurationNs, if others were within it; 0: all of it
	ScheduleNs int64   `json:"schedule_ns,omitempty" merge:"most"` // how long it was to send; 0: not known
	RateFrom   float64 `json:"rate_from_per_s,omitempty" merge:"first"`
	RateTo     float64 `json:"rate_to_per_s,omitempty" merge:"first"`
	Arrivals   string  `json:"arrivals,omitempty" merge:"first"`
	Sessions   int     `json:"sessions" merge:"sum"`
	WarmUp     bool    `json:"warm_up,omitempty" merge:"same"`
	Limit      uint64  `json:"limit,omitempty" merge:"first"` // most operations; 0 means no limit
	Offered    uint64  `json:"offered,omitempty" merge:"sums"`
	Overdue    uint64  `json:"overdue,omitempty" merge:"sums"` // of these, not sent yet when the schedule ended
	Done       uint64  `json:"done" merge:"sums"`
	Errors     uint64  `json:"errors" merge:"sums"`
	Unsent     uint64  `json:"unsent,omitempty" merge:"sums"`
	Unfinished uint64  `json:"unfinished,omitempty" merge:"sums"`
	Response   Latency `json:"response" merge:"sums"`
	RateWithin *Bounds `json:"rate_within,omitempty" merge:"sums"` // of Done a second
	// Adaptive is how the rate was decided, and what came of it; nil if it followed the clock.
	Adaptive *Adaptive `json:"adaptive,omitempty" merge:"first"`
}

// Adaptive is a load whose rate was decided while it ran. The decisions are in intervals.ndjson, as "control".
type Adaptive struct {
	Method    string  `json:"method"`         // see control.Methods
	Goal      string  `json:"goal,omitempty"` // the rule, or the metric watched and its level
	MinPerS   float64 `json:"min_rate_per_s"`
	MaxPerS   float64 `json:"max_rate_per_s"`
	Decisions int     `json:"decisions"`
	// SettledAfter is how many of them came before the load settled; RatePerS is the mean of the rates after that, Rate
	// its confidence interval, and Spread their standard deviation as a share of it.
	SettledAfter int     `json:"settled_after"`
	RatePerS     float64 `json:"rate_per_s"`
	Rate         *Bounds `json:"rate,omitempty"`
	Spread       float64 `json:"spread"`
	Settled      bool    `json:"settled"` // it settled before the middle of the phase, and did not swing after
	// AtMost and AtLeast are the shares of the rates after it settled that were at a limit which was in the way.
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"`
}

// LengthNs is how long the phase lasted, without the phases that were within it.
func (p *Phase) LengthNs() int64 {
	if p.OwnNs > 0 {
		return p.OwnNs
	}
	return p.DurationNs
}

// Counts are plain numbers, and the sums that readers would make of them.
type Counts struct {
	measure.Counts
	OK      uint64 `json:"ok"`
	Failed  uint64 `json:"failed"`
	Dropped uint64 `json:"dropped"` // arrivals given up without being sent
}

// CountsOf returns c with its sums.
func CountsOf(c *measure.Counts) Counts {
	return Counts{Counts: *c, OK: c.OK(), Failed: c.Failed(), Dropped: c.Dropped()}
}

// Latency is a distribution: its usual quantiles for people and machines, and all of it. Arrivals
// without a good answer lie beyond every finite value: a quantile among them is null, and so is MaxNs
// if there are any. Count, MinNs, MeanNs and HDR are of those that have one.
type Latency struct {
	Count     uint64  `json:"count"`
	NoAnswer  uint64  `json:"no_answer,omitempty"` // arrivals that failed, were never sent, or were in flight at the end
	MinNs     Ns      `json:"min_ns"`
	MeanNs    float64 `json:"mean_ns"`
	P50Ns     Ns      `json:"p50_ns"`
	P75Ns     Ns      `json:"p75_ns"`
	P90Ns     Ns      `json:"p90_ns"`
	P95Ns     Ns      `json:"p95_ns"`
	P99Ns     Ns      `json:"p99_ns"`
	P999Ns    Ns      `json:"p999_ns"`
	P9999Ns   Ns      `json:"p9999_ns"`
	MaxNs     Ns      `json:"max_ns"`
	LongestNs Ns      `json:"longest_ns,omitempty"` // the greatest finite value where MaxNs is null
	HDR       string  `json:"hdr,omitempty"`        // HdrHistogram V2, compressed, base64
	Within    *Within `json:"within,omitempty"`     // confidence intervals within the run
}

// Operation is the totals of one operation.
type Operation struct {
	Name             string  `json:"name" merge:"same"`
	RatePerS         float64 `json:"rate_per_s" merge:"sums"` // successful operations a second
	RateWithin       *Bounds `json:"rate_within,omitempty" merge:"sums"`
	OfferedPerS      float64 `json:"offered_per_s,omitempty" merge:"sums"`
	Offered          uint64  `json:"offered,omitempty" merge:"sums"` // arrivals that fell due; of Run.Total only
	Overdue          uint64  `json:"overdue,omitempty" merge:"sums"` // of these, not sent yet when their schedule ended
	Counts           `merge:"sums"`
	Response         Latency `json:"response,omitzero" merge:"sums"`    // of all arrivals
	ResponseOK       Latency `json:"response_ok,omitzero" merge:"sums"` // of successes; its hdr is Response's
	WithoutGenerator Latency `json:"unhindered,omitzero" merge:"sums"`  // Response without the generator's own lag
	Service          Latency `json:"service,omitzero" merge:"sums"`
	Lag              Latency `json:"lag,omitzero" merge:"sums"`
	FailedResponse   Latency `json:"failed_response,omitzero" merge:"sums"`
	// Standstill is that of the operation alone, while others may have succeeded; absent where there was none.
	Standstill Standstill `json:"standstill,omitzero" merge:"sums"`
}

// Threshold is a rule and what came of it.
type Threshold struct {
	Text    string  `json:"text"`
	Pass    bool    `json:"pass"`
	Value   Figure  `json:"value"`
	Unit    string  `json:"unit"` // "ns", "fraction", "per_s", "count"
	Limit   float64 `json:"limit"`
	Aborted bool    `json:"aborted,omitempty"`
	// Windowed says that the rule is over windows: Value is that of the worst, BrokenNs for how long windows broke it.
	Windowed bool  `json:"windowed,omitempty"`
	BrokenNs int64 `json:"broken_ns,omitempty"`
	// Aggregate is how a rule of k6 comes to its value; nil for rules of plans.
	Aggregate *Aggregate `json:"aggregate,omitempty"`
}

// Health sums up the generator's state over the run; see measure.Health.
type Health struct {
	LagP99Ns          int64   `json:"lag_p99_ns"`
	LoopBusyMax       float64 `json:"loop_busy_max"`
	LoopBusyMean      float64 `json:"loop_busy_mean"`
	ProcessCPUMean    float64 `json:"process_cpu_mean"` // cores
	ProcessCPUMax     float64 `json:"process_cpu_max"`
	CPUNsPerOperation float64 `json:"cpu_ns_per_operation"`
	CgroupThrottledNs int64   `json:"cgroup_throttled_ns"`
	RunQueueShare     float64 `json:"run_queue_share"`
	RunQueueNs        int64   `json:"run_queue_ns"` // what all threads waited for a core
	// what a thread that wakes 100 times a second waited for a core
	WakeWaitNs int64 `json:"wake_wait_ns,omitempty"`
	GCCPUNs    int64 `json:"gc_cpu_ns,omitempty"` // processor time of the garbage collector
	// it was stopped for so long in all, in stretches too short for PausedNs
	HeldNs         int64   `json:"held_ns,omitempty"`
	LoopRunQueueNs int64   `json:"loop_run_queue_ns"` // of that, the event loops' threads
	StealNs        int64   `json:"steal_ns"`          // taken by the hypervisor, summed over the cores allowed
	OthersCPUMean  float64 `json:"others_cpu_mean"`   // cores, of those allowed, that other processes had
	// VoluntarySwitches and InvoluntarySwitches are of the process's threads; see measure.Health.
	VoluntarySwitches   uint64 `json:"voluntary_switches"`
	InvoluntarySwitches uint64 `json:"involuntary_switches"`
	GCPauseNsMax        int64  `json:"gc_pause_ns_max"`
	GCCycles            uint32 `json:"gc_cycles"`
	SendStalls          uint64 `json:"send_stalls"`
	RSSBytesMax         uint64 `json:"rss_bytes_max"`
	PausedNs            int64  `json:"paused_ns"`
	// OwnLagP99Ns is the generator's own part of the lag in open loads (see measure.Interval): the
	// 99th percentile, or the third largest of fewer than 300. OwnLagCount is how many there were.
	OwnLagP99Ns   int64   `json:"own_lag_p99_ns"`
	OwnLagMeanNs  float64 `json:"own_lag_mean_ns"`
	OwnLagCount   uint64  `json:"own_lag_count"`
	LoopFullNs    int64   `json:"loop_full_ns"`    // time with the busiest loop above 95 %
	SaturatedNs   int64   `json:"saturated_ns"`    // time with a backlog while all sessions were busy
	IdleBacklogNs int64   `json:"idle_backlog_ns"` // time with a backlog while sessions were free
	BacklogMax    uint64  `json:"backlog_max"`
	InFlightMean  float64 `json:"in_flight_mean"` // requests in flight, by Little's law
	SessionsMean  float64 `json:"sessions_mean"`  // connected, over the time of the load
	// WaitingOwnShare is, while arrivals waited, the generator's own lag as a share of the time that it
	// and the requests took: how far the generator kept sessions from working.
	WaitingOwnShare float64 `json:"waiting_own_share"`
	// Turnaround is the time from an answer to its session's next send in closed loads, think time left
	// out; TurnaroundShare the share that it has of the sessions' time.
	TurnaroundMeanNs float64 `json:"turnaround_mean_ns,omitempty"`
	TurnaroundShare  float64 `json:"turnaround_share,omitempty"`
	CeilingPerS      float64 `json:"ceiling_per_s,omitempty"` // this machine's measured maximum
}

// Awake is what was done so that the generator's machine could hold the schedule; see package awake.
type Awake struct {
	Mode          string `json:"mode"`                     // "auto", "on" or "off"
	Threads       int    `json:"threads"`                  // of idle priority, each of which kept a core from sleeping
	ThreadsReason string `json:"threads_reason,omitempty"` // why there were none
	CPUNs         int64  `json:"cpu_ns,omitempty"`         // processor time that these had, which is in no other figure
	DMALatency    bool   `json:"cpu_dma_latency"`          // /dev/cpu_dma_latency was held at 0
	Nice          int    `json:"nice"`                     // of the generator's threads
	NiceReason    string `json:"nice_reason,omitempty"`    // why it was left at 0
}

// Verdict says whether the result stands.
type Verdict struct {
	Result  string            `json:"result"` // "pass", "fail" or "invalid"
	Reasons []message.Message `json:"reasons,omitempty"`
	// AddedP50Ns and AddedP99Ns are what the generator's own lag added to the median and the 99th
	// percentile (the third longest of fewer than 300) of response times in open loads.
	AddedP50Ns Ns `json:"added_p50_ns,omitempty"`
	AddedP99Ns Ns `json:"added_p99_ns,omitempty"`
	// LateAlone says of an invalid result that the generator sent late, which makes response times longer, and
	// that nothing else speaks against it.
	LateAlone bool `json:"late_alone,omitempty"`
}

// Texts are the reasons in English.
func (v *Verdict) Texts() []string { return message.Strings("", v.Reasons) }

// Warning is something that the reader must know. ID is stable.
type Warning struct {
	ID     string          `json:"id"`
	Text   message.Message `json:"text"`
	Remedy message.Message `json:"remedy,omitzero"`
}

// NewWarning returns the warning of an id: its text is the message of that id, its remedy that of id.remedy, both
// with the same arguments.
func NewWarning(id string, args ...message.Arg) Warning {
	return Warning{ID: id, Text: message.New(id, args...), Remedy: message.New(id+".remedy", args...)}
}

// Notice returns a warning for which there is nothing to do.
func Notice(id string, args ...message.Arg) Warning {
	return Warning{ID: id, Text: message.New(id, args...)}
}

// Equal reports whether two warnings say the same.
func (w Warning) Equal(o Warning) bool {
	return w.ID == o.ID && w.Text.Equal(o.Text) && w.Remedy.Equal(o.Remedy)
}

// Setup is what was done before the load.
type Setup struct {
	DurationNs int64   `json:"duration_ns" merge:"most"`
	Tables     []Table `json:"tables" merge:"distinct"`
}

// Table is a table that was filled, with its proof.
type Table struct {
	Name      string  `json:"name"`
	Rows      uint64  `json:"rows"`
	RowsPerS  float64 `json:"rows_per_s"`
	Checksum  string  `json:"checksum,omitempty"`
	ElapsedNs int64   `json:"elapsed_ns"`
}

// Event is something that was done or decided while the load ran.
type Event = measure.Event

// TableUse is one of the plan's tables as the run found or made it.
type TableUse struct {
	Name string `json:"name" merge:"same"`
	// Origin is "run" if this run filled it, "brunt" if an earlier command did, "" if nobody
	// knows.
	Origin string  `json:"origin,omitempty" merge:"most"`
	Rows   uint64  `json:"rows" merge:"least"`           // that it held before the load
	Seed   *uint64 `json:"seed,omitempty" merge:"first"` // of its rows; absent if nobody knows
	// Differs says why the rows aren't those that the plan's references are made for; "" if they
	// are, or nobody knows.
	Differs message.Message `json:"differs,omitzero" merge:"first"`
}

// Sequence is where the keys that a run inserted began.
type Sequence struct {
	Table    string `json:"table"`
	Column   string `json:"column"`
	Greatest *int64 `json:"greatest,omitempty"` // that the column held before the load; absent if nothing
	First    int64  `json:"first"`              // of the run's values
	// Rows is what a table held beyond the plan's rows; absent for numbers. UUIDs differ from those of runs
	// that found another number.
	Rows *uint64 `json:"rows,omitempty"`
}

// Described is the run as it is written: with what its texts are made of.
func (r *Run) Described() *Run {
	out := *r
	out.Messages = nil
	out.Messages = message.TableOf(&out)
	return &out
}
