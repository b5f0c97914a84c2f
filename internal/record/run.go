// Package record is the run bundle on disk: crash-safe append while running, reading back, and
// lossless merging.
//
// A bundle is a folder: plan.yml (the resolved plan, secrets replaced), run.json (this file's
// Run), intervals.ndjson (one Interval a line, flushed as it ends), errors.ndjson (the first
// samples of each class) and observe/ (what else was watched).
package record

import "time"

// SchemaVersion is the version of run.json and intervals.ndjson that this package writes.
const SchemaVersion = 2

// Run is run.json.
type Run struct {
	Schema      int            `json:"schema"`
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Brunt       string         `json:"brunt"` // version of the program
	Command     []string       `json:"command"`
	Started     time.Time      `json:"started"`
	Ended       time.Time      `json:"ended"` // zero while running or after a kill
	Complete    bool           `json:"complete"`
	Interrupted bool           `json:"interrupted"`
	Aborted     string         `json:"aborted,omitempty"` // why the run stopped itself
	Seed        uint64         `json:"seed"`
	LoadModel   string         `json:"load_model"` // "open", "closed" or "mixed"
	Tier        string         `json:"tier"`       // "codec" or "library"
	TierReason  string         `json:"tier_reason,omitempty"`
	Timing      string         `json:"timing,omitempty"` // how sends and receipts were timed
	Sessions    int            `json:"sessions"`
	Pipeline    int            `json:"pipeline,omitempty"`  // requests in flight that a session may have; 1 if absent
	ToleranceNs int64          `json:"timing_tolerance_ns"` // how late a send may be, to be sent with others
	Spin        bool           `json:"spin,omitempty"`      // loops spin before an intended start instead of sleeping
	IntervalNs  int64          `json:"interval_ns"`
	DurationNs  int64          `json:"duration_ns"`         // of load, warm-up excluded
	Stride      uint64         `json:"stride,omitempty"`    // this machine's part of the operations: those number Offset, Offset + Stride, …
	Offset      uint64         `json:"offset,omitempty"`    //
	Cut         string         `json:"cut,omitempty"`       // the load's unequal parts, as k6 writes a sequence of segments; this is part Offset of Stride
	PlanHash    string         `json:"plan_hash,omitempty"` // of plan.yml without its remarks: SHA-256, hexadecimal
	Environment Environment    `json:"environment"`
	Targets     []Target       `json:"targets"`
	Phases      []Phase        `json:"phases"`
	Operations  []Operation    `json:"operations"`
	Total       Operation      `json:"total"`
	Thresholds  []Threshold    `json:"thresholds,omitempty"`
	Health      Health         `json:"health"`
	Standstill  Standstill     `json:"standstill"`         // of the server, as far as it can be seen
	Failures    []FailureCount `json:"failures,omitempty"` // failed attempts by class and code
	Verdict     Verdict        `json:"verdict"`
	Warnings    []Warning      `json:"warnings,omitempty"`
	Events      []Event        `json:"events,omitempty"`        // what was done or decided meanwhile
	Hints       []Hint         `json:"hints,omitempty"`         // changes seen while running, the first MaxHints
	HintsMore   uint64         `json:"hints_omitted,omitempty"` // how many came after them
	Setup       *Setup         `json:"setup,omitempty"`
	Tables      []TableUse     `json:"tables,omitempty"`    // of the plan, as found or made
	Sequences   []Sequence     `json:"sequences,omitempty"` // that began after what their columns held
	Awake       *Awake         `json:"awake,omitempty"`
	Watched     []Watched      `json:"watched,omitempty"` // what else happened
	Iterations  *Iterations    `json:"iterations,omitempty"`
	Inspections []Inspection   `json:"inspections,omitempty"`
	// Flags are what sets things in the command in use, for advice: "sessions", "rate", "loops",
	// "threshold", "awake", and "engine", what drives a load with less of this machine. What it has nothing for is left out.
	Flags map[string]string `json:"flags,omitempty"`
	Extra map[string]string `json:"extra,omitempty"` // what a dialect wants kept
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
	Address    string            `json:"address"`
	Protocol   string            `json:"protocol"`
	Product    string            `json:"product,omitempty"`
	Version    string            `json:"version,omitempty"`
	Settings   map[string]string `json:"settings,omitempty"`
	Counts     Counts            `json:"counts"`
	Service    Latency           `json:"service"`
	Reconnects uint64            `json:"reconnects"`
	RateWithin *Bounds           `json:"rate_within,omitempty"` // of successes a second
}

// Phase is a part of the load as it went.
type Phase struct {
	Name       string  `json:"name"`
	Kind       string  `json:"kind"`
	StartNs    int64   `json:"start_ns"`
	DurationNs int64   `json:"duration_ns"`
	ScheduleNs int64   `json:"schedule_ns,omitempty"` // how long arrivals were to fall due; 0 if that isn't known before
	RateFrom   float64 `json:"rate_from_per_s,omitempty"`
	RateTo     float64 `json:"rate_to_per_s,omitempty"`
	Arrivals   string  `json:"arrivals,omitempty"`
	Sessions   int     `json:"sessions"`
	WarmUp     bool    `json:"warm_up,omitempty"`
	Limit      uint64  `json:"limit,omitempty"` // ended after so many operations, if not before; 0 means no limit
	Offered    uint64  `json:"offered,omitempty"`
	Overdue    uint64  `json:"overdue,omitempty"` // of these, not sent yet when the schedule ended
	Done       uint64  `json:"done"`
	Errors     uint64  `json:"errors"`
	Unsent     uint64  `json:"unsent,omitempty"`
	Unfinished uint64  `json:"unfinished,omitempty"`
	Response   Latency `json:"response"`
	RateWithin *Bounds `json:"rate_within,omitempty"` // of Done a second
}

