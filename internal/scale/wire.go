// Package scale spreads one load over several workers: it starts them on engines that exist, lets them begin at one
// instant, adds up what they measure while they measure it, names those that are lost, and brings their bundles home.
//
// A coordinator serves HTTP with mutual TLS; workers call it. Each request stands alone, so that a connection that
// breaks costs a further attempt and nothing else: a worker says how it is at least twice an interval, and gets what
// it is to do and how many of its intervals the coordinator has. What it has measured is in its own bundle on disk.
//
//	join    who a worker is; the answer, when all are there and agree, is its job
//	clock   timestamps, for the offset between the clocks
//	report  how the worker is, and lines of intervals.ndjson that the coordinator lacks
//	file    a file of the worker's bundle; GET asks whether it is there already
package scale

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"brunt/internal/record"
	"brunt/internal/schedule"
)

// Ticket is what a worker needs to find its coordinator. It holds a key: it travels by pipes and files of one owner.
type Ticket struct {
	Run string `json:"run"` // id of the run
	// Addresses are the coordinator's, host:port; the first that answers is used. Without a host it is where the worker's
	// ssh session came from.
	Addresses []string `json:"addresses"`
	Identity  Identity `json:"identity"`
	Worker    int      `json:"worker"` // its number, from 0; below 0: it is told by the engine that starts it
	Dir       string   `json:"dir"`    // folder for the worker's bundle; "": a new one for temporary files
	// PatienceNs is how long the worker looks for its coordinator at least, ns.
	PatienceNs int64 `json:"patience_ns,omitempty"`
}

// Hello is what a worker says of itself.
type Hello struct {
	Run     string `json:"run"`
	Worker  int    `json:"worker"`
	Process string `json:"process"` // random: another process of the same number has another
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Cores   int    `json:"cores"` // that it may use
	Offset  Offset `json:"offset"`
	Dir     string `json:"dir"`
}

// Job is what a worker is to do.
type Job struct {
	Run     string            `json:"run"`
	Plan    []byte            `json:"plan"`    // as planfile.Write has it
	Secrets map[string]string `json:"secrets"` // what Plan hides, by variable; see planfile.Secrets
	// Password is the target's.
	Password string            `json:"password"`
	Workers  int               `json:"workers"`
	EpochNs  int64             `json:"epoch_ns"` // where the run's clock is 0, by the coordinator's clock
	Command  []string          `json:"command"`
	Flags    map[string]string `json:"flags"`
	Extra    map[string]string `json:"extra"`
	WaitNs   int64             `json:"wait_ns"`
	// IntervalNs is the length of the record's intervals.
	IntervalNs int64 `json:"interval_ns"`
	Faults     bool  `json:"faults,omitempty"`     // the plan's faults are allowed
	StartDown  bool  `json:"start_down,omitempty"` // begin although no address answers
	Adaptive   bool  `json:"adaptive,omitempty"`   // the coordinator decides rates; see Decision
	Asks       bool  `json:"asks,omitempty"`       // the coordinator names the phases; see Worker.Next
	// Redistribute says that the share of a lost worker is given to others. Then a worker sends no longer than it is
	// allowed to; see Answer.
	Redistribute bool `json:"redistribute,omitempty"`
	// Script takes the place of Plan.
	Script *Script `json:"script,omitempty"`
	// Fill says that the workers fill tables of Plan, and send no load.
	Fill *Fill `json:"fill,omitempty"`
}

