package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
)

// Setting is a setting of a service and its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// shown returns the setting without secrets, to be printed and stored.
func (s Setting) shown() Setting { return Setting{s.Name, secret.Value(s.Name, s.Value)} }

// MarshalJSON omits the value of a setting whose name marks it as a secret.
func (s Setting) MarshalJSON() ([]byte, error) {
	type plain Setting
	return json.Marshal(plain(s.shown()))
}

// Cell is a combination of settings.
type Cell []Setting

// String returns the cell as NAME=value, separated by commas, without secrets.
func (c Cell) String() string {
	var all []string
	for _, s := range c {
		all = append(all, s.Name+"="+s.shown().Value)
	}
	return strings.Join(all, ", ")
}

// Grid returns all combinations of the settings' values. The last setting changes fastest.
func Grid(names []string, values [][]string) []Cell {
	cells := []Cell{nil}
	for i, name := range names {
		var next []Cell
		for _, c := range cells {
			for _, v := range values[i] {
				next = append(next, append(slices.Clone(c), Setting{name, v}))
			}
		}
		cells = next
	}
	return cells
}

// MatrixOptions are the options of a comparison of settings.
type MatrixOptions struct {
	Cells       []Cell  `json:"cells"`
	Repetitions int     `json:"repetitions"`
	Seed        uint64  `json:"seed"`      // of the order
	By          string  `json:"by"`        // the figure to compare by: see ParseFigure
	Tolerance   float64 `json:"tolerance"` // how much worse than the best still counts as equal, as a share
	N           float64 `json:"n"`         // of the profile
}

// Matrix measures a service with different settings at the same load. Each repetition runs all cells in a different
// order, so that changes over time affect all cells alike.
type Matrix struct {
	MatrixOptions
	Plan        *plan.Plan // the load, with its warm-up
	Reconfigure func(context.Context, Cell) error
	Drive       Driver
	Planned     func(turn, of int, c Cell)
	Done        func(c Cell, o *Outcome) // called after each run, including repeated ones
}

// CellLog is the result of a cell.
type CellLog struct {
	Settings Cell     `json:"settings"`
	Values   []Value  `json:"values"` // of the figure, one for each repetition
	Mean     Value    `json:"mean"`   // geometric
	Low      Value    `json:"low"`    // ends of its 95 % interval; both 0 if there is none
	High     Value    `json:"high"`
	RatePerS float64  `json:"rate_per_s"` // achieved rate; mean of the repetitions
	P50Ns    Value    `json:"p50_ns"`
	P99Ns    Value    `json:"p99_ns"`
	Errors   float64  `json:"errors"`
	Verdicts []string `json:"verdicts"`
	Dirs     []string `json:"dirs"` // bundles, below the series' folder
	P        float64  `json:"p"`    // of a t test on logarithms against the best, adjusted by Holm; 1 for the best
	Differs  bool     `json:"differs"`
	// Operations are the figures of single operations; none if there is only one.
	Operations []CellOperation `json:"operations,omitempty"`
	// Slower are the operations that are slower than in the best cell, with confidence and by more than the tolerance.
	Slower []string `json:"slower,omitempty"`
}

// CellOperation is the response time of an operation in a cell: means of the repetitions.
type CellOperation struct {
	Name   string  `json:"name"`
	Values []Value `json:"values"` // medians, ns, one for each repetition
	P50Ns  Value   `json:"p50_ns"` // geometric mean of Values
	P95Ns  Value   `json:"p95_ns"` // mean
}

// Value is a figure that may be infinite.
type Value = record.Figure

// MatrixLog is a comparison of settings in a Report.
type MatrixLog struct {
	Options MatrixOptions `json:"options"`
	// AskedPerS is the rate to which the load was set, operations a second; 0 in records of earlier versions.
	AskedPerS float64   `json:"asked_per_s,omitempty"`
	Cells     []CellLog `json:"results"` // in the options' order
	Best      int       `json:"best"`    // index of the cell with the best mean; −1 if none has one
	Advised   int       `json:"advised"` // index of the recommended cell; −1 if none: see advise
	// Alike means that no cell that passes differs significantly from the best.
	Alike bool `json:"alike,omitempty"`
}

// byRate is the name of the rate among figures.
const byRate = "rate"

// confidence is the confidence level of intervals and tests.
const confidence = 0.95

