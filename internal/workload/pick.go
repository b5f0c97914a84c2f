package workload

import (
	"sort"

	"brunt/internal/gen"
	"brunt/internal/plan"
)

// queue picks from a shuffled list of operations without holding it: place i of the queue is
// item At(i) of the unshuffled one, which holds each operation's items side by side.
type queue struct {
	order gen.Permutation
	ends  []uint64 // ends[k]: how many items operations 0…k have together
}

func (q *queue) pick(i uint64) int { return q.owner(q.order.At(i)) }

func (q *queue) owner(item uint64) int {
	return sort.Search(len(q.ends), func(k int) bool { return q.ends[k] > item })
}

// ordinal numbers the operations of one kind from 0, in the order of the unshuffled list.
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

// turns takes operations in a given order, again and again.
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
