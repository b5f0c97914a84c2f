package program

import (
	"math"
	"slices"

	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
)

// apart reports whether the verdicts of a cell's runs alone tell it apart from another one: it failed in all of them, and
// the other in none, or the other way round.
func (c *CellLog) apart(o *CellLog) bool {
	const fewest = 2
	n, m := len(c.Verdicts), len(o.Verdicts)
	failed, other := c.ended(verdict.Fail), o.ended(verdict.Fail)
	return n >= fewest && m >= fewest && (failed == n && other == 0 || failed == 0 && other == m)
}

// sumUpOperations computes the figures of the operations from a cell's runs.
func (c *CellLog) sumUpOperations(runs []*Outcome) {
	if len(runs) == 0 || len(runs[0].Run.Operations) < 2 {
		return
	}
	for i := range runs[0].Run.Operations {
		o := CellOperation{Name: runs[0].Run.Operations[i].Name}
		sum := 0.0
		for _, run := range runs {
			for k := range run.Run.Operations {
				if x := &run.Run.Operations[k]; x.Name == o.Name && x.Response.Count > 0 {
					o.Values = append(o.Values, figure(x.Response.P50Ns))
					o.P95Ns += figure(x.Response.P95Ns) / Value(len(runs))
					sum += math.Log(float64(figure(x.Response.P50Ns)))
				}
			}
		}
		if len(o.Values) == len(runs) {
			o.P50Ns = Value(math.Exp(sum / float64(len(runs))))
			c.Operations = append(c.Operations, o)
		}
	}
}

// judgeOperations finds the operations that are slower in a cell than in the best one. A figure over all operations hides
// them if they are few.
func (m *MatrixLog) judgeOperations() {
	best := &m.Cells[m.Best]
	type compared struct {
		cell int
		name string
	}
	var p []float64
	var of []compared
	for _, o := range best.Operations {
		all := make([][]float64, len(m.Cells))
		for i := range m.Cells {
			k := slices.IndexFunc(m.Cells[i].Operations, func(x CellOperation) bool { return x.Name == o.Name })
			if k >= 0 {
				all[i], _ = floats(m.Cells[i].Operations[k].Values)
			}
		}
		for i := range m.Cells {
			if i == m.Best || all[i] == nil || all[m.Best] == nil ||
				geometric(all[i]) <= geometric(all[m.Best])*(1+max(m.Options.Tolerance, leastSlower)) {
				continue
			}
			if x, ok := stats.PooledP(all, m.Best, i); ok {
				p, of = append(p, x), append(of, compared{i, o.Name})
			}
		}
	}
	for k, adjusted := range stats.Holm(p) {
		if adjusted < 1-confidence {
			c := &m.Cells[of[k].cell]
			c.Slower = append(c.Slower, of[k].name)
		}
	}
}

// leastSlower is how much slower an operation must be at least to be named, as a share.
const leastSlower = 0.2

// geometric returns the geometric mean of values above 0.
func geometric(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}
