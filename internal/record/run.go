package record

import (
	"time"

	"brunt/internal/measure"
	"brunt/internal/render/message"
)

// SchemaVersion is the version of run.json and intervals.ndjson that this package writes.
const SchemaVersion = 2

// Run is the content of run.json. The merge tag of a field, and of the fields of its elements, says how the parts of a
// load are merged: see mergeRules.
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
	LoadModel   string          `json:"load_model" merge:"same"` // "open", "closed" or "mixed"
	Tier        string          `json:"tier" merge:"most"`       // "codec" or "library"
	TierReason  message.Message `json:"tier_reason,omitzero" merge:"each"`
	Timing      message.Message `json:"timing,omitzero" merge:"each"` // how sends and receipts were timed
	Sessions    int             `json:"sessions" merge:"sum"`
	// SessionsAsNeeded says that sessions connected as the load needed them. Sessions is then the greatest number in
	// use; for an incomplete run it is the limit, and for a k6 script the mean number of active virtual users.
	SessionsAsNeeded bool `json:"sessions_as_needed,omitempty" merge:"any"`
	// FilesLimit is how many files the process could have open, if this limited the sessions that could connect as the
	// load needed them; 0 if it didn't.
	FilesLimit int `json:"files_limit,omitempty" merge:"most"`
	// Reconnect says that operations had connections of their own: each one, or as many together as a script says.
	// Sessions were unconnected in between.
	Reconnect bool `json:"reconnect,omitempty" merge:"any"`
	Pipeline  int  `json:"pipeline,omitempty" merge:"most"` // most requests in flight per session; 1 if absent
	// ToleranceNs is how late a request may be sent in order to be sent together with others.
	ToleranceNs int64 `json:"timing_tolerance_ns" merge:"most"`
	Spin        bool  `json:"spin,omitempty" merge:"any"` // loops spin before an intended start instead of sleeping
	IntervalNs  int64 `json:"interval_ns" merge:"most"`
	DurationNs  int64 `json:"duration_ns" merge:"sums"` // of load, warm-up excluded
	// Stride and Offset define this machine's part of the operations: numbers Offset, Offset + Stride, …
	Stride uint64 `json:"stride,omitempty" merge:"part"`
	Offset uint64 `json:"offset,omitempty" merge:"part"`
	// Cut is the list of the load's unequal parts in k6's notation of a sequence of segments. This is part Offset of
	// Stride.
	Cut string `json:"cut,omitempty" merge:"part"`
	// PlanHash is the SHA-256 of plan.yml without comments appended later, in hexadecimal.
	PlanHash    string         `json:"plan_hash,omitempty" merge:"same"`
	Environment Environment    `json:"environment" merge:"first"`
	Targets     []Target       `json:"targets" merge:"by Address Protocol"`
	Phases      []Phase        `json:"phases" merge:"by Name"`
	Operations  []Operation    `json:"operations" merge:"by Name"`
	Total       Operation      `json:"total" merge:"sums"`
	Thresholds  []Threshold    `json:"thresholds,omitempty" merge:"whole"`
	Health      Health         `json:"health" merge:"whole"`
	Standstill  Standstill     `json:"standstill" merge:"sums"`          // of the server, as seen by clients
	Failures    []FailureCount `json:"failures,omitempty" merge:"whole"` // failed attempts by class, code and text
	Verdict     Verdict        `json:"verdict" merge:"sums"`
	Warnings    []Warning      `json:"warnings,omitempty" merge:"distinct"`
	Events      []Event        `json:"events,omitempty" merge:"sums"`        // actions and decisions during the load
	Faults      []Fault        `json:"faults,omitempty" merge:"whole"`       // faults injected during the load
	Hints       []Hint         `json:"hints,omitempty" merge:"sums"`         // changes detected, the first MaxHints
	HintsMore   uint64         `json:"hints_omitted,omitempty" merge:"sums"` // number of further hints
	Failover    *Failover      `json:"failover,omitempty" merge:"whole"`     // analysis of outages; see package failover
	Verified    *Verified      `json:"verified,omitempty" merge:"fields"`    // result of reading writes back
	Registers   *Registers     `json:"registers,omitempty" merge:"fields"`   // check of contended keys
	Setup       *Setup         `json:"setup,omitempty" merge:"fields"`
	Tables      []TableUse     `json:"tables,omitempty" merge:"by Name"`     // the plan's tables as found or made
	Sequences   []Sequence     `json:"sequences,omitempty" merge:"distinct"` // keys that begin after existing ones
	Awake       *Awake         `json:"awake,omitempty" merge:"first"`
	// a target runs on the machine that generates the load
	ServerHere  bool         `json:"server_here,omitempty" merge:"any"`
	Watched     []Watched    `json:"watched,omitempty" merge:"whole"` // what else was observed
	Iterations  *Iterations  `json:"iterations,omitempty" merge:"fields"`
	Inspections []Inspection `json:"inspections,omitempty" merge:"distinct"`
	Processes   []Process    `json:"processes,omitempty" merge:"distinct"` // of servers on a machine of the run
	Profiles    []Profile    `json:"profiles,omitempty" merge:"distinct"`  // of services
	// Flags maps what advice may suggest to change to the flag or option that sets it in the command in use:
	// "sessions", "rate", "loops", "threshold", "awake", and "engine", what drives the load with less of this machine.
	// Entries for which the command has no option are absent.
	Flags map[string]string `json:"flags,omitempty" merge:"first"`
	Extra map[string]string `json:"extra,omitempty" merge:"first"` // further values that a dialect keeps
	// Worker describes the worker that ran this part; nil if the load had no workers.
	Worker *Worker `json:"worker,omitempty" merge:"part"`
	// Parts are the parts that the run was merged from; see Part.
	Parts []Part `json:"parts,omitempty" merge:"whole"`
	// Messages are the templates of the texts above, keyed by their English text. Described fills it for writing.
	Messages message.Table `json:"messages,omitempty" merge:"part"`
}