// Run measures all cells. If ctx ends, it returns the results so far with ctx's error.
func (m *Matrix) Run(ctx context.Context) (*MatrixLog, error) {
	figure, lower, err := ParseFigure(m.By)
	if err != nil {
		return nil, err
	}
	log := &MatrixLog{Options: m.MatrixOptions, Best: -1, Advised: -1}
	for _, c := range m.Cells {
		log.Cells = append(log.Cells, CellLog{Settings: c})
	}
	runs := make([][]*Outcome, len(m.Cells))
	order := rand.New(rand.NewPCG(m.Seed, 0))
	drive := Continuing(m.Drive)
	turn, of := 0, m.Repetitions*len(m.Cells)
	for k := range m.Repetitions {
		for _, i := range order.Perm(len(m.Cells)) {
			turn++
			if m.Planned != nil {
				m.Planned(turn, of, m.Cells[i])
			}
			o, err := m.one(ctx, drive, k, i)
			if err != nil {
				return log, err
			}
			runs[i] = append(runs[i], o)
			log.AskedPerS = o.AskedPerS()
			value := o.AchievedPerS()
			if m.By != byRate {
				value = figure(o.Run)
			}
			log.Cells[i].add(o, value)
		}
	}
	for i := range log.Cells {
		log.Cells[i].sumUp(runs[i])
	}
	log.judge(lower)
	return log, nil
}

// one measures cell i for the k-th time. It repeats an invalid run as often as a search would. The last run counts,
// with its verdict.
func (m *Matrix) one(ctx context.Context, drive Driver, k, i int) (*Outcome, error) {
	c := m.Cells[i]
	if err := m.Reconfigure(ctx, c); err != nil {
		return nil, fmt.Errorf("settings %s: %w", c, err)
	}
	var parts []string
	for _, s := range c {
		parts = append(parts, s.Name+"-"+s.shown().Value)
	}
	name := fmt.Sprintf("cell-%02d-%d-%s", i+1, k+1, strings.Join(parts, "-"))
	for try := 1; ; try++ {
		o, err := drive(ctx, Load{Name: record.SafeName(name), Plan: m.Plan, PeakPerS: m.Plan.PeakPerS()})
		if err != nil {
			return nil, fmt.Errorf("settings %s: %w", c, err)
		}
		if o.Run.Interrupted {
			return nil, context.Canceled
		}
		if m.Done != nil {
			m.Done(c, o)
		}
		if o.Run.Verdict.Result != verdict.Invalid || try == invalidTries {
			return o, nil
		}
		name += "-again"
	}
}

func (c *CellLog) add(o *Outcome, v float64) {
	c.Values = append(c.Values, Value(v))
	c.Verdicts = append(c.Verdicts, o.Run.Verdict.Result)
	c.Dirs = append(c.Dirs, filepath.Base(o.Dir))
}

