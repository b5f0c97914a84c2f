package ycsb

import (
	"brunt/internal/driver"
	"brunt/internal/plan"
)

// one is how a field is drawn unless all are meant.
func one(all bool) string {
	if all {
		return ""
	}
	return plan.PickField
}

// plain adds an operation that asks once.
func (j *Job) plain(name string, share float64, pick string, ask func(fields []string) []Request) error {
	steps, err := j.steps(name, pick, ask)
	if err != nil {
		return err
	}
	j.add(name, share, steps)
	return nil
}

// read asks for a record, with captures if they are checked.
func (j *Job) read(fields []string) []Request { return j.Store.Read(fields, j.Settings.Integrity) }

func (j *Job) reading(share float64) error {
	if ok, err := j.batch(OpRead, share, driver.Read); ok {
		return err
	}
	return j.plain(OpRead, share, one(j.Settings.ReadAll), j.read)
}

func (j *Job) updating(share float64) error {
	if ok, err := j.batch(OpUpdate, share, driver.Update); ok {
		return err
	}
	return j.plain(OpUpdate, share, one(j.Settings.WriteAll), j.Store.Update)
}

func (j *Job) insertion(share float64) error {
	if ok, err := j.batch(OpInsert, share, driver.Insert); ok {
		return err
	}
	return j.plain(OpInsert, share, "", j.Store.Insert)
}

func (j *Job) scanning(share float64) error {
	return j.plain(OpScan, share, one(j.Settings.ReadAll), j.Store.Scan)
}

// modifying reads a record and then updates it: the field read and the field written are drawn
// alike, each from all.
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
