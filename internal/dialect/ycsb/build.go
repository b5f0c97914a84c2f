package ycsb

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/keyspace"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// Names of operations in results.
const (
	OpRead   = "READ"
	OpUpdate = "UPDATE"
	OpInsert = "INSERT"
	OpScan   = "SCAN"
	OpRMW    = "READ_MODIFY_WRITE"
)

// Job is the compiled form of settings: the plan to run, and the store that makes the requests for records.
type Job struct {
	Settings *Settings
	Plan     *plan.Plan
	Store    Store
	Resumed  int64 // number of records that an earlier load has inserted
}

// Compile compiles settings to a job. resumed is how many records an earlier load has inserted.
func Compile(s *Settings, resumed int64) (*Job, error) {
	target, err := s.Database.connect(s.Set, s.Getenv)
	if err != nil {
		return nil, err
	}
	store, err := s.Database.store(s)
	if err != nil {
		return nil, err
	}
	j := &Job{Settings: s, Store: store, Resumed: resumed}
	j.Plan = &plan.Plan{
		Name: fmt.Sprintf("ycsb-%s-%s", s.Command, s.Database.Names[0]), Seed: s.Seed, Target: target, Mix: plan.ByWeight,
		Settings: plan.Settings{Sessions: s.Threads, Interval: interval(s.Output.Every)},
		Keyspace: &keyspace.Spec{
			Keys: s.Keys, Fields: s.Fields, Lengths: s.Lengths, Integrity: s.Integrity, Rows: s.Batch,
			ScanLeast: s.ScanLeast, ScanMost: s.ScanMost, ScanZipfian: s.ScanZipfian,
		},
	}
	switch s.Command {
	case Load:
		err = j.loading()
	case Run:
		err = j.running()
	}
	return j, err
}

// interval returns the length of a slice of the record: a second, or less if lines are printed more often.
func interval(every time.Duration) time.Duration {
	if every < time.Second {
		return max(every, 10*time.Millisecond)
	}
	return time.Second
}

// loading adds the load phase to the plan.
func (j *Job) loading() error {
	s, p := j.Settings, j.Plan
	p.Keyspace.InsertFrom, p.Keyspace.Strict = s.InsertStart+j.Resumed, true
	if p.Prepare = j.Store.Prepare(s.DropData); len(p.Prepare) == 0 {
		p.Keyspace.Create = &keyspace.Create{Table: s.Table, FieldLength: s.FieldLength, Drop: s.DropData}
	}
	if err := j.insertion(1); err != nil {
		return err
	}
	// A partial last batch is filled up, as in go-ycsb.
	operations := (s.LoadCount - j.Resumed + int64(s.Batch) - 1) / int64(s.Batch)
	j.phases(uint64(operations))
	p.Settings.Pipeline = s.Pipeline
	// The codec tier doesn't support TLS, and in a cluster consecutive records may belong to different nodes.
	if t := &p.Target; t.TLS.Enabled || t.Options["mode"] == "cluster" {
		p.Settings.Pipeline = 1
	}
	if s.RetryLimit > 0 {
		set := &p.Settings
		set.Retries, set.RetryErrors, set.RetryPause, set.Tier = s.RetryLimit, true, s.RetryPause, plan.TierLibrary
		set.OperationTimeout = time.Duration(float64(s.RetryLimit)*1.2*float64(s.RetryPause)) +
			30*time.Second*time.Duration(s.RetryLimit+1)
	}
	return nil
}

// running adds the operations and phases of the command run to the plan.
func (j *Job) running() error {
	s := j.Settings
	j.Plan.Keyspace.InsertFrom, j.Plan.Keyspace.Choice = s.Records, &s.Choice
	add := []struct {
		share float64
		make  func(float64) error
	}{
		{s.Shares.Read, j.reading}, {s.Shares.Update, j.updating}, {s.Shares.Insert, j.insertion},
		{s.Shares.Scan, j.scanning}, {s.Shares.ReadModifyWrite, j.modifying},
	}
	for _, a := range add {
		if a.share > 0 {
			if err := a.make(a.share); err != nil {
				return err
			}
		}
	}
	j.phases(uint64((s.Operations + int64(s.Batch) - 1) / int64(s.Batch)))
	return nil
}

// phases adds the phases of the load: the warm-up of a run, then a phase with that many operations (0: no limit). The
// load is closed, or at the rate of property target.
func (j *Job) phases(operations uint64) {
	s := j.Settings
	add := func(name string, duration time.Duration, limit uint64, warm bool) {
		p := plan.Phase{Name: name, Kind: plan.Closed, Duration: duration, Operations: limit, WarmUp: warm}
		if s.Target > 0 {
			rate := float64(s.Target) / float64(s.Batch)
			p.Kind, p.RateFrom, p.RateTo = plan.Open, rate, rate
			if limit > 0 {
				needed := time.Duration(math.Min((float64(limit)/rate+1)*1e9, math.MaxInt64/4))
				if duration == 0 || needed < duration {
					p.Duration = needed
				}
			}
		}
		j.Plan.Load = append(j.Plan.Load, p)
	}
	if s.Command == Run && s.WarmUp > 0 {
		add("warm-up", s.WarmUp, 0, true)
	}
	add(string(s.Command), s.MaxExecution, operations, false)
}