// Part holds the facts about one part of a merged run that don't apply to the whole.
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
	DurationNs  int64       `json:"duration_ns,omitempty"` // of its load, which ended at about Ended
	// Missing is the number of arrivals that its run.json counts and its intervals lack. They are in no sum.
	Missing uint64 `json:"missing,omitempty"`
	// The following are set for workers' parts: operations done a second, the 99th percentile of their response times
	// (of service times in closed loads), and the verdict on the part's own figures.
	DonePerS      float64 `json:"done_per_s,omitempty"`
	ResponseP99Ns Ns      `json:"response_p99_ns,omitempty"`
	Verdict       string  `json:"verdict,omitempty"`
	// Invalid is why the figures of a worker's part are invalid; empty if they are valid.
	Invalid []message.Message `json:"invalid,omitempty"`
}

// Worker is a process that ran a part of a load under a coordinator.
type Worker struct {
	Name string `json:"name"` // its number and its host
	// ClockOffsetNs is how far the coordinator's clock was ahead of the worker's, measured before the load.
	// ClockUncertaintyNs is the possible error of ClockOffsetNs in either direction.
	ClockOffsetNs      int64 `json:"clock_offset_ns"`
	ClockUncertaintyNs int64 `json:"clock_uncertainty_ns"`
	StartLateNs        int64 `json:"start_late_ns"` // start of its load minus the agreed time, by its own clock
	// Passed is the number of operations of the whole load, of all workers, up to the end of this worker's load.
	Passed uint64 `json:"passed,omitempty"`
	// Unneeded is how many operations of closed phases the worker was allowed to send when these ended.
	Unneeded uint64 `json:"unneeded,omitempty"`
	// LostNs is when the worker was lost, since the start of the load; 0 if it wasn't. GivenNs is when other workers
	// took over its share; 0 if none did. Missing is the number of operations of its share that no worker sent; it is
	// approximate if the load ended early.
	LostNs  int64  `json:"lost_ns,omitempty"`
	GivenNs int64  `json:"given_ns,omitempty"`
	Missing uint64 `json:"missing,omitempty"`
	// Lost is why it was lost: how its process ended, what it reported, or how long nothing was heard of it.
	Lost message.Message `json:"lost,omitzero"`
	// MissingIterations is about how many iterations of a k6 script were in the share of a lost worker. How many it ended
	// isn't known.
	MissingIterations uint64 `json:"missing_iterations,omitempty"`
}

