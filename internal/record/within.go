package record

// Confidence is that of all Bounds.
const Confidence = 0.95

// Bounds is the confidence interval of a figure within its run, or why there is none. It says nothing
// of how far another run would differ.
type Bounds struct {
	Low        float64 `json:"low"` // in the figure's unit
	High       float64 `json:"high"`
	Correlated bool    `json:"correlated,omitempty"` // widened for autocorrelation; it may still be too narrow
	Why        string  `json:"why,omitempty"`        // there is none, for this reason
}

// Within are the bounds of a distribution's figures. With Why there are none.
type Within struct {
	Why   string  `json:"why,omitempty"`
	Mean  *Bounds `json:"mean,omitempty"`
	P50   *Bounds `json:"p50,omitempty"`
	P75   *Bounds `json:"p75,omitempty"`
	P90   *Bounds `json:"p90,omitempty"`
	P95   *Bounds `json:"p95,omitempty"`
	P99   *Bounds `json:"p99,omitempty"`
	P999  *Bounds `json:"p999,omitempty"`
	P9999 *Bounds `json:"p9999,omitempty"`
}

// Quantiles are those of Within after the mean, in its order.
var Quantiles = [...]float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}

// All are the bounds in w's order; nil if w is.
func (w *Within) All() []*Bounds {
	if w == nil {
		return nil
	}
	all := []*Bounds{w.Mean, w.P50, w.P75, w.P90, w.P95, w.P99, w.P999, w.P9999}
	if w.Why != "" {
		for i := range all {
			all[i] = &Bounds{Why: w.Why}
		}
	}
	return all
}

// WithinOf is the inverse of All.
func WithinOf(all []*Bounds) *Within {
	w := &Within{Mean: all[0], P50: all[1], P75: all[2], P90: all[3], P95: all[4], P99: all[5], P999: all[6], P9999: all[7]}
	why := ""
	for i, b := range all {
		if b == nil || b.Why == "" || i > 0 && b.Why != why {
			return w
		}
		why = b.Why
	}
	return &Within{Why: why}
}
