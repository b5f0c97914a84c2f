package tpc

import (
	"math"
	"strconv"

	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// confidence95 is the 97.5 % quantile of the standard normal distribution.
const confidence95 = 1.959963984540054

// Interval is an estimate with its confidence interval of 95 %.
type Interval struct{ Value, Low, High float64 }

// Share estimates the share of k of n by Wilson's score interval (Wilson, "Probable inference, the law of succession,
// and statistical inference", JASA 22, 1927). n must not be 0.
func Share(k, n uint64) Interval {
	z, size := confidence95, float64(n)
	p := float64(k) / size
	middle := (p + z*z/(2*size)) / (1 + z*z/size)
	half := z / (1 + z*z/size) * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	return Interval{p, max(0, middle-half), min(1, middle+half)}
}

// Mean estimates a mean of n values that have a known standard deviation.
func Mean(sum float64, n uint64, deviation float64) Interval {
	m := sum / float64(n)
	half := confidence95 * deviation / math.Sqrt(float64(n))
	return Interval{m, m - half, m + half}
}

// Judgement is what an estimate says about limits.
type Judgement string

// The judgements.
const (
	Within Judgement = "ok"
	Beyond Judgement = "outside"
	TooFew Judgement = "too few to tell"
)

// Judge compares an estimate with limits: it is within them, or outside, only if its whole interval is.
func (i Interval) Judge(low, high float64) Judgement {
	switch {
	case i.Low >= low && i.High <= high:
		return Within
	case i.High < low || i.Low > high:
		return Beyond
	}
	return TooFew
}

// Cell returns the judgement for a report.
func (j Judgement) Cell(l units.Language) cell.Cell {
	mark := map[Judgement]cell.Mark{Within: cell.Good, Beyond: cell.Bad, TooFew: cell.Warn}[j]
	text := map[Judgement]string{Within: message.Label(l, "ok"), Beyond: message.Label(l, "outside"),
		TooFew: message.Label(l, "too few to tell")}[j]
	return cell.Text(text).Marked(mark)
}

// Percent returns a share in per cent.
func Percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 2, 64) + " %" }
