package record

import "brunt/internal/message"

// Inspection is what one server said of itself over a run: what its own statistics counted between the
// beginning and the end of the load, what its sessions waited for, how it executes the statements that
// took most of its time, and what follows from that.
type Inspection struct {
	Source   string         `json:"source"` // as asked for, without secrets: "pg 127.0.0.1:5432/shop"
	Product  string         `json:"product"`
	Version  string         `json:"version"`
	File     string         `json:"file,omitempty"` // in the bundle: everything, nothing left out
	Windows  []ServerWindow `json:"windows,omitempty"`
	Activity ServerActivity `json:"activity"`
	Settings []Setting      `json:"settings,omitempty"` // those that differ from the server's defaults
	Plans    []QueryPlan    `json:"plans,omitempty"`    // of the statements that took most time
	Findings []Finding      `json:"findings,omitempty"` // the gravest first
	Missing  []Warning      `json:"missing,omitempty"`  // what couldn't be had, and what to enable
	Cost     InspectionCost `json:"cost"`
}

// ServerWindow is what a server's statistics counted over a part of the run. The first window of an
// Inspection, without a phase, is the load without its warm-up; one for each phase follows if there are
// several.
type ServerWindow struct {
	Phase      string      `json:"phase,omitempty"`
	WarmUp     bool        `json:"warm_up,omitempty"`
	DurationNs int64       `json:"duration_ns"`
	Statements []Statement `json:"statements,omitempty"` // most time first
	Omitted    int         `json:"statements_omitted,omitempty"`
	Counters   []Counters  `json:"counters,omitempty"`
}

// Statement is one normalised statement and what its executions came to in a window.
type Statement struct {
	ID         string   `json:"id"` // the server's own
	Text       string   `json:"text"`
	Operations []string `json:"operations,omitempty"` // of the plan, that caused it
	Match      string   `json:"match,omitempty"`      // how that is known: MatchText or MatchCount
	Calls      float64  `json:"calls"`
	Rows       float64  `json:"rows"`
	TotalNs    float64  `json:"total_ns"`
	MeanNs     float64  `json:"mean_ns"`
	StddevNs   float64  `json:"stddev_ns"`
	Share      float64  `json:"share"` // of the time of all statements in the window
	// further counters by the server's names: blocks, temporary files, WAL, planning
	More map[string]float64 `json:"more,omitempty"`
}

// How it is known which operations caused a statement.
const (
	MatchText  = "text"  // the operation's statement reads the same
	MatchCount = "count" // it was executed just as often as the operation was done
)

// Counters are the figures of one object of the server. Counters are what they grew by in the window,
// gauges what they were at its end.
type Counters struct {
	Kind   string             `json:"kind"` // "database", "table", "index", "wal", "bgwriter", "checkpointer", "io"
	Name   string             `json:"name"`
	Values map[string]float64 `json:"values"` // by the server's names
}

// ServerActivity is what sessions of clients were seen doing, by samples.
type ServerActivity struct {
	Samples     int             `json:"samples"`
	PeriodNs    int64           `json:"period_ns"`         // mean time between samples
	Waits       []Wait          `json:"waits,omitempty"`   // of active sessions, most first
	Clients     []ClientPool    `json:"clients,omitempty"` // most connections first
	Blocked     []Blocking      `json:"blocked,omitempty"` // most samples first
	Points      []ActivityPoint `json:"points,omitempty"`  // over time, at most 600
	Replicas    []ReplicaLag    `json:"replicas,omitempty"`
	LongestXact int64           `json:"longest_transaction_ns,omitempty"` // oldest open transaction seen
}

// Wait is what active sessions waited for: Class "CPU" means that they waited for nothing.
type Wait struct {
	Class string  `json:"class"`
	Event string  `json:"event,omitempty"`
	Mean  float64 `json:"mean"`  // sessions at a time
	Share float64 `json:"share"` // of the active ones
}

// ClientPool is the connections of one application from one address.
type ClientPool struct {
	Application string  `json:"application"`
	Address     string  `json:"address,omitempty"` // "" for local sockets
	Mean        float64 `json:"mean"`
	Max         int     `json:"max"`
	ActiveMean  float64 `json:"active_mean"`
	AllActive   float64 `json:"all_active_share"`                  // of the samples in which every one of them was active
	InXact      float64 `json:"idle_in_transaction_mean"`          // connections idle within a transaction
	Generator   bool    `json:"generator,omitempty"`               // brunt's own sessions
	LongestIdle int64   `json:"longest_idle_in_xact_ns,omitempty"` // idle within a transaction
}

