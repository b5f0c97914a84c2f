package ycsb

import (
	"brunt/internal/dialect/ycsb/core"
	"brunt/internal/driver"
	"brunt/internal/plan"
)

func (j *Job) reading(share float64) error {
	s := j.choosing()
	if ok, err := j.batch(OpRead, share, driver.Read, s); ok {
		return err
	}
	steps, err := j.readSteps(s, j.Settings.Integrity)
	if err != nil {
		return err
	}
	j.add(OpRead, share, steps)
	return nil
}

func (j *Job) readSteps(s source, check bool) ([]plan.Step, error) {
	if !j.Settings.ReadAll {
		s = j.one(s)
	}
	return j.steps(OpRead, s, func(fields []string) []Request { return j.Store.Read(fields, check) })
}

func (j *Job) updating(share float64) error {
	s := j.choosing()
	if j.Settings.Batch <= 1 && !j.Settings.WriteAll {
		s = j.one(s)
	}
	if ok, err := j.batch(OpUpdate, share, driver.Update, s); ok {
		return err
	}
	steps, err := j.steps(OpUpdate, s, j.Store.Update)
	if err != nil {
		return err
	}
	j.add(OpUpdate, share, steps)
	return nil
}

func (j *Job) insertion(share float64) error {
	s := source{Source: core.Source{Record: j.Inserts.Number, Row: true}}
	if ok, err := j.batch(OpInsert, share, driver.Insert, s); ok {
		return err
	}
	steps, err := j.steps(OpInsert, s, j.Store.Insert)
	if err != nil {
		return err
	}
	j.add(OpInsert, share, steps)
	return nil
}

func (j *Job) scanning(share float64) error {
	s := j.choosing()
	if !j.Settings.ReadAll {
		s = j.one(s)
	}
	steps, err := j.steps(OpScan, s, j.Store.Scan)
	if err != nil {
		return err
	}
	j.add(OpScan, share, steps)
	return nil
}

// modifying reads a record and then updates it: the field read and the field written are drawn
// alike, each from all.
func (j *Job) modifying(share float64) error {
	s := j.choosing()
	read, err := j.readSteps(s, j.Settings.Integrity)
	if err != nil {
		return err
	}
	if !j.Settings.WriteAll {
		s = j.one(s)
		field := s.Field
		n := len(j.Settings.Fields)
		s.Field = func(idx uint64) int { return (field(idx) + int(j.scan.Uint64n(idx, uint64(n)))) % n }
	}
	write, err := j.steps(OpUpdate, s, j.Store.Update)
	if err != nil {
		return err
	}
	j.add(OpRMW, share, append(read, write...))
	return nil
}

// inserting reports whether an operation of the plan inserts.
func (j *Job) inserting(operation int) bool {
	name := j.Plan.Operations[operation].Name
	return name == OpInsert || name == "BATCH_"+OpInsert
}
