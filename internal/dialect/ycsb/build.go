package ycsb

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/dialect/ycsb/core"
	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/plan"
)

// The names of operations, as results have them.
const (
	OpRead   = "READ"
	OpUpdate = "UPDATE"
	OpInsert = "INSERT"
	OpScan   = "SCAN"
	OpRMW    = "READ_MODIFY_WRITE"
)

// Job is settings compiled: the plan to run, and what must be known while it runs.
type Job struct {
	Settings *Settings
	Plan     *plan.Plan
	Store    Store
	Prepare  []driver.Request // to be sent before a load
	Inserts  *core.Inserts
	Resumed  int64 // records that an earlier load has inserted

	values   core.Values
	choose   core.Chooser
	memo     *core.Memo // nil: choose is pure
	field    gen.Stream // which field
	scan     gen.Stream // how many records
	integers *integrity
}

// Compile makes a job of settings. resumed is how many records an earlier load has inserted.
func Compile(s *Settings, resumed int64) (*Job, error) {
	target, err := s.Database.Target(s.Set)
	if err != nil {
		return nil, err
	}
	store, err := s.Database.Store(s)
	if err != nil {
		return nil, err
	}
	j := &Job{
		Settings: s, Store: store, Resumed: resumed,
		values: core.Values{Keys: &s.Keys, Fields: s.Fields, Lengths: s.Lengths, Integrity: s.Integrity},
		field:  gen.NewStream(s.Seed, "ycsb", "field"),
		scan:   gen.NewStream(s.Seed, "ycsb", "scan"),
	}
	j.values.Prepare(s.Seed)
	j.Plan = &plan.Plan{
		Name: fmt.Sprintf("ycsb-%s-%s", s.Command, s.Database.Names[0]), Seed: s.Seed, Target: target, Mix: plan.ByWeight,
		Settings: plan.Settings{Sessions: s.Threads, Interval: interval(s.Output.Every)},
	}
	switch s.Command {
	case Load:
		j.Prepare = store.Prepare(s.DropData)
		err = j.loading()
	case Run:
		err = j.running()
	}
	if err == nil && s.Integrity {
		j.integers = newIntegrity(j)
	}
	return j, err
}

// interval is the slice of the record: a second, or less where lines are printed more often.
func interval(every time.Duration) time.Duration {
	if every < time.Second {
		return max(every, 10*time.Millisecond)
	}
	return time.Second
}

// loading plans the load phase.
func (j *Job) loading() error {
	s := j.Settings
	first := s.InsertStart + j.Resumed
	j.Inserts = core.NewInserts(first, s.Batch)
	j.Inserts.Strict = true
	if err := j.insertion(1); err != nil {
		return err
	}
	records := s.InsertCount - j.Resumed
	operations := records
	if s.Batch > 1 {
		if operations = records / int64(s.Batch); records%int64(s.Batch) != 0 {
			return fmt.Errorf("batch.size=%d doesn't divide the %d records to load; choose one that does", s.Batch, records)
		}
	}
	j.phases(uint64(operations))
	j.Plan.Settings.Pipeline = s.Pipeline
	// The codec tier has no TLS, and in a cluster each record may be another node's.
	if t := &j.Plan.Target; t.TLS.Enabled || t.Options["mode"] == "cluster" {
		j.Plan.Settings.Pipeline = 1
	}
	if s.RetryLimit > 0 {
		set := &j.Plan.Settings
		set.Retries, set.RetryErrors, set.RetryPause, set.Tier = s.RetryLimit, true, s.RetryPause, "library"
		set.OperationTimeout = time.Duration(float64(s.RetryLimit)*1.2*float64(s.RetryPause)) + 30*time.Second*time.Duration(s.RetryLimit+1)
	}
	return nil
}

