package program

import (
	"cmp"
	"errors"
	"math"
	"time"

	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/verdict"
)

// Trial is a load that a search wants tried.
type Trial struct {
	Number   int     `json:"number"` // from 1
	N        float64 `json:"n"`      // the profile's rates times this
	Sessions int     `json:"sessions"`
	Purpose  string  `json:"purpose"`
	// Recover says that the trial before may have left the target overloaded, so that it must come to
	// itself first.
	Recover bool `json:"recover,omitempty"`
}

// The purposes of trials.
const (
	BaseLine = "base line"
	Rise     = "rise"
	Fall     = "fall"
	Bisect   = "bisect"
	Estimate = "estimate" // where the trials so far point to
	Beside   = "beside"   // near an estimate that was tried
	Margin   = "margin"   // next to loads that passed once and failed once
	Confirm  = "confirm"
	Refute   = "refute"
)

// Result is what came of a trial. Verdict is one of package verdict's; an invalid one says nothing of the
// target.
type Result struct {
	Trial
	Verdict string            `json:"verdict"`
	Why     []message.Message `json:"why,omitempty"`
	Dir     string            `json:"dir,omitempty"` // the bundle, below the series' folder

	AskedPerS    float64       `json:"asked_per_s,omitempty"` // the rate that the load was set to
	Arrivals     uint64        `json:"arrivals,omitempty"`    // that fell due, those of the warm-up too
	Offered      uint64        `json:"offered,omitempty"`     // arrivals that fell due, without the warm-up
	LastsNs      int64         `json:"lasts_ns,omitempty"`    // how long the load was to last, without the warm-up
	OfferedPerS  float64       `json:"offered_per_s"`         // what fell due
	AchievedPerS float64       `json:"achieved_per_s"`        // of it, answered well while the schedule ran
	PeakPerS     float64       `json:"peak_per_s"`            // achieved in the interval with the most
	P50Ns        record.Figure `json:"p50_ns"`                // of response time, over all arrivals
	P95Ns        record.Figure `json:"p95_ns"`
	P99Ns        record.Figure `json:"p99_ns"`
	ServiceNs    float64       `json:"service_ns"` // mean
	Errors       float64       `json:"errors"`     // share of the operations
	InFlight     float64       `json:"in_flight"`  // mean
	// Waited is the share of the time in which arrivals waited for sessions.
	Waited float64 `json:"waited"`
	// Strain is the greatest ratio of a response time to its limit; above 1 is a failure, 0 means that no
	// limit is on a time.
	Strain record.Figure `json:"strain,omitempty"`
	// CPU is, in cores, what the watched processes used; 0 if none was watched.
	CPU float64 `json:"cpu,omitempty"`
	// TooFew says that it failed for want of sessions, and says nothing of the target.
	TooFew bool `json:"too_few_sessions,omitempty"`
	// Unreached says that fewer sessions could connect than before, or none: it is repeated, and says nothing of the
	// target.
	Unreached bool `json:"unreached,omitempty"`
	// Connected is how many sessions there were on average where the target turned others away; 0 where it did not.
	Connected int `json:"connected,omitempty"`
}

// LoadPerS is the rate that the load was set to, in records of earlier versions what fell due.
func (r *Result) LoadPerS() float64 { return cmp.Or(r.AskedPerS, r.OfferedPerS) }

// tooFewSessions reports whether a trial failed for want of sessions: they were all busy although the
// target took hardly longer for an operation than before.
func (r *Result) tooFewSessions(before float64, most int) bool {
	const busy, slower = 0.05, 1.5
	return r.Verdict == verdict.Fail && r.Sessions < most && r.Waited > busy && before > 0 && r.ServiceNs < slower*before
}

// saturated reports whether the target answered well what it could and left the rest waiting, so that
// what was achieved is about what it can do.
func (r *Result) saturated() bool {
	return r.Verdict == verdict.Fail && r.OfferedPerS > 0 && r.AchievedPerS < leastAchieved*r.OfferedPerS
}

// collapsed reports whether the target did clearly more for a while than over the whole trial: before it gave
// way to what waited.
func (r *Result) collapsed() bool {
	const clearly = 1.1
	return r.PeakPerS > clearly*r.AchievedPerS
}

// ProfileRate is what a plan's rates add up to, operations a second: 100 % of its profile. It is the
// highest rate of its open phases.
func ProfileRate(p *plan.Plan) (float64, error) {
	rate := 0.0
	for i := range p.Load {
		if ph := &p.Load[i]; ph.Kind == plan.Open && !ph.WarmUp {
			rate = max(rate, ph.RateFrom, ph.RateTo)
		}
	}
	if rate == 0 {
		return 0, errors.New("plan " + p.Name +
			" has no rates, so there is nothing to multiply; give its operations rates, or its load a constant rate")
	}
	return rate, nil
}

// AtScale is p with the load of its profile times n: open, at a constant rate, after a warm-up at the
// same rate if that has a length. It shares all else with p.
func AtScale(p *plan.Plan, n float64, warmUp, length time.Duration) (*plan.Plan, error) {
	rate, err := ProfileRate(p)
	if err != nil {
		return nil, err
	}
	out := *p
	if err := out.SetLoad(plan.RateLoad(rate*n, length)); err != nil {
		return nil, err
	}
	out.Load[0].Arrivals = arrivals(p)
	if warmUp > 0 {
		if err := plan.WarmUp(&out, warmUp); err != nil {
			return nil, err
		}
	}
	out.Scaled = n
	return &out, nil
}

// Enough is how long the load of p's profile times n must last for the strictest of p's thresholds on quantiles to
// rest on five operations beyond its quantile; without thresholds, for the 95th percentile that the base line is
// compared by. It is 0 if no threshold is on a quantile.
func Enough(p *plan.Plan, n float64) time.Duration {
	const beyond = 5
	rate, err := ProfileRate(p)
	if err != nil || n <= 0 {
		return 0
	}
	quantile := 0.0
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; t.Aggregate == "p" && t.Quantile < 100 {
			quantile = max(quantile, t.Quantile/100)
		}
	}
	if len(p.Thresholds) == 0 {
		quantile = 0.95
	}
	if quantile == 0 {
		return 0
	}
	return time.Duration(min(beyond/(1-quantile)/(rate*n), math.MaxInt64/2/1e9) * 1e9)
}

// arrivals is the arrival process of p's open phases.
func arrivals(p *plan.Plan) string {
	for i := range p.Load {
		if p.Load[i].Kind == plan.Open {
			return p.Load[i].Arrivals
		}
	}
	return ""
}
