package record

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"brunt/internal/measure"
	"brunt/internal/render/message"
)

// Ns is a time in nanoseconds. Arrivals that were never answered have the time Infinite, which is null in JSON.
type Ns int64

// Infinite is the time of an arrival without a good answer.
const Infinite Ns = measure.Infinite

// MarshalJSON writes a number, or null for Infinite.
func (n Ns) MarshalJSON() ([]byte, error) {
	if n == Infinite {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Ns) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Infinite
		return nil
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	*n = Ns(v)
	return err
}

// Figure is a number that may be infinite. NaN means that there is no number.
type Figure float64

// noFigure represents NaN in JSON.
const noFigure = `"none"`

// IsZero reports whether there is no number, so that fields with omitzero are left out.
func (f Figure) IsZero() bool { return math.IsNaN(float64(f)) }

// MarshalJSON writes a number, null for an infinite one, or "none" for NaN.
func (f Figure) MarshalJSON() ([]byte, error) {
	switch x := float64(f); {
	case math.IsNaN(x):
		return []byte(noFigure), nil
	case math.IsInf(x, 0):
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figure) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		*f = Figure(math.Inf(1))
		return nil
	case noFigure:
		*f = Figure(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(f))
}

// LatencyOf returns h, which may be nil, in the form of run.json. If hdr is not nil, the result includes the whole
// distribution, encoded by hdr.
func LatencyOf(h *measure.Histogram, hdr *measure.HDREncoder) Latency {
	return AnswersOf(measure.Answers{Times: h}, hdr)
}

// AnswersOf returns a in the form of run.json. Quantiles cover all arrivals; Count, MinNs, MeanNs and the distribution
// cover only those with a good answer. hdr is as in LatencyOf.
func AnswersOf(a measure.Answers, hdr *measure.HDREncoder) Latency {
	h := a.Times
	if h.Count()+a.NoAnswer == 0 {
		return Latency{}
	}
	q := func(q float64) Ns { return Ns(a.Quantile(q)) }
	l := Latency{
		NoAnswer: a.NoAnswer, P50Ns: q(0.5), P75Ns: q(0.75), P90Ns: q(0.9), P95Ns: q(0.95), P99Ns: q(0.99),
		P999Ns: q(0.999), P9999Ns: q(0.9999), MaxNs: q(1),
	}
	if h.Count() == 0 {
		return l
	}
	l.Count, l.MinNs, l.MeanNs = h.Count(), Ns(h.Min()), h.Mean()
	if a.NoAnswer > 0 {
		l.LongestNs = Ns(h.Max())
	}
	if hdr != nil {
		l.HDR = string(hdr.Append(nil, h))
	}
	return l
}

// Histogram decodes the whole distribution of l, with the exact minimum, maximum and mean. It returns an error if l has
// no valid distribution. An empty Latency gives an empty histogram.
func (l *Latency) Histogram() (*measure.Histogram, error) {
	most := l.MaxNs
	if l.NoAnswer > 0 {
		most = l.LongestNs
	}
	hdr, err := base64.StdEncoding.DecodeString(l.HDR)
	if err != nil {
		return nil, fmt.Errorf("decode HdrHistogram: not base64: %w", err)
	}
	h := measure.NewHistogram()
	if err := decodeHistogram(&measure.HDRDecoder{}, h, hdr, l.Count, int64(l.MinNs), int64(most), l.MeanNs); err != nil {
		return nil, err
	}
	return h, nil
}

// Answers is the inverse of AnswersOf; it fails as Histogram does.
func (l *Latency) Answers() (measure.Answers, error) {
	h, err := l.Histogram()
	return measure.Answers{Times: h, NoAnswer: l.NoAnswer}, err
}

// maxNs is the longest time that a record may hold: ten years.
const maxNs = int64(10 * 365 * 24 * 3600 * 1e9)

// decodeHistogram decodes hdr into h. After an error the content of h is undefined.
func decodeHistogram(decoder *measure.HDRDecoder, h *measure.Histogram, hdr []byte, count uint64, minNs,
	maxValueNs int64, meanNs float64) error {
	if len(hdr) == 0 {
		if count != 0 {
			return fmt.Errorf("a histogram of %d values is missing", count)
		}
		h.Reset()
		return nil
	}
	if err := decoder.DecodeInto(h, hdr); err != nil {
		return err
	}
	return restored(h, count, minNs, maxValueNs, meanNs)
}

// restored sets what the encoding of h doesn't contain, if that makes sense.
func restored(h *measure.Histogram, count uint64, minNs, maxValueNs int64, meanNs float64) error {
	if h.Count() != count {
		return fmt.Errorf("histogram holds %d values instead of %d", h.Count(), count)
	}
	if minNs < 0 || maxValueNs < minNs || maxValueNs > maxNs || math.IsNaN(meanNs) || meanNs < 0 ||
		meanNs > float64(maxNs) {
		return fmt.Errorf("histogram's extremes %d to %d ns, mean %g ns, make no sense", minNs, maxValueNs, meanNs)
	}
	h.Restore(minNs, maxValueNs, meanNs)
	return nil
}

// Confidence is the confidence level of all Bounds.
const Confidence = 0.95

// Bounds is the confidence interval of a figure within its run, or the reason why there is none. It doesn't predict how
// much another run would differ.
type Bounds struct {
	Low        float64         `json:"low"` // in the figure's unit
	High       float64         `json:"high"`
	Correlated bool            `json:"correlated,omitempty"` // widened for autocorrelation; may still be too narrow
	Why        message.Message `json:"why,omitzero"`         // why there is no interval; zero if there is one
}

// Within holds the confidence intervals of a distribution's figures. If Why is set, there are none.
type Within struct {
	Why   message.Message `json:"why,omitzero"`
	Mean  *Bounds         `json:"mean,omitempty"`
	P50   *Bounds         `json:"p50,omitempty"`
	P75   *Bounds         `json:"p75,omitempty"`
	P90   *Bounds         `json:"p90,omitempty"`
	P95   *Bounds         `json:"p95,omitempty"`
	P99   *Bounds         `json:"p99,omitempty"`
	P999  *Bounds         `json:"p999,omitempty"`
	P9999 *Bounds         `json:"p9999,omitempty"`
}

// Quantiles are the quantiles of Within that follow the mean, in its order.
var Quantiles = [...]float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}

// All returns the bounds in the order of w's fields; nil if w is nil.
func (w *Within) All() []*Bounds {
	if w == nil {
		return nil
	}
	all := []*Bounds{w.Mean, w.P50, w.P75, w.P90, w.P95, w.P99, w.P999, w.P9999}
	if !w.Why.IsZero() {
		for i := range all {
			all[i] = &Bounds{Why: w.Why}
		}
	}
	return all
}

// WithinOf is the inverse of Within.All.
func WithinOf(all []*Bounds) *Within {
	w := &Within{Mean: all[0], P50: all[1], P75: all[2], P90: all[3], P95: all[4], P99: all[5], P999: all[6],
		P9999: all[7]}
	why := message.Message{}
	for i, b := range all {
		if b == nil || b.Why.IsZero() || i > 0 && !b.Why.Equal(why) {
			return w
		}
		why = b.Why
	}
	return &Within{Why: why}
}