// Environment describes the machine that generated the load.
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

// Target is a server address and its figures.
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

// Phase is a part of the load and its figures.
type Phase struct {
	Name       string  `json:"name" merge:"same"`
	Kind       string  `json:"kind" merge:"same"`
	StartNs    int64   `json:"start_ns" merge:"sums"`
	DurationNs int64   `json:"duration_ns" merge:"sums"`
	OwnNs      int64   `json:"own_ns,omitempty" merge:"sums"`      // without nested phases; 0: there were none
	ScheduleNs int64   `json:"schedule_ns,omitempty" merge:"most"` // planned duration of sending; 0: unknown
	RateFrom   float64 `json:"rate_from_per_s,omitempty" merge:"first"`
	RateTo     float64 `json:"rate_to_per_s,omitempty" merge:"first"`
	Arrivals   string  `json:"arrivals,omitempty" merge:"first"`
	Sessions   int     `json:"sessions" merge:"sum"`
	WarmUp     bool    `json:"warm_up,omitempty" merge:"same"`
	Limit      uint64  `json:"limit,omitempty" merge:"first"` // most operations; 0 means no limit
	Offered    uint64  `json:"offered,omitempty" merge:"sums"`
	Overdue    uint64  `json:"overdue,omitempty" merge:"sums"` // arrivals not sent yet when the schedule ended
	Done       uint64  `json:"done" merge:"sums"`
	Errors     uint64  `json:"errors" merge:"sums"`
	Unsent     uint64  `json:"unsent,omitempty" merge:"sums"`
	Unfinished uint64  `json:"unfinished,omitempty" merge:"sums"`
	Aborted    uint64  `json:"aborted,omitempty" merge:"sums"` // sessions that gave up after a failure
	Response   Latency `json:"response" merge:"sums"`
	RateWithin *Bounds `json:"rate_within,omitempty" merge:"sums"` // of Done a second
	// Adaptive describes how the rate was controlled and the result; nil if the rate followed a schedule.
	Adaptive *Adaptive `json:"adaptive,omitempty" merge:"first"`
}

// AtLimit is the share of an adaptive phase's decisions at a limit above which the limit, not the goal, determined the
// load.
const AtLimit = 0.5

// Adaptive describes a load whose rate was controlled while it ran. The decisions are in intervals.ndjson, as
// "control".
type Adaptive struct {
	Method    string  `json:"method"`         // see control.Methods
	Goal      string  `json:"goal,omitempty"` // the rule, or the controlled metric and its set point
	MinPerS   float64 `json:"min_rate_per_s"`
	MaxPerS   float64 `json:"max_rate_per_s"`
	Decisions int     `json:"decisions"`
	// SettledAfter is the number of decisions before the load settled. RatePerS is the mean of the rates after that,
	// Rate its confidence interval, and Spread their standard deviation divided by RatePerS.
	SettledAfter int     `json:"settled_after"`
	RatePerS     float64 `json:"rate_per_s"`
	Rate         *Bounds `json:"rate,omitempty"`
	Spread       float64 `json:"spread"`
	Settled      bool    `json:"settled"` // it settled in the first half of the phase and didn't oscillate afterwards
	// AtMost and AtLeast are the fractions of the rates after settling at which the upper or lower limit was binding.
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"`
	// NeverMet says that the figure was beyond its goal whenever it was known.
	NeverMet bool `json:"never_met,omitempty"`
}

