package program

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"strconv"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// Trial is a load that a search tries.
type Trial struct {
	Number   int     `json:"number"` // from 1
	N        float64 `json:"n"`      // the profile's rates times this
	Sessions int     `json:"sessions"`
	Purpose  string  `json:"purpose"`
	// Recover means that the trial before may have left the target overloaded, so the target must recover first.
	Recover bool `json:"recover,omitempty"`
}

// The purposes of trials.
const (
	BaseLine = "base line"
	Rise     = "rise"
	Fall     = "fall"
	Bisect   = "bisect"
	Estimate = "estimate" // the capacity that the trials so far suggest
	Near     = "beside"   // near an estimate that was tried
	Margin   = "margin"   // next to loads that both passed and failed
	Confirm  = "confirm"
	Refute   = "refute"
	Doubt    = "doubt" // above a maximum at which response times are far below their limit
)

// Result is the result of a trial. Verdict is one of package verdict's. An invalid trial says nothing about the target.
type Result struct {
	Trial
	Verdict string            `json:"verdict"`
	Why     []message.Message `json:"why,omitempty"`
	Dir     string            `json:"dir,omitempty"` // the bundle, below the series' folder

	AskedPerS    float64       `json:"asked_per_s,omitempty"` // rate to which the load was set
	Arrivals     uint64        `json:"arrivals,omitempty"`    // that fell due, including the warm-up
	Offered      uint64        `json:"offered,omitempty"`     // arrivals that fell due, without the warm-up
	LastsNs      int64         `json:"lasts_ns,omitempty"`    // planned length of the load, without the warm-up
	OfferedPerS  float64       `json:"offered_per_s"`         // rate of arrivals that fell due
	AchievedPerS float64       `json:"achieved_per_s"`        // of these, with a good answer while the schedule ran
	PeakPerS     float64       `json:"peak_per_s"`            // achieved in the best interval
	P50Ns        record.Figure `json:"p50_ns"`                // of response time, over all arrivals
	P95Ns        record.Figure `json:"p95_ns"`
	P99Ns        record.Figure `json:"p99_ns"`
	ServiceNs    float64       `json:"service_ns"` // mean
	Errors       float64       `json:"errors"`     // share of the operations
	InFlight     float64       `json:"in_flight"`  // mean
	// Waited is the share of the time in which arrivals waited for sessions.
	Waited float64 `json:"waited"`
	// Strain is the greatest ratio of a response time to its limit. Above 1 the trial fails; 0 means that no limit is
	// on a time.
	Strain record.Figure `json:"strain,omitempty"`
	// CPU is the CPU use of the watched processes, in cores; 0 if none was watched.
	CPU float64 `json:"cpu,omitempty"`
	// TooFew means that the trial failed because it had too few sessions, so it says nothing about the target.
	TooFew bool `json:"too_few_sessions,omitempty"`
	// Unreached means that fewer sessions could connect than before, or none. The trial is repeated, and says nothing
	// about the target.
	Unreached bool `json:"unreached,omitempty"`
	// Connected is the mean number of sessions if the target refused others; 0 if it did not.
	Connected int `json:"connected,omitempty"`
}

// LoadPerS returns the rate to which the load was set or, in records of earlier versions, the rate that fell due.
func (r *Result) LoadPerS() float64 { return cmp.Or(r.AskedPerS, r.OfferedPerS) }

// tooFewSessions reports whether a trial failed because it had too few sessions: all were busy, although the target
// took hardly longer for an operation than before.
func (r *Result) tooFewSessions(before float64, most int) bool {
	const busy, slower = 0.05, 1.5
	return r.Verdict == verdict.Fail && r.Sessions < most && r.Waited > busy && before > 0 && r.ServiceNs < slower*before
}

// saturated reports whether the target gave good answers at its full rate and left the rest waiting, so that the
// achieved rate is about its capacity.
func (r *Result) saturated() bool {
	return r.Verdict == verdict.Fail && r.OfferedPerS > 0 && r.AchievedPerS < leastAchieved*r.OfferedPerS
}

// collapsed reports whether the target achieved clearly more for a time than over the whole trial, before its backlog
// overloaded it.
func (r *Result) collapsed() bool {
	const clearly = 1.1
	return r.PeakPerS > clearly*r.AchievedPerS
}

// ProfileRate returns the rate of a plan's profile at 100 %, operations a second. It is the highest rate of its open
// phases.
func ProfileRate(p *plan.Plan) (float64, error) {
	rate := p.Scripts.RatePerS
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

// AtScale returns p with the load of its profile times n: open, at a constant rate, after a warm-up at the same rate if
// its length is not 0. It shares everything else with p.
func AtScale(p *plan.Plan, n float64, warmUp, length time.Duration) (*plan.Plan, error) {
	rate, err := ProfileRate(p)
	if err != nil {
		return nil, err
	}
	out := *p
	if paced(p) {
		pace(&out, rate, n, length)
	} else {
		if err := out.SetLoad(plan.RateLoad(rate*n, length)); err != nil {
			return nil, err
		}
		out.Load[0].Arrivals = arrivals(p)
	}
	if warmUp > 0 {
		if err := plan.WarmUp(&out, warmUp); err != nil {
			return nil, err
		}
	}
	out.Scaled = n
	return &out, nil
}

// paced reports whether a plan's scripts say themselves how fast they send.
func paced(p *plan.Plan) bool { return p.Scripts.ScaledBy != "" }

// pace gives a plan whose scripts say how fast they send the load of its profile times n: a closed one.
func pace(p *plan.Plan, rate, n float64, length time.Duration) {
	if p.Scripts.Options = maps.Clone(p.Scripts.Options); p.Scripts.Options == nil {
		p.Scripts.Options = map[string]string{}
	}
	p.Scripts.Options[p.Scripts.ScaledBy] = strconv.FormatFloat(n, 'f', -1, 64)
	p.Load = []plan.Phase{{Name: "load", Kind: plan.Closed, Duration: length, RateFrom: rate * n, RateTo: rate * n}}
}

// SetSessions sets the number of a plan's sessions, unless its scripts decide that.
func SetSessions(p *plan.Plan, n int) {
	if !paced(p) {
		p.Settings.Sessions = n
	}
}

// Ramp inserts a warm-up in which the rate rises to that of the plan's load. Scripts that say how fast they send have
// the load's rate from the beginning.
func Ramp(p *plan.Plan, length time.Duration) error {
	if paced(p) {
		return plan.WarmUp(p, length)
	}
	p.Load = append([]plan.Phase{{Name: "ramp", Kind: plan.Open, Duration: length, RateTo: p.Load[0].RateTo,
		Arrivals: p.Load[0].Arrivals, WarmUp: true}}, p.Load...)
	return nil
}

// Enough returns how long the load of p's profile times n must last, so that five operations lie beyond the quantile of
// the strictest of p's thresholds. Without thresholds, it uses the 95th percentile, by which the base line is compared.
// It returns 0 if no threshold is on a quantile.
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

// arrivals returns the arrival process of p's open phases.
func arrivals(p *plan.Plan) string {
	for i := range p.Load {
		if p.Load[i].Kind == plan.Open {
			return p.Load[i].Arrivals
		}
	}
	return ""
}
