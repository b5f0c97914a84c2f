package record

import "brunt/internal/render/message"

// Inspection is what the statistics of one server show about a run: counters between the beginning and the end of the
// load, what sessions waited for, the plans of the statements that took most time, and findings drawn from them.
type Inspection struct {
	Source  string `json:"source"` // as given by the user, without secrets: "pg 127.0.0.1:5432/shop"
	Product string `json:"product"`
	Version string `json:"version"`
	// Counts is what its statements are, if they aren't of SQL: CountsCommands or CountsMethods.
	Counts   string         `json:"counts,omitempty"`
	File     string         `json:"file,omitempty"` // in the bundle: all data, nothing left out
	Windows  []ServerWindow `json:"windows,omitempty"`
	Activity ServerActivity `json:"activity"`
	Settings []Setting      `json:"settings,omitempty"` // settings that differ from the server's defaults
	Plans    []QueryPlan    `json:"plans,omitempty"`    // plans of the statements that took most time
	Findings []Finding      `json:"findings,omitempty"` // most severe first
	Missing  []Warning      `json:"missing,omitempty"`  // what couldn't be read, and what to enable
	// ServerTimes are the times of operations in the server, as far as it lets them be known.
	ServerTimes []OperationTime `json:"server_times,omitempty"`
	// RoundTripNs is the shortest round trip of an empty request of the inspector before the load: what the network and
	// the kernels take at least, seen from the machine that inspects; 0 if it isn't known.
	RoundTripNs float64        `json:"round_trip_ns,omitempty"`
	Cost        InspectionCost `json:"cost"`
}

// What servers count that don't execute SQL.
const (
	CountsCommands = "commands" // of Redis
	CountsMethods  = "methods"  // of gRPC
)

// SeesWork reports whether the server says what its sessions are doing. Redis only says that they are there.
func (in *Inspection) SeesWork() bool { return in.Counts == "" }

// ServerWindow is what a server's statistics counted during a part of the run. The first window of an Inspection has no
// phase and covers the load without its warm-up. If there are several phases, a window for each of them follows.
type ServerWindow struct {
	Phase      string      `json:"phase,omitempty"`
	WarmUp     bool        `json:"warm_up,omitempty"`
	DurationNs int64       `json:"duration_ns"`
	Statements []Statement `json:"statements,omitempty"` // most time first
	Omitted    int         `json:"statements_omitted,omitempty"`
	Counters   []Counters  `json:"counters,omitempty"`
}

// Statement is a normalised statement and the statistics of its executions in a window.
type Statement struct {
	ID         string   `json:"id"` // the server's own identifier
	Text       string   `json:"text"`
	Operations []string `json:"operations,omitempty"` // operations of the plan that caused it
	Match      string   `json:"match,omitempty"`      // how the operations were determined: MatchText or MatchCount
	Calls      float64  `json:"calls"`
	Rows       float64  `json:"rows"`
	TotalNs    float64  `json:"total_ns"`
	MeanNs     float64  `json:"mean_ns"`
	StddevNs   float64  `json:"stddev_ns"`
	Share      float64  `json:"share"` // fraction of the time of all statements in the window
	// further counters by the server's names: blocks, temporary files, WAL, planning
	More map[string]float64 `json:"more,omitempty"`
}

// How the operations that caused a statement were determined.
const (
	MatchText  = "text"  // the operation's statement reads the same
	MatchCount = "count" // it was executed as often as the operation was done
)

// Counters are the statistics of one object of the server. Cumulative counters are given as their increase during the
// window, gauges as their value at its end.
type Counters struct {
	Kind   string             `json:"kind"` // "database", "table", "index", "wal", "bgwriter", "checkpointer", "io"
	Name   string             `json:"name"`
	Values map[string]float64 `json:"values"` // by the server's names
}

// ServerActivity summarises samples of what client sessions were doing.
type ServerActivity struct {
	Samples  int             `json:"samples"`
	PeriodNs int64           `json:"period_ns"`         // mean time between samples
	Waits    []Wait          `json:"waits,omitempty"`   // of active sessions, most frequent first
	Clients  []ClientPool    `json:"clients,omitempty"` // most connections first
	Blocked  []Blocking      `json:"blocked,omitempty"` // most samples first
	AtOnce   []AtOnce        `json:"at_once,omitempty"` // long statements that ran several times at once
	Points   []ActivityPoint `json:"points,omitempty"`  // over time, at most 600
	Replicas []ReplicaLag    `json:"replicas,omitempty"`
	// ReplicaHosts are addresses, without ports, from which replicas are connected whose lag isn't known.
	ReplicaHosts []string `json:"replica_hosts,omitempty"`
	LongestXact  int64    `json:"longest_transaction_ns,omitempty"` // age of the oldest open transaction seen
}

// Wait is a wait event of active sessions. Class "CPU" means that they didn't wait.
type Wait struct {
	Class string  `json:"class"`
	Event string  `json:"event,omitempty"`
	Mean  float64 `json:"mean"`  // mean number of sessions
	Share float64 `json:"share"` // fraction of the active sessions
}

