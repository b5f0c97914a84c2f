package workload

import (
	"math"
	"sort"
	"strconv"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/keyspace"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// queue is a shuffled list of operations that isn't stored: item i of the queue is item order.At(i) of the unshuffled
// list, in which the items of each operation are consecutive.
type queue struct {
	order gen.Permutation
	ends  []uint64 // ends[k] is the number of items of operations 0…k
}

func (q *queue) pick(i uint64) int { return q.owner(q.order.At(i)) }

func (q *queue) owner(item uint64) int {
	return sort.Search(len(q.ends), func(k int) bool { return q.ends[k] > item })
}

// ordinal returns the number of item i among the items of its operation, from 0, in the unshuffled list.
func (q *queue) ordinal(i uint64) uint64 {
	item := q.order.At(i)
	if k := q.owner(item); k > 0 {
		return item - q.ends[k-1]
	}
	return item
}

var _ picker = (*queue)(nil)

// mix draws every operation independently in proportion to its weight.
type mix struct {
	stream  gen.Stream
	weights *gen.Weighted
}

func (m *mix) pick(i uint64) int { return m.weights.At(m.stream, i) }

var _ picker = (*mix)(nil)

// only always picks the same operation.
type only int

func (o only) pick(uint64) int { return int(o) }

var _ picker = only(0)

// turns cycles through operations in a given order.
type turns []int

func (t turns) pick(i uint64) int { return t[i%uint64(len(t))] }

var _ picker = turns(nil)

func newPicker(p *plan.Plan) (picker, uint64, error) {
	switch p.Mix {
	case plan.ByCount:
		q := newQueue(p)
		return q, q.ends[len(q.ends)-1], nil
	case plan.ByTurn:
		return turns(p.Turns), 0, nil
	}
	weights := make([]float64, len(p.Operations))
	used, last := 0, 0
	for i := range p.Operations {
		if weights[i] = p.Operations[i].Weight; weights[i] > 0 {
			used, last = used+1, i
		}
	}
	if used == 1 {
		return only(last), 0, nil
	}
	w, err := gen.NewWeighted(weights)
	return &mix{gen.NewStream(p.Seed, "mix"), w}, 0, err
}

func newQueue(p *plan.Plan) *queue {
	q := &queue{ends: make([]uint64, len(p.Operations))}
	var total uint64
	for i := range p.Operations {
		total += p.Operations[i].Count
		q.ends[i] = total
	}
	q.order = gen.NewPermutation(gen.NewStream(p.Seed, "queue"), total)
	return q
}

// pick returns the function that selects a step's variant by the operation's number; nil if the step has none.
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

// turns returns a function that selects n variants in turn: by the operation's number or, if operations have an order,
// by the number of the operation's earlier occurrences in it.
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

// walk returns a function that moves the given number of walkers through n variants. Each walker starts at its own
// offset, has a stride of that number, and starts over at its offset. It is how the goroutines of slow_cooker use a
// list of URLs.
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

// follow connects the plan's records with the operations that insert and read them.
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
		w.Done = func(operation int, i uint64, class protocol.Class) {
			space.Done(p.Operations[operation].Inserts, i, class == protocol.OK)
		}
	}
	if checked {
		w.Check = w.mismatch
	}
}

// mismatch compares the values that a step captured with the record whose key is the step's first argument.
func (w *Workload) mismatch(operation, step int, st *State) protocol.Failure {
	s := &w.Operations[operation].Steps[step]
	if s.check == "" || len(st.Captured[step]) == 0 || len(st.Args[step]) == 0 {
		return protocol.Failure{}
	}
	first := 0
	if s.variant != nil {
		first = s.variant(st.Index)
	}
	text := w.Records.Mismatch(s.check, st.Args[step][0].B, first, st.Captured[step])
	if text == "" {
		return protocol.Failure{}
	}
	return protocol.Failure{Class: protocol.Protocol, Code: IntegrityCode, Text: text}
}

// IntegrityCode is the code of the failure that a read returned a value other than the written one.
const IntegrityCode = "integrity"

// pause is a think time and the stream of its random numbers.
type pause struct {
	think  plan.Think
	stream gen.Stream
}

// newPauses returns the think times of every operation: the pause after the operation, followed by those after each of
// its compiled steps.
func newPauses(p *plan.Plan) [][]pause {
	all := make([][]pause, len(p.Operations))
	for i := range p.Operations {
		op := &p.Operations[i]
		list := []pause{{op.Think, gen.NewStream(p.Seed, "think", op.Name)}}
		if op.Transaction {
			list = append(list, pause{})
		}
		for s := range op.Steps {
			list = append(list, pause{op.Steps[s].Think, gen.NewStream(p.Seed, "think", op.Name, strconv.Itoa(s))})
		}
		all[i] = list
	}
	return all
}

func (p *pause) duration(i uint64) time.Duration {
	t := p.think
	switch t.Distribution {
	case "uniform":
		if t.Max <= t.Min {
			return t.Min
		}
		return t.Min + time.Duration(p.stream.Float64(i)*float64(t.Max-t.Min))
	case "exponential":
		d := -math.Log1p(-p.stream.Float64(i)) * float64(t.Min)
		if t.Max > 0 && d > float64(t.Max) {
			return t.Max
		}
		return time.Duration(d)
	}
	return t.Min
}
