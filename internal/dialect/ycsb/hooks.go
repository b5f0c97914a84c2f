package ycsb

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"brunt/internal/driver"
	"brunt/internal/gen"
	"brunt/internal/workload"
)

// Attach gives a compiled workload what it needs of the job: which operations insert, what has
// been inserted, and the check of values.
func (j *Job) Attach(w *workload.Workload) {
	if j.Settings.Command == Run {
		j.Inserts.Follow(func(i uint64) bool { return j.inserting(w.Pick(i)) })
	}
	if j.integers != nil {
		w.Check = j.integers.check
	}
	if j.memo == nil && !j.tracks() {
		return
	}
	rows := uint64(j.Settings.Batch)
	w.Done = func(operation int, i uint64, class driver.Class) {
		if j.inserting(operation) {
			j.Inserts.Acknowledge(i, class == driver.OK)
			return
		}
		if j.memo != nil {
			for r := range rows {
				j.memo.Forget(i*rows + r)
			}
		}
	}
}

// tracks reports whether somebody needs to know which inserts are done.
func (j *Job) tracks() bool {
	return j.Settings.Command == Load && j.Settings.InsertCount > 0 || j.Settings.Choice.Inserting
}

// integrity compares what reads return with what must be there.
type integrity struct {
	job      *Job
	document bool
	whole    bool // a record has all its fields, so that a missing one is a fault
	bad      atomic.Uint64
	missing  atomic.Uint64

	mu    sync.Mutex // guards first
	first string
}

func newIntegrity(j *Job) *integrity {
	c := &integrity{job: j}
	_, c.whole = j.Store.(*sqlStore)
	if d, ok := j.Store.(DocumentStore); ok {
		c.document = d.Documents()
	}
	return c
}

// check looks at the captures of a read. A record that isn't there is no fault, as in go-ycsb.
func (c *integrity) check(operation, step int, st *workload.State) driver.Failure {
	captured := st.Captured[step]
	if len(captured) == 0 || len(st.Args[step]) == 0 {
		return driver.Failure{}
	}
	key := st.Args[step][0].B
	values := &c.job.values
	first, absent := 0, true
	if s := &c.job.Plan.Operations[operation].Steps[step]; s.Variant != nil {
		first = s.Variant(st.Index)
	}
	for i := range captured {
		absent = absent && captured[i].Kind == gen.Null
	}
	if absent {
		c.missing.Add(1)
		return driver.Failure{}
	}
	var room [512]byte
	for i := range captured {
		if captured[i].Kind == gen.Null && !c.whole {
			continue
		}
		want := room[:0]
		if c.document {
			want = values.ExpectedDocument(want, key)
		} else {
			want = values.Expected(want, key, first+i)
		}
		if got := captured[i].B; captured[i].Kind == gen.Null || !bytes.Equal(want, got) {
			return c.fault(want, got)
		}
	}
	return driver.Failure{}
}

func (c *integrity) fault(want, got []byte) driver.Failure {
	text := fmt.Sprintf("unexpected deterministic value, expect %q, but got %q", want, got)
	c.bad.Add(1)
	c.mu.Lock()
	if c.first == "" {
		c.first = text
	}
	c.mu.Unlock()
	return driver.Failure{Class: driver.Protocol, Code: "integrity", Text: text}
}

// Corrupted is how many reads returned a value that isn't the one written, and the first one.
func (j *Job) Corrupted() (reads uint64, first string) {
	if j.integers == nil {
		return 0, ""
	}
	j.integers.mu.Lock()
	defer j.integers.mu.Unlock()
	return j.integers.bad.Load(), j.integers.first
}
