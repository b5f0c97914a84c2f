package workload

import (
	"fmt"
	"math"

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
	lo, hi := 0, len(q.ends)
	for lo < hi {
		if mid := (lo + hi) / 2; q.ends[mid] > item {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
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
		return newQueue(p)
	case plan.ByTurn:
		return turns(p.Turns), 0, nil
	}
	weights := make([]float64, len(p.Operations))
	used, last := 0, 0
	for i := range p.Operations {
		weights[i] = p.Operations[i].Weight
		if weights[i] < 0 || math.IsNaN(weights[i]) || math.IsInf(weights[i], 0) {
			return nil, 0, fmt.Errorf("operation %q: weight %v; give a number ≥ 0", p.Operations[i].Name, weights[i])
		}
		if weights[i] > 0 {
			used, last = used+1, i
		}
	}
	switch used {
	case 0:
		return nil, 0, fmt.Errorf("no operation has a weight above 0; give one a weight")
	case 1:
		return only(last), 0, nil
	}
	w, err := gen.NewWeighted(weights)
	return &mix{gen.NewStream(p.Seed, "mix"), w}, 0, err
}

func newQueue(p *plan.Plan) (picker, uint64, error) {
	total, ok := totalCount(p)
	switch {
	case !ok:
		return nil, 0, fmt.Errorf("the counts of all operations add up to more than 2^64; lower them")
	case total == 0:
		return nil, 0, fmt.Errorf("the queue is empty; give an operation a count above 0")
	}
	q := &queue{order: gen.NewPermutation(gen.NewStream(p.Seed, "queue"), total), ends: make([]uint64, len(p.Operations))}
	var end uint64
	for i := range p.Operations {
		end += p.Operations[i].Count
		q.ends[i] = end
	}
	return q, total, nil
}

// totalCount is the length of the queue; ok is false if it doesn't fit into 64 bits.
func totalCount(p *plan.Plan) (total uint64, ok bool) {
	for i := range p.Operations {
		n := p.Operations[i].Count
		if total+n < total {
			return 0, false
		}
		total += n
	}
	return total, true
}
