// Package scale divides one load between several workers. It starts them on existing engines (SSH, Slurm, Kubernetes),
// lets them begin at the same instant, adds up their measurements during the load, reports lost workers, and collects
// their bundles.
//
// A coordinator serves HTTP with mutual TLS, and workers call it. Each request is independent of the others, so a
// broken connection costs only a repeated request. At least twice per interval a worker reports its state. The answer
// says what the worker must do and how many of its intervals the coordinator has. A worker's measurements are in its
// own bundle on disk.
//
//	join    a worker introduces itself; when all have joined and agree, the answer is its job
//	clock   timestamps for the offset between the clocks
//	report  the worker's state, and lines of intervals.ndjson that the coordinator doesn't have
//	file    a file of the worker's bundle; GET asks whether the coordinator has it already
package scale

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"brunt/internal/load/schedule"
	"brunt/internal/record"
)

// Ticket is what a worker needs to find its coordinator. It contains a private key, so it is only passed through pipes
// and through files that one user can read.
type Ticket struct {
	Run string `json:"run"` // id of the run
	// Addresses are the coordinator's addresses (host:port). The first one that answers is used. An empty host means
	// the host from which the worker's ssh session was opened.
	Addresses []string `json:"addresses"`
	Identity  Identity `json:"identity"`
	Worker    int      `json:"worker"` // the worker's number, from 0; negative: the engine that starts the worker sets it
	Dir       string   `json:"dir"`    // folder for the worker's bundle; "": a new temporary folder
	// PatienceNs is the minimum time for which the worker looks for its coordinator, in ns.
	PatienceNs int64 `json:"patience_ns,omitempty"`
}

// Hello is how a worker introduces itself.
type Hello struct {
	Run     string `json:"run"`
	Worker  int    `json:"worker"`
	Process string `json:"process"` // random; differs between processes with the same number
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Cores   int    `json:"cores"` // number of cores that it may use
	Offset  Offset `json:"offset"`
	Dir     string `json:"dir"`
}

// Job is what a worker must do.
type Job struct {
	Run     string            `json:"run"`
	Plan    []byte            `json:"plan"`    // as written by planfile.Write
	Secrets map[string]string `json:"secrets"` // the secrets that Plan lacks, by variable; see planfile.Secrets
	// Password is the password of the target.
	Password string            `json:"password"`
	Workers  int               `json:"workers"`
	EpochNs  int64             `json:"epoch_ns"` // origin of the run's clock, by the coordinator's clock
	Command  []string          `json:"command"`
	Flags    map[string]string `json:"flags"`
	Extra    map[string]string `json:"extra"`
	WaitNs   int64             `json:"wait_ns"`
	// IntervalNs is the length of the record's intervals.
	IntervalNs int64 `json:"interval_ns"`
	Faults     bool  `json:"faults,omitempty"`     // the plan's faults are allowed
	StartDown  bool  `json:"start_down,omitempty"` // begin even if no address answers
	Named      bool  `json:"named,omitempty"`      // sessions tell servers that they are brunt's
	Adaptive   bool  `json:"adaptive,omitempty"`   // the coordinator decides rates; see Decision
	Asks       bool  `json:"asks,omitempty"`       // the coordinator chooses the phases; see Worker.Next
	// Redistribute means that the share of a lost worker is given to others. A worker then sends only what it is
	// allowed to send; see Answer.
	Redistribute bool `json:"redistribute,omitempty"`
	// Script replaces Plan.
	Script *Script `json:"script,omitempty"`
	// Fill means that the workers fill tables of Plan and send no load.
	Fill *Fill `json:"fill,omitempty"`
}