// ClientPool is the set of connections of one application from one address.
type ClientPool struct {
	Application string  `json:"application"`
	Address     string  `json:"address,omitempty"` // "" for local sockets
	Mean        float64 `json:"mean"`
	Max         int     `json:"max"`
	ActiveMean  float64 `json:"active_mean"`
	AllActive   float64 `json:"all_active_share"`                  // fraction of the time in which all of them were active
	AllBusy     float64 `json:"all_busy_share,omitempty"`          // the same, or idle in a transaction
	InXact      float64 `json:"idle_in_transaction_mean"`          // mean number of connections idle in a transaction
	Generator   bool    `json:"generator,omitempty"`               // brunt's own sessions
	LongestIdle int64   `json:"longest_idle_in_xact_ns,omitempty"` // longest time idle in a transaction
}

// AtOnce is a long statement that several sessions executed at the same time.
type AtOnce struct {
	Text      string  `json:"text"`
	Max       int     `json:"max"`     // sessions that executed it at once
	Samples   int     `json:"samples"` // in which several did
	Share     float64 `json:"share"`   // of the time
	LongestNs int64   `json:"longest_ns"`
}

// Blocking is a pair of statements of which one waited for a lock that the other held.
type Blocking struct {
	Waiting     string  `json:"waiting"`
	Holder      string  `json:"holder"`
	HolderState string  `json:"holder_state"` // "active", "idle in transaction" …
	Relation    string  `json:"relation,omitempty"`
	Lock        string  `json:"lock"` // kind of lock and mode
	Mean        float64 `json:"mean"` // mean number of sessions that waited for it
	LongestNs   int64   `json:"longest_ns"`
}

// ActivityPoint is the mean number of active sessions by wait class over a part of the run.
type ActivityPoint struct {
	AtNs    int64              `json:"at_ns"` // since the run's start
	Samples int                `json:"samples"`
	Classes map[string]float64 `json:"classes"`
}

// ReplicaLag is the worst lag seen of one replica, as reported by its primary.
type ReplicaLag struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	BytesMax float64 `json:"bytes_max"` // bytes of WAL that the replica hasn't applied yet
	LagNsMax int64   `json:"lag_ns_max"`
	Address  string  `json:"address,omitempty"` // from which it is connected, without a port
}

// Setting is a setting of a server.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

// QueryPlan is the server's execution plan of a statement.
type QueryPlan struct {
	Statement  string          `json:"statement"` // Statement.ID; "" if the server keeps no statistics
	Operations []string        `json:"operations,omitempty"`
	Text       string          `json:"text"`
	Arguments  []string        `json:"arguments,omitempty"`
	Source     string          `json:"source"`   // where the arguments come from: see the Arguments… constants
	Analyzed   bool            `json:"analyzed"` // it was executed; otherwise the figures are the planner's estimates
	RolledBack bool            `json:"rolled_back,omitempty"`
	TotalNs    float64         `json:"total_ns,omitempty"`
	Nodes      []PlanNode      `json:"nodes"`            // parents before children
	Note       message.Message `json:"note,omitzero"`    // why it wasn't executed although it only reads
	Failed     string          `json:"failed,omitempty"` // why there is no plan
}

// Where the arguments of an explained statement come from.
const (
	ArgumentsWorkload = "workload" // what the load itself sends
	ArgumentsTable    = "table"    // values of an existing row
	ArgumentsNone     = "none"     // no arguments, or the plan is generic
)

// PlanNode is a step of a plan. Rows and times are totals over all its loops.
type PlanNode struct {
	Depth    int             `json:"depth"`
	Text     string          `json:"text"` // "Seq Scan on book"
	Detail   string          `json:"detail,omitempty"`
	Estimate float64         `json:"estimate_rows"`
	Rows     float64         `json:"rows"`    // only of executed plans
	Removed  float64         `json:"removed"` // rows read and discarded by the filter
	TotalNs  float64         `json:"total_ns"`
	Cost     float64         `json:"cost"`
	Note     message.Message `json:"note,omitzero"` // the problem of this step, if any
}

// The severities of findings.
const (
	Critical = "critical" // limits the server's capacity
	Serious  = "warning"  // costs time or will do so
	Minor    = "hint"     // worth knowing
)

// Finding is something about a server that can be improved. ID is stable across versions.
type Finding struct {
	ID        string          `json:"id"`
	Severity  string          `json:"severity"`
	Subject   string          `json:"subject"` // a table, an index, a statement
	Evidence  message.Message `json:"evidence"`
	Advice    message.Message `json:"advice"`
	Statement string          `json:"statement,omitempty"` // Statement.ID
	Share     float64         `json:"share,omitempty"`     // fraction of the server's time that it concerns
	Effect    float64         `json:"effect,omitempty"`    // fraction of its operation's response time, if that is known
	// Blames is TimeDisk if it blames the disk only because writing took long; otherwise "".
	Blames string `json:"-"`
}

// InspectionCost is what querying the server cost.
type InspectionCost struct {
	Queries int   `json:"queries"`
	TimeNs  int64 `json:"time_ns"` // time spent in queries during the load, seen by the client, without WaitNs
	// WaitNs is what queries took beyond three times the shortest of their kind: they waited for a busy server.
	WaitNs   int64   `json:"wait_ns,omitempty"`
	Share    float64 `json:"share"` // TimeNs ÷ duration of the load: an upper bound of the share of one core
	AfterNs  int64   `json:"after_ns"`
	Skipped  int     `json:"skipped,omitempty"` // samples left out to limit the cost
	PeriodNs int64   `json:"period_ns"`
}