// step makes a step of the plan from a request. pick says how the request's only field is drawn; "" means that the
// request is for all fields.
func (j *Job) step(r Request, pick string) plan.Step {
	st := plan.Step{Request: r.Request, Pick: plan.Pick{By: pick}}
	for _, slot := range r.Slots {
		parts := map[Slot]keyspace.Part{
			KeySlot: keyspace.Key, CountSlot: keyspace.ScanLength, DocumentSlot: keyspace.Document,
			TextDocumentSlot: keyspace.TextDocument,
		}
		switch {
		case slot != FieldSlots:
			st.Params = append(st.Params, plan.Param{Part: parts[slot]})
		case pick != "":
			st.Params = append(st.Params, plan.Param{Part: keyspace.Field})
		default:
			for _, f := range j.Settings.Fields {
				st.Params = append(st.Params, plan.Param{Part: keyspace.Field, Field: f})
			}
		}
	}
	if len(r.Capture) > 0 {
		st.Check = j.check()
		captureTexts(&st.Request)
	}
	return st
}

// captureTexts makes a request return what it captures as texts.
func captureTexts(r *protocol.Request) {
	for i := range r.Capture {
		r.Capture[i].Kind = gen.String
	}
}

// check returns how the store's reads are compared with what was written.
func (j *Job) check() keyspace.Check {
	if d, ok := j.Store.(DocumentStore); ok && d.Documents() {
		return keyspace.CheckDocument
	}
	if _, whole := j.Store.(*sqlStore); whole {
		return keyspace.CheckFields
	}
	return keyspace.CheckSome
}

// steps makes the steps of an operation from the requests that ask returns. If pick isn't "", each request gets a
// variant for each field.
func (j *Job) steps(name, pick string, ask func(fields []string) []Request) ([]plan.Step, error) {
	all := j.Settings.Fields
	first := all
	if pick != "" {
		first = all[:1]
	}
	requests := ask(first)
	if len(requests) == 0 {
		return nil, fmt.Errorf("%s: database %s can't do it; set its proportion to 0", strings.ToLower(name),
			j.Settings.Database.Names[0])
	}
	var steps []plan.Step
	for _, r := range requests {
		steps = append(steps, j.step(r, pick))
	}
	if pick == "" {
		return steps, nil
	}
	for f := range all {
		for k, r := range ask(all[f : f+1]) {
			captureTexts(&r.Request)
			steps[k].Variants = append(steps[k].Variants, r.Request)
		}
	}
	return steps, nil
}

// creates returns what it means if a record to insert is there already. A load that resumes may insert records again.
// Databases whose answers would say it only at another price aren't asked.
func (j *Job) creates() protocol.Creation {
	if d := j.Settings.Database; d.Overwrites || d.BatchesOverwrite && j.Settings.Batch > 1 {
		return protocol.Unasked
	}
	upsert, _ := strconv.ParseBool(j.Plan.Target.Options["upsert"])
	if upsert || j.Settings.Command == Load && j.Settings.Resume {
		return protocol.MayExist
	}
	return protocol.MustBeNew
}

func (j *Job) add(name string, share float64, steps []plan.Step) {
	if strings.HasSuffix(name, OpInsert) {
		for i := range steps {
			steps[i].Request.Creates = j.creates()
		}
	}
	j.Plan.Operations = append(j.Plan.Operations, plan.Operation{Name: name, Weight: share, Steps: steps,
		Inserts: strings.HasSuffix(name, OpInsert)})
}

// batch adds an operation on several records. ok is false if the batch size is 1.
func (j *Job) batch(name string, share float64, verb protocol.Verb) (ok bool, err error) {
	rows := j.Settings.Batch
	if rows <= 1 {
		return false, nil
	}
	var requests []Request
	if b, is := j.Store.(Batcher); is {
		requests = b.Batch(verb, j.Settings.Fields, rows)
	}
	if len(requests) == 0 {
		return true, fmt.Errorf("batch.size=%d: database %s has no batches of %ss; set its proportion to 0", rows,
			j.Settings.Database.Names[0], strings.ToLower(name))
	}
	st := j.step(requests[0], "")
	st.Request.Rows = rows
	j.add("BATCH_"+name, share, []plan.Step{st})
	return true, nil
}

// one returns how a field is drawn, "" if all fields are meant.
func one(all bool) string {
	if all {
		return ""
	}
	return plan.PickField
}

// plain adds an operation without batches.
func (j *Job) plain(name string, share float64, pick string, ask func(fields []string) []Request) error {
	steps, err := j.steps(name, pick, ask)
	if err != nil {
		return err
	}
	j.add(name, share, steps)
	return nil
}

// read returns the requests that read a record, with captures if reads are checked.
func (j *Job) read(fields []string) []Request { return j.Store.Read(fields, j.Settings.Integrity) }

func (j *Job) reading(share float64) error {
	if ok, err := j.batch(OpRead, share, protocol.Read); ok {
		return err
	}
	return j.plain(OpRead, share, one(j.Settings.ReadAll), j.read)
}

func (j *Job) updating(share float64) error {
	if ok, err := j.batch(OpUpdate, share, protocol.Update); ok {
		return err
	}
	return j.plain(OpUpdate, share, one(j.Settings.WriteAll), j.Store.Update)
}

func (j *Job) insertion(share float64) error {
	if ok, err := j.batch(OpInsert, share, protocol.Insert); ok {
		return err
	}
	return j.plain(OpInsert, share, "", j.Store.Insert)
}

func (j *Job) scanning(share float64) error {
	return j.plain(OpScan, share, one(j.Settings.ReadAll), j.Store.Scan)
}

// modifying adds an operation that reads a record and then updates it. The field to read and the field to write are
// each drawn from all fields.
func (j *Job) modifying(share float64) error {
	read, err := j.steps(OpRead, one(j.Settings.ReadAll), j.read)
	if err != nil {
		return err
	}
	pick := ""
	if !j.Settings.WriteAll {
		pick = plan.PickOtherField
	}
	write, err := j.steps(OpUpdate, pick, j.Store.Update)
	if err != nil {
		return err
	}
	j.add(OpRMW, share, append(read, write...))
	return nil
}