// running plans the run phase.
func (j *Job) running() error {
	s := j.Settings
	j.Inserts = core.NewInserts(s.Records, s.Batch)
	choose, follows, err := core.NewChooser(s.Choice, gen.NewStream(s.Seed, "ycsb", "record"), j.Inserts)
	if err != nil {
		return err
	}
	if j.choose = choose; follows {
		j.memo = core.NewMemo(choose)
		j.choose = j.memo.Number
	}
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

// phases plans the load: a warm-up of runs, then so many operations (0: no limit), closed or at
// the target's rate.
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

// source is where the parameters of an operation come from.
type source struct {
	core.Source
	single bool // the request has one field, drawn by Field
}

func (j *Job) choosing() source { return source{Source: core.Source{Record: j.choose}} }

// one is a source whose requests have one field, drawn at random.
func (j *Job) one(s source) source {
	n := uint64(len(j.Settings.Fields))
	s.single, s.Field = true, func(idx uint64) int { return int(j.field.Uint64n(idx, n)) }
	return s
}

// step makes a step of the plan of a request that stands for all fields.
func (j *Job) step(r Request, s source) plan.Step {
	st := plan.Step{Request: r.Request}
	for _, slot := range r.Slots {
		for _, g := range j.generators(slot, s) {
			st.Params = append(st.Params, plan.Param{Custom: g})
			kind := gen.String
			if slot == CountSlot {
				kind = gen.Int
			}
			st.Request.Params = append(st.Request.Params, kind)
		}
	}
	for i := range st.Request.Capture {
		st.Request.Capture[i].Kind = gen.String
	}
	return st
}

func (j *Job) generators(slot Slot, s source) []gen.Generator {
	switch slot {
	case KeySlot:
		keys := &j.Settings.Keys
		return []gen.Generator{gen.Func(func(v *gen.Value, idx uint64) {
			v.Kind, v.B = gen.String, keys.Append(v.B[:0], s.Record(idx))
		})}
	case CountSlot:
		return []gen.Generator{j.counts()}
	case DocumentSlot:
		return []gen.Generator{j.values.Document(s.Source)}
	case TextDocumentSlot:
		return []gen.Generator{j.values.TextDocument(s.Source)}
	}
	if s.single {
		return []gen.Generator{j.values.Field(s.Source)}
	}
	var out []gen.Generator
	for i := range j.Settings.Fields {
		one := s.Source
		one.Field = func(uint64) int { return i }
		out = append(out, j.values.Field(one))
	}
	return out
}

// counts gives how many records a scan asks for.
func (j *Job) counts() gen.Generator {
	s := j.Settings
	span := s.ScanMost - s.ScanLeast + 1
	z := core.NewZipf(span)
	return gen.Func(func(v *gen.Value, idx uint64) {
		if s.ScanZipfian {
			v.SetInt(s.ScanLeast + z.Rank(j.scan.Float64(idx)))
			return
		}
		v.SetInt(s.ScanLeast + int64(j.scan.Uint64n(idx, uint64(span))))
	})
}

// steps makes the steps of an operation of what the store asks for the fields. With a source of a
// single field each request has a variant for each.
func (j *Job) steps(name string, s source, ask func(fields []string) []Request) ([]plan.Step, error) {
	all := j.Settings.Fields
	first := all
	if s.single {
		first = all[:1]
	}
	requests := ask(first)
	if len(requests) == 0 {
		return nil, fmt.Errorf("%s: database %s can't do it; set its proportion to 0", strings.ToLower(name), j.Settings.Database.Names[0])
	}
	var steps []plan.Step
	for _, r := range requests {
		steps = append(steps, j.step(r, s))
	}
	if !s.single {
		return steps, nil
	}
	for f := range all {
		for k, r := range ask(all[f : f+1]) {
			v := r.Request
			for i := range v.Capture {
				v.Capture[i].Kind = gen.String
			}
			steps[k].Variants, steps[k].Variant = append(steps[k].Variants, v), s.Field
		}
	}
	return steps, nil
}

func (j *Job) add(name string, share float64, steps []plan.Step) {
	j.Plan.Operations = append(j.Plan.Operations, plan.Operation{Name: name, Weight: share, Steps: steps})
}

// batch adds an operation on several records; ok is false if records are to go one by one.
func (j *Job) batch(name string, share float64, verb driver.Verb, s source) (ok bool, err error) {
	rows := j.Settings.Batch
	if rows <= 1 {
		return false, nil
	}
	var requests []Request
	if b, is := j.Store.(Batcher); is {
		requests = b.Batch(verb, j.Settings.Fields, rows)
	}
	if len(requests) == 0 {
		return true, fmt.Errorf("batch.size=%d: database %s has no batches of %ss; set its proportion to 0", rows, j.Settings.Database.Names[0], strings.ToLower(name))
	}
	st := j.step(requests[0], s)
	if st.Request.Verb != driver.Batch {
		st = repeated(st, rows)
	}
	j.add("BATCH_"+name, share, []plan.Step{st})
	return true, nil
}

// repeated gives a step the parameters of several records one after the other.
func repeated(st plan.Step, rows int) plan.Step {
	one, kinds := st.Params, st.Request.Params
	st.Params, st.Request.Params = nil, nil
	for r := range uint64(rows) {
		for k, p := range one {
			g := p.Custom
			p.Custom = gen.Func(func(v *gen.Value, i uint64) { g.Value(v, i*uint64(rows)+r) })
			st.Params, st.Request.Params = append(st.Params, p), append(st.Request.Params, kinds[k])
		}
	}
	return st
}
