package workload

import (
	"math"
	"strconv"
	"time"

	"brunt/internal/gen"
	"brunt/internal/plan"
)

// pause is one think time with the stream that it draws from.
type pause struct {
	think  plan.Think
	stream gen.Stream
}

// newPauses lays out the think times of every operation: the pause after it and then those after each of
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
