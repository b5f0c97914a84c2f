package workload

import (
	"brunt/internal/driver"
	"brunt/internal/keyspace"
	"brunt/internal/plan"
)

// pick returns which of a step's variants operation number i takes, nil if it has none.
func (c *compiler) pick(op *plan.Operation, s *plan.Step) func(i uint64) int {
	n := len(s.Variants)
	switch by := s.Pick.By; {
	case n == 0:
		return nil
	case by == plan.PickTurn:
		return c.turns(op, n)
	case by == plan.PickWalk:
		return walk(n, max(s.Pick.Walkers, 1))
	default:
		return c.space.Draw(n, by == plan.PickOtherField)
	}
}

// turns takes n variants in turn: by the operation's number, or where operations have an order by how
// often it stands before.
func (c *compiler) turns(op *plan.Operation, n int) func(i uint64) int {
	if c.plan.Mix != plan.ByTurn {
		return func(i uint64) int { return int(i % uint64(n)) }
	}
	places, own := make([]int, len(c.plan.Turns)), 0
	for k, turn := range c.plan.Turns {
		if &c.plan.Operations[turn] == op {
			places[k], own = own%n, own+1
		}
	}
	return func(i uint64) int { return places[i%uint64(len(places))] }
}

// walk lets so many walkers go through n variants, each with a stride of their number from its own
// offset, beginning anew there: what slow_cooker's goroutines do with a list of URLs.
func walk(n, walkers int) func(i uint64) int {
	stride := walkers
	if stride > n {
		stride = 1
	}
	return func(i uint64) int {
		offset := int(i%uint64(walkers)) % n
		round := i / uint64(walkers)
		length := (n - offset + stride - 1) / stride
		return offset + int(round%uint64(length))*stride
	}
}

// follow lets the records of a plan follow what its operations insert, and checks what they read.
func (w *Workload) follow(space *keyspace.Space) {
	w.Records = space
	if space == nil {
		return
	}
	p := w.Plan
	inserting, checked := 0, false
	for i := range p.Operations {
		if p.Operations[i].Inserts {
			inserting++
		}
		for k := range p.Operations[i].Steps {
			checked = checked || p.Operations[i].Steps[k].Check != ""
		}
	}
	if inserting < len(p.Operations) {
		space.Follow(func(i uint64) bool { return p.Operations[w.Pick(i)].Inserts })
	}
	if inserting > 0 || p.Keyspace.Choice != nil && p.Keyspace.Choice.Inserting {
		w.Done = func(operation int, i uint64, class driver.Class) {
			space.Done(p.Operations[operation].Inserts, i, class == driver.OK)
		}
	}
	if checked {
		w.Check = w.mismatch
	}
}

// mismatch compares what a step captured with the record whose key is its first argument.
func (w *Workload) mismatch(operation, step int, st *State) driver.Failure {
	s := &w.Operations[operation].Steps[step]
	if s.check == "" || len(st.Captured[step]) == 0 || len(st.Args[step]) == 0 {
		return driver.Failure{}
	}
	first := 0
	if s.variant != nil {
		first = s.variant(st.Index)
	}
	text := w.Records.Mismatch(s.check, st.Args[step][0].B, first, st.Captured[step])
	if text == "" {
		return driver.Failure{}
	}
	return driver.Failure{Class: driver.Protocol, Code: IntegrityCode, Text: text}
}

// IntegrityCode is the code of failures of reads that returned another value than was written.
const IntegrityCode = "integrity"