// sumUp computes the figures of a cell from its runs.
func (c *CellLog) sumUp(runs []*Outcome) {
	n := float64(len(runs))
	for _, o := range runs {
		total := &o.Run.Total
		c.RatePerS += o.AchievedPerS() / n
		c.P50Ns += figure(total.Response.P50Ns) / Value(n)
		c.P99Ns += figure(total.Response.P99Ns) / Value(n)
		if total.Done > 0 {
			c.Errors += float64(total.Failed) / float64(total.Done) / n
		}
	}
	c.sumUpOperations(runs)
	v, finite := floats(c.Values)
	if !finite {
		c.Mean = Value(math.Inf(1))
		return
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	c.Mean = Value(math.Exp(sum / n))
	if ci, err := stats.LogInterval(v, confidence); err == nil {
		c.Low, c.High = Value(ci.Low), Value(ci.High)
	}
}

// floats returns the values if all are finite and above 0.
func floats(values []Value) (out []float64, finite bool) {
	for _, v := range values {
		if !(v > 0) || math.IsInf(float64(v), 0) {
			return nil, false
		}
		out = append(out, float64(v))
	}
	return out, len(out) > 0
}

// judge finds the best cell, those that differ from it, and the smallest that is as good.
func (m *MatrixLog) judge(lower bool) {
	better := func(a, b Value) bool { return lower && a < b || !lower && a > b }
	for i := range m.Cells {
		if _, finite := floats(m.Cells[i].Values); finite && (m.Best < 0 || better(m.Cells[i].Mean, m.Cells[m.Best].Mean)) {
			m.Best = i
		}
	}
	if m.Best < 0 {
		return
	}
	p := make([]float64, 0, len(m.Cells))
	var of []int
	all := make([][]float64, len(m.Cells))
	for i := range m.Cells {
		all[i], _ = floats(m.Cells[i].Values)
	}
	for i := range m.Cells {
		c := &m.Cells[i]
		c.P = 1
		if i == m.Best {
			continue
		}
		if all[i] == nil || c.apart(&m.Cells[m.Best]) {
			c.P, c.Differs = 0, true
			continue
		}
		if x, ok := stats.PooledP(all, m.Best, i); ok {
			p, of = append(p, x), append(of, i)
		}
	}
	for k, adjusted := range stats.Holm(p) {
		c := &m.Cells[of[k]]
		c.P, c.Differs = adjusted, adjusted < 1-confidence
	}
	m.judgeOperations()
	passing, differs := 0, false
	for i := range m.Cells {
		if c := &m.Cells[i]; c.passes() {
			passing, differs = passing+1, differs || c.Differs || len(c.Slower) > 0
		}
	}
	m.Alike = passing > 1 && !differs && m.Passes(m.Best)
	m.advise(better)
}

// advise finds the smallest of the cells that pass and are as good as the best of them: those within the tolerance, or
// all if none differs significantly from the best. If no cell passes, it recommends none.
func (m *MatrixLog) advise(better func(a, b Value) bool) {
	var passing []int
	best := Value(math.NaN())
	for i := range m.Cells {
		if c := &m.Cells[i]; c.passes() {
			passing = append(passing, i)
			if math.IsNaN(float64(best)) || better(c.Mean, best) {
				best = c.Mean
			}
		}
	}
	limit := best * Value(1+m.Options.Tolerance)
	if !better(best, limit) {
		limit = best / Value(1+m.Options.Tolerance)
	}
	for _, i := range passing {
		if (m.Alike || !better(limit, m.Cells[i].Mean)) && len(m.Cells[i].Slower) == 0 &&
			(m.Advised < 0 || smaller(m.Cells[i].Settings, m.Cells[m.Advised].Settings)) {
			m.Advised = i
		}
	}
}

// Failing returns how many cells failed in some run.
func (m *MatrixLog) Failing() (n int) {
	for i := range m.Cells {
		if !m.Cells[i].passes() {
			n++
		}
	}
	return n
}

// Undecided returns the settings that pass, are smaller than the best ones, and can't be distinguished from them.
func (m *MatrixLog) Undecided() (settings []string) {
	for i := range m.Cells {
		if c := &m.Cells[i]; i != m.Best && c.passes() && !c.Differs && smaller(c.Settings, m.Cells[m.Best].Settings) {
			settings = append(settings, c.Settings.String())
		}
	}
	return settings
}

// Passes reports whether no run of a cell failed.
func (m *MatrixLog) Passes(cell int) bool { return m.Cells[cell].passes() }

// passes reports whether no run of the cell failed, and all had answers.
func (c *CellLog) passes() bool {
	_, finite := floats(c.Values)
	return finite && c.ended(verdict.Fail) == 0
}

// smaller reports whether a cell uses fewer resources than another: it compares the products of their numbers, then
// their order.
func smaller(a, b Cell) bool {
	x, y := size(a), size(b)
	if x != y {
		return x < y
	}
	for i := range min(len(a), len(b)) {
		if p, q := number(a[i].Value), number(b[i].Value); p != q {
			return p < q
		}
	}
	return false
}

func size(c Cell) float64 {
	product := 1.0
	for _, s := range c {
		product *= number(s.Value)
	}
	return product
}

// number returns a setting's value, or 1 for a word.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) {
		return 1
	}
	return v
}

// ParseFigure reads the name of a figure of a run: rate (successful operations a second), or a metric of times with avg
// or a quantile, such as response.avg or first.p(95), ns. lower says that less is better.
func ParseFigure(name string) (of func(*record.Run) float64, lower bool, err error) {
	if name == byRate {
		return func(r *record.Run) float64 { return r.Total.RatePerS }, false, nil
	}
	rule, err := metric.ParseRule(name + " < 1s")
	declared := measure.Declared()
	times := slices.IndexFunc(declared[:], func(d measure.Distribution) bool { return d.Metric == rule.Metric })
	if err != nil || times < 0 || rule.OK || rule.Operation != "" || rule.Quantile == 0 && rule.Aggregate == "p" ||
		!slices.Contains([]string{"avg", "p"}, rule.Aggregate) {
		return nil, false, errors.New(strconv.Quote(name) +
			" is no figure to compare settings by; use rate, response.avg or response.p(95), say")
	}
	return func(r *record.Run) float64 {
		a, err := r.Total.Times()[times].Answers()
		if err != nil || a.Times.Count() == 0 {
			return math.Inf(1)
		}
		if rule.Aggregate == "avg" {
			return a.Times.Mean()
		}
		if v := a.Quantile(rule.Quantile / 100); v != measure.Infinite {
			return float64(v)
		}
		return math.Inf(1)
	}, true, nil
}