// LengthNs returns how long the phase lasted, without the phases nested within it.
func (p *Phase) LengthNs() int64 {
	if p.OwnNs > 0 {
		return p.OwnNs
	}
	return p.DurationNs
}

// Counts are counts and their sums, so that readers needn't add them up.
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

// Latency is a distribution: its usual quantiles, and the whole histogram (HDR). Arrivals without a good answer count
// as infinite: quantiles that fall among them are null, and so is MaxNs if there are any. Count, MinNs, MeanNs and HDR
// cover only arrivals with a good answer.
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
	LongestNs Ns      `json:"longest_ns,omitempty"` // the greatest finite value if MaxNs is null
	HDR       string  `json:"hdr,omitempty"`        // HdrHistogram V2, compressed, base64
	Within    *Within `json:"within,omitempty"`     // confidence intervals within the run
}

// Operation is the totals of one operation.
type Operation struct {
	Name        string  `json:"name" merge:"same"`
	RatePerS    float64 `json:"rate_per_s" merge:"sums"` // successful operations a second
	RateWithin  *Bounds `json:"rate_within,omitempty" merge:"sums"`
	OfferedPerS float64 `json:"offered_per_s,omitempty" merge:"sums"`
	Offered     uint64  `json:"offered,omitempty" merge:"sums"` // arrivals that fell due; only of Run.Total
	Overdue     uint64  `json:"overdue,omitempty" merge:"sums"` // those not sent yet when the schedule ended
	Counts      `merge:"sums"`
	// Counters are the names of the counts in Script; none for operations that aren't scripts, and for totals.
	Counters         []string `json:"counters,omitempty" merge:"same"`
	Response         Latency  `json:"response,omitzero" merge:"sums"`    // of all arrivals
	ResponseOK       Latency  `json:"response_ok,omitzero" merge:"sums"` // of successes; its HDR is Response's
	WithoutGenerator Latency  `json:"unhindered,omitzero" merge:"sums"`  // Response without the generator's own lag
	Service          Latency  `json:"service,omitzero" merge:"sums"`
	Lag              Latency  `json:"lag,omitzero" merge:"sums"`
	FailedResponse   Latency  `json:"failed_response,omitzero" merge:"sums"`
	// StreamFirst and StreamBetween are of answers that were streams of messages: from the send to the first message,
	// and from each message to the next.
	StreamFirst   Latency `json:"stream_first,omitzero" merge:"sums"`
	StreamBetween Latency `json:"stream_between,omitzero" merge:"sums"`
	// StreamLag is of messages sent at an interval: from when one was due to when it was sent.
	StreamLag Latency `json:"stream_lag,omitzero" merge:"sums"`
	// Standstill is that of this operation alone, while others may have succeeded; absent if there was none.
	Standstill Standstill `json:"standstill,omitzero" merge:"sums"`
}

// Times returns the operation's distributions, in the order of measure.Declared.
func (o *Operation) Times() [measure.Distributions]*Latency {
	return [...]*Latency{&o.Response, &o.WithoutGenerator, &o.Service, &o.Lag, &o.FailedResponse, &o.StreamFirst,
		&o.StreamBetween, &o.StreamLag}
}

// Threshold is a rule and its result.
type Threshold struct {
	Text    string  `json:"text"`
	Pass    bool    `json:"pass"`
	Value   Figure  `json:"value"`
	Unit    string  `json:"unit"` // "ns", "fraction", "per_s", "count"
	Limit   float64 `json:"limit"`
	Aborted bool    `json:"aborted,omitempty"`
	// Windowed says that the rule applies to windows: Value is that of the worst one, BrokenNs the time of all that
	// broke it.
	Windowed bool  `json:"windowed,omitempty"`
	BrokenNs int64 `json:"broken_ns,omitempty"`
	// Aggregate describes how the value of a k6 threshold was computed; nil for rules of plans.
	Aggregate *Aggregate `json:"aggregate,omitempty"`
}