// Fill is a filling of tables, of which each worker does its part.
type Fill struct {
	ID       string   `json:"id"`                // the same when it is resumed
	Resumed  bool     `json:"resumed,omitempty"` // rows may be there
	Tables   []string `json:"tables"`            // to be filled
	Sessions int      `json:"sessions"`          // of each worker
	// Checkpoint is the file of the whole, beside which workers on the same machine have theirs; "": they are on others.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// Script is a script of k6 that workers run, each its segment.
type Script struct {
	Name    string   `json:"name"`    // for the record
	Archive []byte   `json:"archive"` // of the script and all that it needs, with the environment
	Args    []string `json:"args"`    // further flags of k6 run
}

// State is how far a worker is.
type State string

// The states of a worker, in order.
const (
	Joined  State = "joined"  // it has asked for its job
	Ready   State = "ready"   // it is connected to the target and waits for the start
	Running State = "running" //
	Sent    State = "sent"    // its load is over
	Ended   State = "ended"   // its bundle is complete and at the coordinator
	Failed  State = "failed"  // it gave up before it began
)

// Report is how a worker is.
type Report struct {
	Run     string `json:"run"`
	Worker  int    `json:"worker"`
	Process string `json:"process"`
	Host    string `json:"host"`
	State   State  `json:"state"`
	Error   string `json:"error,omitempty"` // with Failed: why
	Code    int    `json:"code,omitempty"`  // with Failed: the exit code for that
	// From is the number of the first of Lines, those of intervals.ndjson, which follow the rest of a report as they are.
	From      int    `json:"from"`
	Decisions int    `json:"decisions,omitempty"` // of the coordinator's that it has
	Asked     int    `json:"asked,omitempty"`     // how many times it has asked for phases
	Rows      uint64 `json:"rows,omitempty"`      // with Job.Fill: in place
	// Filled is, with Job.Fill and Ended, what the worker has filled; absent if it was stopped.
	Filled json.RawMessage `json:"filled,omitempty"`
	// Rules are, with Job.Script, the thresholds that may end the load, with the worker's values.
	Rules []record.AbortRule `json:"rules,omitempty"`
	// Wish is, with Redistribute, which operations of a closed stage the worker wants.
	Wish  *schedule.Wish `json:"wish,omitempty"`
	Lines []byte         `json:"-"`
	// Packed are the histograms of some of Lines, as appendPacked has them. They follow Lines.
	Packed  []byte `json:"-"`
	PackedB int    `json:"packed_bytes,omitempty"` // length of Packed, for encode and decode
}

// encode is the report as it is sent: a line of JSON, Lines, and Packed.
func (r *Report) encode() ([]byte, error) {
	r.PackedB = len(r.Packed)
	head, err := json.Marshal(r)
	return slices.Concat(head, []byte("\n"), r.Lines, r.Packed), err
}

// decode is the inverse of encode. Lines and Packed are parts of b, without a last line that isn't whole.
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

// Answer is what the coordinator wants of a worker.
type Answer struct {
	Have    int   `json:"have"`               // lines of intervals.ndjson that the coordinator has
	StartNs int64 `json:"start_ns"`           // when the load begins, by the coordinator's clock; 0: not known yet
	Stop    bool  `json:"stop"`               // end the load, wait for answers
	Hard    bool  `json:"hard"`               // don't wait for answers either
	AllSent bool  `json:"all_sent,omitempty"` // the load is over at all workers, and faults are healed
	// Decisions are those after the first Report.Decisions.
	Decisions []Decision `json:"decisions,omitempty"`
	// Phases are what Report.Asked asks for, as the coordinator has put it; absent: not known yet.
	Phases json.RawMessage `json:"phases,omitempty"`
	// With Redistribute: until when the worker may send, ns of the schedule, and the losses so far. See
	// schedule.Redistribution.
	UntilNs int64           `json:"until_ns,omitempty"`
	Losses  []schedule.Loss `json:"losses,omitempty"`
	// Grant answers Report.Wish.
	Grant *schedule.Grant `json:"grant,omitempty"`
}

// refusal is an error with the exit code that it has for the worker.
type refusal struct {
	Text string `json:"error"`
	Code int    `json:"code"`
}

func (r *refusal) Error() string { return r.Text }

// mostBody bounds what is read of a message.
const mostBody = 64 << 20

// mostLines bounds the bytes of interval lines in one report.
const mostLines = 4 << 20

// NumberOfEngine as the number of a ticket says that the engine that starts a worker tells it its number.
const NumberOfEngine = -1