// Fill describes tables to fill. Each worker fills its part.
type Fill struct {
	ID       string   `json:"id"`                // stays the same when it is resumed
	Resumed  bool     `json:"resumed,omitempty"` // rows may exist
	Tables   []string `json:"tables"`            // names of the tables to fill
	Sessions int      `json:"sessions"`          // sessions of each worker
	// Checkpoint is the path of the checkpoint of the whole. Workers on the same machine have their checkpoints in the
	// same folder. "" means that workers are on other machines.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// Script is a k6 script that workers run. Each runs its segment.
type Script struct {
	Name    string   `json:"name"`    // for the record
	Archive []byte   `json:"archive"` // archive of the script with everything that it needs, including the environment
	Args    []string `json:"args"`    // additional flags of k6 run
}

// State is the state of a worker.
type State string

// The states of a worker, in order.
const (
	Joined  State = "joined" // waits for its job
	Ready   State = "ready"  // connected to the target, waits for the start
	Running State = "running"
	Sent    State = "sent"   // its load is over
	Ended   State = "ended"  // its bundle is complete and at the coordinator
	Failed  State = "failed" // gave up before it began
)

// Report is what a worker reports about itself.
type Report struct {
	Run     string `json:"run"`
	Worker  int    `json:"worker"`
	Process string `json:"process"`
	Host    string `json:"host"`
	State   State  `json:"state"`
	Error   string `json:"error,omitempty"` // with Failed: the reason
	Code    int    `json:"code,omitempty"`  // with Failed: the exit code
	// From is the number of the first line in Lines. Lines are lines of intervals.ndjson. They are appended to the JSON
	// of the report unchanged.
	From      int    `json:"from"`
	Decisions int    `json:"decisions,omitempty"` // number of the coordinator's decisions that it has
	Asked     int    `json:"asked,omitempty"`     // how many times it has asked for phases
	Rows      uint64 `json:"rows,omitempty"`      // with Job.Fill: rows filled so far
	// Filled is what the worker has filled, with Job.Fill and Ended. It is absent if the worker was stopped.
	Filled json.RawMessage `json:"filled,omitempty"`
	// Rules are the thresholds that may end the load, with the worker's values. They are set with Job.Script.
	Rules []record.AbortRule `json:"rules,omitempty"`
	// Request is the operations of a closed stage that the worker requests. It is set with Redistribute.
	Request *schedule.Request `json:"wish,omitempty"`
	Lines   []byte            `json:"-"`
	// Packed contains the histograms of some of the lines, written by appendPacked. It follows Lines.
	Packed  []byte `json:"-"`
	PackedB int    `json:"packed_bytes,omitempty"` // length of Packed, for encode and decode
}

// encode returns the report as it is sent: a line of JSON, Lines, and Packed.
func (r *Report) encode() ([]byte, error) {
	r.PackedB = len(r.Packed)
	head, err := json.Marshal(r)
	return slices.Concat(head, []byte("\n"), r.Lines, r.Packed), err
}

// decode is the inverse of encode. Lines and Packed refer to b. An incomplete last line is left out.
func (r *Report) decode(b []byte) error {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := json.Unmarshal(head, r); err != nil {
		return err
	}
	if r.PackedB < 0 || r.PackedB > len(rest) {
		return errors.New("packed_bytes is not the length of what follows")
	}
	lines := rest[:len(rest)-r.PackedB]
	r.Lines, r.Packed = lines[:bytes.LastIndexByte(lines, '\n')+1], rest[len(lines):]
	return nil
}

// Answer is the coordinator's answer to a report.
type Answer struct {
	Have    int   `json:"have"`               // number of lines of intervals.ndjson that the coordinator has
	StartNs int64 `json:"start_ns"`           // start of the load by the coordinator's clock; 0: not known yet
	Stop    bool  `json:"stop"`               // end the load and wait for answers
	Hard    bool  `json:"hard"`               // don't wait for answers
	AllSent bool  `json:"all_sent,omitempty"` // the load is over at all workers, and faults have been healed
	// Decisions are the decisions after the first Report.Decisions.
	Decisions []Decision `json:"decisions,omitempty"`
	// Phases are the phases that Report.Asked asks for, encoded by the coordinator; absent if they aren't known yet.
	Phases json.RawMessage `json:"phases,omitempty"`
	// UntilNs is the time of the schedule, in ns, up to which the worker may send, and Losses are the losses so far.
	// Both are set with Redistribute. See schedule.Redistribution.
	UntilNs int64           `json:"until_ns,omitempty"`
	Losses  []schedule.Loss `json:"losses,omitempty"`
	// Grant is the answer to Report.Request.
	Grant *schedule.Grant `json:"grant,omitempty"`
}

// refusal is an error with the exit code for the worker.
type refusal struct {
	Text string `json:"error"`
	Code int    `json:"code"`
}

func (r *refusal) Error() string { return r.Text }

// mostBody is the maximum size of a message in bytes.
const mostBody = 64 << 20

// mostLines is the maximum size of the interval lines in a report, in bytes.
const mostLines = 4 << 20

// NumberOfEngine as the number in a ticket means that the engine that starts the worker sets its number.
const NumberOfEngine = -1