// AbortRule is a k6 threshold that may end the load, with its value in one process while the load runs.
type AbortRule struct {
	Threshold
	DelayNs int64 `json:"delay_ns,omitempty"` // after the load's start it doesn't end the load before this
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
	RunQueueNs        int64   `json:"run_queue_ns"` // time that all threads waited for a core
	// time that a thread that wakes up 100 times a second waited for a core
	WakeWaitNs int64 `json:"wake_wait_ns,omitempty"`
	GCCPUNs    int64 `json:"gc_cpu_ns,omitempty"` // processor time of the garbage collector
	// total time that the process was stopped, in periods too short for PausedNs
	HeldNs         int64   `json:"held_ns,omitempty"`
	LoopRunQueueNs int64   `json:"loop_run_queue_ns"` // part of RunQueueNs that event loops' threads waited
	StealNs        int64   `json:"steal_ns"`          // time taken by the hypervisor, summed over allowed cores
	OthersCPUMean  float64 `json:"others_cpu_mean"`   // cores, of those allowed, used by other processes
	// VoluntarySwitches and InvoluntarySwitches are context switches of the process's threads; see measure.Health.
	VoluntarySwitches   uint64 `json:"voluntary_switches"`
	InvoluntarySwitches uint64 `json:"involuntary_switches"`
	GCPauseNsMax        int64  `json:"gc_pause_ns_max"`
	GCCycles            uint32 `json:"gc_cycles"`
	SendStalls          uint64 `json:"send_stalls"`
	RSSBytesMax         uint64 `json:"rss_bytes_max"`
	PausedNs            int64  `json:"paused_ns"`
	// OwnLagP99Ns is the generator's own part of the lag in open loads (see measure.Interval): the 99th percentile, or
	// the third largest value of fewer than 300. OwnLagCount is the number of values.
	OwnLagP99Ns   int64   `json:"own_lag_p99_ns"`
	OwnLagMeanNs  float64 `json:"own_lag_mean_ns"`
	OwnLagCount   uint64  `json:"own_lag_count"`
	LoopFullNs    int64   `json:"loop_full_ns"`    // time with the busiest loop above 95 %
	SaturatedNs   int64   `json:"saturated_ns"`    // time with a backlog while all sessions were busy
	IdleBacklogNs int64   `json:"idle_backlog_ns"` // time with a backlog while sessions were free
	BacklogMax    uint64  `json:"backlog_max"`
	InFlightMean  float64 `json:"in_flight_mean"` // requests in flight, by Little's law
	SessionsMean  float64 `json:"sessions_mean"`  // connected, over the time of the load
	// WaitingOwnShare applies to the time in which arrivals waited. It is the generator's own lag divided by the sum of
	// that lag and the time of the requests: the degree to which the generator kept sessions from working.
	WaitingOwnShare float64 `json:"waiting_own_share"`
	// The turnaround is the time from a response to the session's next send in closed loads, without think time.
	// TurnaroundShare is its fraction of the sessions' time.
	TurnaroundMeanNs float64 `json:"turnaround_mean_ns,omitempty"`
	TurnaroundShare  float64 `json:"turnaround_share,omitempty"`
	CeilingPerS      float64 `json:"ceiling_per_s,omitempty"` // this machine's measured maximum
}

// Awake describes what was done to help the generator's machine keep the schedule; see package awake.
type Awake struct {
	Mode          string `json:"mode"`                     // "auto", "on" or "off"
	Threads       int    `json:"threads"`                  // idle-priority threads that kept a core from sleeping
	ThreadsReason string `json:"threads_reason,omitempty"` // why there were none
	CPUNs         int64  `json:"cpu_ns,omitempty"`         // CPU time of these threads, which no other figure includes
	DMALatency    bool   `json:"cpu_dma_latency"`          // /dev/cpu_dma_latency was held at 0
	Nice          int    `json:"nice"`                     // of the generator's threads
	NiceReason    string `json:"nice_reason,omitempty"`    // why it was left at 0
}