// Counts are plain numbers; see measure.Counts.
type Counts struct {
	Done     uint64            `json:"done"`
	OK       uint64            `json:"ok"`
	Failed   uint64            `json:"failed"`
	Errors   map[string]uint64 `json:"errors,omitempty"` // by class
	Attempts uint64            `json:"attempts"`
	Retries  uint64            `json:"retries"`
	Dropped  uint64            `json:"dropped"`          // arrivals given up without being sent
	Unsent   map[string]uint64 `json:"unsent,omitempty"` // of these, by why: see measure.Unsent
	// Unfinished ones were sent, and in flight when the load was cut off.
	Unfinished     uint64            `json:"unfinished,omitempty"`
	Late           uint64            `json:"late"`
	Missing        uint64            `json:"missing,omitempty"` // reads that found nothing
	MissingUpdates uint64            `json:"missing_updates,omitempty"`
	MissingDeletes uint64            `json:"missing_deletes,omitempty"`
	BadHash        uint64            `json:"bad_hash,omitempty"`
	BytesIn        uint64            `json:"bytes_in,omitempty"`
	Status         map[string]uint64 `json:"status,omitempty"` // "2xx": n
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
	Name        string  `json:"name"`
	RatePerS    float64 `json:"rate_per_s"` // successful operations a second
	RateWithin  *Bounds `json:"rate_within,omitempty"`
	OfferedPerS float64 `json:"offered_per_s,omitempty"`
	Offered     uint64  `json:"offered,omitempty"` // arrivals of open phases that fell due; of Run.Total only
	Overdue     uint64  `json:"overdue,omitempty"` // of these, not sent yet when their schedule ended
	Counts
	Response       Latency `json:"response,omitzero"`    // of all arrivals
	ResponseOK     Latency `json:"response_ok,omitzero"` // of successful ones only; without hdr, which is Response's
	Unhindered     Latency `json:"unhindered,omitzero"`  // Response without the generator's own lag
	Service        Latency `json:"service,omitzero"`
	Lag            Latency `json:"lag,omitzero"`
	FailedResponse Latency `json:"failed_response,omitzero"`
}

// Threshold is a rule and what came of it.
type Threshold struct {
	Text    string  `json:"text"`
	Pass    bool    `json:"pass"`
	Value   Figure  `json:"value"`
	Unit    string  `json:"unit"` // "ns", "fraction", "per_s", "count"
	Limit   float64 `json:"limit"`
	Aborted bool    `json:"aborted,omitempty"`
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
	RunQueueNs        int64   `json:"run_queue_ns"`           // what all threads waited for a core
	WakeWaitNs        int64   `json:"wake_wait_ns,omitempty"` // what a thread that wakes 100 times a second waited for a core
	GCCPUNs           int64   `json:"gc_cpu_ns,omitempty"`    // processor time of the garbage collector
	HeldNs            int64   `json:"held_ns,omitempty"`      // it was stopped for so long in all, in stretches too short for PausedNs
	LoopRunQueueNs    int64   `json:"loop_run_queue_ns"`      // of that, the event loops' threads
	StealNs           int64   `json:"steal_ns"`               // taken by the hypervisor, summed over the cores allowed
	OthersCPUMean     float64 `json:"others_cpu_mean"`        // cores, of those allowed, that other processes had
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
	Result  string   `json:"result"` // "pass", "fail" or "invalid"
	Reasons []string `json:"reasons,omitempty"`
	// AddedP50Ns and AddedP99Ns are what the generator's own lag added to the median and the 99th
	// percentile (the third longest of fewer than 300) of response times in open loads.
	AddedP50Ns Ns `json:"added_p50_ns,omitempty"`
	AddedP99Ns Ns `json:"added_p99_ns,omitempty"`
	// LateAlone says of an invalid result that the generator sent late, which makes response times longer, and
	// that nothing else speaks against it.
	LateAlone bool `json:"late_alone,omitempty"`
}

// Warning is something that the reader must know. ID is stable.
type Warning struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Setup is what was done before the load.
type Setup struct {
	DurationNs int64   `json:"duration_ns"`
	Tables     []Table `json:"tables"`
}

// Table is a table that was filled, with its proof.
type Table struct {
	Name      string  `json:"name"`
	Rows      uint64  `json:"rows"`
	RowsPerS  float64 `json:"rows_per_s"`
	Checksum  string  `json:"checksum,omitempty"`
	ElapsedNs int64   `json:"elapsed_ns"`
}

// Event is something that was done or decided while the load ran; see measure.Event.
type Event struct {
	AtNs int64  `json:"at_ns"` // since the run's start
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// TableUse is one of the plan's tables as the run found or made it.
type TableUse struct {
	Name string `json:"name"`
	// Origin is "run" if this run filled it, "brunt" if an earlier command did, "" if nobody
	// knows.
	Origin string  `json:"origin,omitempty"`
	Rows   uint64  `json:"rows"`           // that it held before the load
	Seed   *uint64 `json:"seed,omitempty"` // of its rows; absent if nobody knows
	// Differs says why the rows aren't those that the plan's references are made for; "" if they
	// are, or nobody knows.
	Differs string `json:"differs,omitempty"`
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