// Blocking is a pair of statements of which one waited for locks that the other held.
type Blocking struct {
	Waiting     string  `json:"waiting"`
	Holder      string  `json:"holder"`
	HolderState string  `json:"holder_state"` // "active", "idle in transaction" …
	Relation    string  `json:"relation,omitempty"`
	Lock        string  `json:"lock"` // kind of lock and mode
	Mean        float64 `json:"mean"` // sessions that waited so, at a time
	LongestNs   int64   `json:"longest_ns"`
}

// ActivityPoint is the mean number of active sessions by class of wait over a stretch of the run.
type ActivityPoint struct {
	AtNs    int64              `json:"at_ns"` // since the run's start
	Samples int                `json:"samples"`
	Classes map[string]float64 `json:"classes"`
}

// ReplicaLag is the worst that was seen of one replica, as its primary knows it.
type ReplicaLag struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	BytesMax float64 `json:"bytes_max"` // of WAL not applied there yet
	LagNsMax int64   `json:"lag_ns_max"`
}

// Setting is a setting of a server.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

// QueryPlan is how the server executes a statement.
type QueryPlan struct {
	Statement  string          `json:"statement"` // Statement.ID; "" if the server keeps no statistics
	Operations []string        `json:"operations,omitempty"`
	Text       string          `json:"text"`
	Arguments  []string        `json:"arguments,omitempty"`
	Source     string          `json:"source"`   // of the arguments: see the Arguments… constants
	Analyzed   bool            `json:"analyzed"` // executed; otherwise the figures are the planner's
	RolledBack bool            `json:"rolled_back,omitempty"`
	TotalNs    float64         `json:"total_ns,omitempty"`
	Nodes      []PlanNode      `json:"nodes"`            // parents before children
	Note       message.Message `json:"note,omitzero"`    // why it wasn't executed, though it reads
	Failed     string          `json:"failed,omitempty"` // why there is no plan
}

// Where the arguments of an explained statement come from.
const (
	ArgumentsWorkload = "workload" // what the load itself sends
	ArgumentsTable    = "table"    // a row that is there
	ArgumentsNone     = "none"     // it has none, or the plan is for any
)

// PlanNode is a step of a plan. Rows and times are of all its loops together.
type PlanNode struct {
	Depth    int             `json:"depth"`
	Text     string          `json:"text"` // "Seq Scan on book"
	Detail   string          `json:"detail,omitempty"`
	Estimate float64         `json:"estimate_rows"`
	Rows     float64         `json:"rows"`    // of an executed plan
	Removed  float64         `json:"removed"` // read and discarded by the filter
	TotalNs  float64         `json:"total_ns"`
	Cost     float64         `json:"cost"`
	Note     message.Message `json:"note,omitzero"` // what is wrong with it
}

// The severities of findings.
const (
	Critical = "critical" // it bounds what the server can take
	Serious  = "warning"  // it costs time or will
	Minor    = "hint"     // worth knowing
)

// Finding is something about a server that can be improved. ID is stable.
type Finding struct {
	ID        string          `json:"id"`
	Severity  string          `json:"severity"`
	Subject   string          `json:"subject"` // a table, an index, a statement
	Evidence  message.Message `json:"evidence"`
	Advice    message.Message `json:"advice"`
	Statement string          `json:"statement,omitempty"` // Statement.ID
	Share     float64         `json:"share,omitempty"`     // of the server's time that it concerns
}

// InspectionCost is what asking the server cost.
type InspectionCost struct {
	Queries  int     `json:"queries"`
	TimeNs   int64   `json:"time_ns"` // spent in them while the load went on, as the asker saw it
	Share    float64 `json:"share"`   // of the load's duration: at most so much of one of the server's cores
	AfterNs  int64   `json:"after_ns"`
	Skipped  int     `json:"skipped,omitempty"` // samples left out to keep it so
	PeriodNs int64   `json:"period_ns"`
}