// Verdict says whether the result is valid, and whether it passed.
type Verdict struct {
	Result  string            `json:"result"` // "pass", "fail" or "invalid"
	Reasons []message.Message `json:"reasons,omitempty"`
	// AddedP50Ns and AddedP99Ns are what the generator's own lag added to the median and the 99th percentile (the third
	// longest of fewer than 300) of response times in open loads.
	AddedP50Ns Ns `json:"added_p50_ns,omitempty"`
	AddedP99Ns Ns `json:"added_p99_ns,omitempty"`
	// LateAlone says that the only reason for an invalid result is that the generator sent late, which makes response
	// times longer.
	LateAlone bool `json:"late_alone,omitempty"`
}

// Texts returns the reasons in English.
func (v *Verdict) Texts() []string { return message.Strings("", v.Reasons) }

// Warning is something that the reader must know. ID is stable across versions.
type Warning struct {
	ID     string          `json:"id"`
	Text   message.Message `json:"text"`
	Remedy message.Message `json:"remedy,omitzero"`
}

// NewWarning returns the warning with an id. Its text is the message id and its remedy is the message id.remedy, both
// with the arguments args.
func NewWarning(id string, args ...message.Arg) Warning {
	return Warning{ID: id, Text: message.New(id, args...), Remedy: message.New(id+".remedy", args...)}
}

// Notice returns a warning that needs no action.
func Notice(id string, args ...message.Arg) Warning {
	return Warning{ID: id, Text: message.New(id, args...)}
}

// Equal reports whether two warnings are equal.
func (w Warning) Equal(o Warning) bool {
	return w.ID == o.ID && w.Text.Equal(o.Text) && w.Remedy.Equal(o.Remedy)
}

// Setup is what was prepared before the load.
type Setup struct {
	DurationNs int64   `json:"duration_ns" merge:"most"`
	Tables     []Table `json:"tables" merge:"distinct"`
}

// Table is a table that was filled, with a checksum of its content.
type Table struct {
	Name      string  `json:"name"`
	Rows      uint64  `json:"rows"`
	RowsPerS  float64 `json:"rows_per_s"`
	Checksum  string  `json:"checksum,omitempty"`
	ElapsedNs int64   `json:"elapsed_ns"`
}

// Event is something that was done or decided while the load ran.
type Event = measure.Event

// TableUse describes one of the plan's tables at the start of the run.
type TableUse struct {
	Name string `json:"name" merge:"same"`
	// Origin is "run" if this run filled the table, "brunt" if an earlier command did, "" if unknown.
	Origin string  `json:"origin,omitempty" merge:"most"`
	Rows   uint64  `json:"rows" merge:"least"`           // number before the load
	Seed   *uint64 `json:"seed,omitempty" merge:"first"` // seed of its rows; absent if unknown
	// Differs says why the rows differ from those that the plan's references expect; "" if they don't, or if that is
	// unknown.
	Differs message.Message `json:"differs,omitzero" merge:"first"`
}

// Sequence says where the keys that a run inserted begin.
type Sequence struct {
	Table    string `json:"table"`
	Column   string `json:"column"`
	Greatest *int64 `json:"greatest,omitempty"` // greatest value of the column before the load; absent if none
	First    int64  `json:"first"`              // the run's first value
	// Rows is the number of rows that the table held beyond the plan's; absent for numeric keys. UUIDs differ between
	// runs that found different numbers.
	Rows *uint64 `json:"rows,omitempty"`
}

// OnLoops reports whether event loops drove the sessions, that is, the codec tier.
func (r *Run) OnLoops() bool { return r.Tier == "codec" }

// Described returns a copy of the run for writing: with the templates of its texts in Messages.
func (r *Run) Described() *Run {
	out := *r
	out.Messages = nil
	out.Messages = message.TableOf(&out)
	return &out
}
