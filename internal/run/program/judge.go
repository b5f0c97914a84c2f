package program

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

const (
	// leastAchieved is the share of the arrivals that must get a good answer while their schedule lasts.
	leastAchieved = 0.99
	// fewestMissing is how many arrivals may always be in flight when the schedule ends.
	fewestMissing = 3
	// backlogShare is the share of all arrivals by which the number of due but unanswered arrivals may grow over a
	// trial.
	backlogShare = 0.005
	backlogP     = 0.01
	// degraded is the largest allowed ratio of the 95th percentile to that of the base line if there are no thresholds.
	// Growth by less than degradedNs is always allowed.
	degraded   = 5
	degradedNs = 5e6
	// failedShare is the share of failed operations from which on failures, not a lack of capacity, are the reason.
	failedShare = 0.01
)

// JudgeTrial returns the result of a trial. base is the result of the base line if there are no thresholds, otherwise
// nil.
func JudgeTrial(t Trial, o *Outcome, base *Result) Result {
	run := o.Run
	total := &run.Total
	r := Result{
		Trial: t, Verdict: run.Verdict.Result, Dir: o.Dir,
		AskedPerS: o.AskedPerS(), OfferedPerS: total.OfferedPerS, AchievedPerS: o.AchievedPerS(),
		P50Ns: figure(total.Response.P50Ns), P95Ns: figure(total.Response.P95Ns), P99Ns: figure(total.Response.P99Ns),
		ServiceNs: total.Service.MeanNs, InFlight: run.Health.InFlightMean,
	}
	r.Arrivals, r.Offered, r.LastsNs = o.Requests(), total.Offered, o.lastsNs()
	if total.Done > 0 {
		r.Errors = float64(total.Failed) / float64(total.Done)
	}
	if run.DurationNs > 0 {
		r.Waited = float64(run.Health.SaturatedNs) / float64(run.DurationNs)
	}
	r.CPU = cores(run)
	if slices.ContainsFunc(run.Failures, record.FailureCount.TurnedAway) {
		r.Connected = int(run.Health.SessionsMean)
	}
	for i := range run.Thresholds {
		if t := &run.Thresholds[i]; t.Unit == "ns" && t.Limit > 0 {
			r.Strain = max(r.Strain, t.Value/record.Figure(t.Limit))
		}
	}
	if r.Verdict != verdict.Pass {
		for _, reason := range run.Verdict.Reasons {
			r.Why = append(r.Why, verdict.WithoutTables(reason))
		}
	}
	answered := o.AnsweredInTime
	if len(o.AnsweredPerS) > 0 {
		r.PeakPerS = slices.Max(o.AnsweredPerS)
	}
	// A threshold that holds with the generator's own lag would also hold without it.
	late := run.Verdict.LateAlone && (len(run.Thresholds) > 0 || base != nil)
	if late {
		r.Verdict, r.Why = verdict.Pass, nil
	}
	due := total.Offered
	if o.Run.LoadModel == "closed" && r.AskedPerS > 0 {
		due = r.due(o)
	}
	if r.settle(due, answered, o.Outstanding, base); late && r.Verdict == verdict.Fail {
		r.Verdict, r.Why = verdict.Invalid, run.Verdict.Reasons
	}
	if r.Verdict == verdict.Pass && !enoughDue(o) {
		r.Verdict, r.Why = verdict.Invalid,
			[]message.Message{message.New("trial.not-due", message.Count("n", total.Offered),
				message.Rate("asked", r.AskedPerS))}
	}
	return r
}

// due returns how many operations were asked of scripts that pace themselves: each of them may be one short. What
// wasn't sent counts as offered, since only a busy target keeps such a load below its rate.
func (r *Result) due(o *Outcome) uint64 {
	asked := r.AskedPerS*float64(r.LastsNs)/1e9 - float64(len(o.Run.Operations))
	due := max(o.Run.Total.Offered, uint64(max(asked, 0)))
	if r.LastsNs > 0 {
		r.OfferedPerS = float64(due) / (float64(r.LastsNs) / 1e9)
	}
	return due
}

// lastsNs returns the planned length of the run's load, without warm-up.
func (o *Outcome) lastsNs() (ns int64) {
	for i := range o.Run.Phases {
		p := &o.Run.Phases[i]
		if asked := p.Kind == measure.KindOpen || p.Kind == measure.KindClosed && p.RateTo > 0; asked && !p.WarmUp &&
			p.Offered > 0 {
			ns += p.ScheduleNs
		}
	}
	return ns
}

// enoughDue reports whether as many arrivals fell due as were requested, within five standard deviations of a Poisson
// distribution. No arrivals are never enough. Planned phases in which nothing fell due are ignored, because others took
// their place.
func enoughDue(o *Outcome) bool {
	asked, open := 0.0, false
	for i := range o.Run.Phases {
		if p := &o.Run.Phases[i]; p.Kind == measure.KindOpen && !p.WarmUp {
			open = true
			if p.Offered > 0 {
				asked += (p.RateFrom + p.RateTo) / 2 * float64(p.ScheduleNs) / 1e9
			}
		}
	}
	return !open || o.Run.Total.Offered > 0 && float64(o.Run.Total.Offered) >= asked-5*math.Sqrt(asked)-1
}

// cores returns the CPU use of the watched processes and groups, in cores. This machine as a whole and the load itself
// are watched in every run and are left out. If a source has several such figures, the greatest counts.
func cores(run *record.Run) (sum float64) {
	for i := range run.Watched {
		w := &run.Watched[i]
		if w.Source == "host" || w.Source == "load" {
			continue
		}
		most := 0.0
		for _, m := range w.Metrics {
			if m.Unit == "cores" {
				most = max(most, m.Mean)
			}
		}
		sum += most
	}
	return sum
}

func figure(ns record.Ns) record.Figure {
	if ns == record.Infinite {
		return record.Figure(math.Inf(1))
	}
	return record.Figure(ns)
}

// settle fails a trial that broke one of the rules without a threshold: enough arrivals are answered in time, the
// backlog doesn't grow, and response times aren't far above those of the base line.
func (r *Result) settle(offered, answered uint64, outstanding []float64, base *Result) {
	if r.Verdict == verdict.Invalid {
		return
	}
	fail := func(why message.Message) {
		r.Verdict = verdict.Fail
		r.Why = append(r.Why, why)
	}
	if missing := float64(offered) - float64(answered); missing > (1-leastAchieved)*float64(offered) &&
		missing > fewestMissing {
		fail(message.New("trial.unanswered", message.Part("share", answered, offered), message.Rate("offered", r.OfferedPerS),
			message.Share("least", leastAchieved)))
	}
	batches := stats.BatchMeans(outstanding, stats.GrowthBatches)
	count := func(name string, x float64) message.Arg { return message.Count(name, uint64(max(math.Round(x), 0))) }
	g, limit := stats.GrowthOf(batches), max(backlogShare*float64(offered), fewestMissing)
	if growth := g.Slope * float64(len(batches)); g.P < backlogP && growth > limit {
		fail(message.New("trial.backlog", count("growth", growth), count("first", batches[0]),
			count("last", batches[len(batches)-1]), count("limit", limit), message.Count("offered", offered),
			message.Text("p", strconv.FormatFloat(backlogP, 'g', -1, 64))))
	}
	if base == nil {
		return
	}
	longest := max(degraded*base.P95Ns, base.P95Ns+degradedNs)
	if r.Strain = r.P95Ns / longest; r.Strain > 1 {
		fail(message.New("trial.degraded", message.Ns("p95", float64(r.P95Ns)), message.Count("times", degraded),
			message.Ns("base", float64(base.P95Ns)), message.Text("base_n", Scale(base.N)), message.Ns("least", degradedNs)))
	}
}

const (
	// steadyFewest is how many intervals a load must have before its change over time is judged. slowed is how much its
	// 95th percentile may grow over them, as a share.
	steadyFewest = 2 * stats.GrowthBatches
	slowed       = 0.1
)

// RequireSteady fails a trial whose response times grew steadily over its load.
func (r *Result) RequireSteady(o *Outcome) {
	if r.Verdict == verdict.Invalid || len(o.P95Ns) < steadyFewest {
		return
	}
	g := stats.GrowthOf(stats.BatchMedians(o.P95Ns, stats.GrowthBatches))
	if g.Grows() && g.Share > slowed && !g.Levels() && !g.Steps() {
		r.Verdict = verdict.Fail
		r.Why = append(r.Why, message.New("trial.slowing", message.Change("growth", g.Share)))
	}
}

// Line returns the result of a trial in one line.
func (r *Result) Line() string {
	text := fmt.Sprintf("%s, %s/s of %s/s, p50 %s, p99 %s", r.Verdict, units.Rate(r.AchievedPerS),
		units.Rate(r.OfferedPerS),
		units.Latency(float64(r.P50Ns)), units.Latency(float64(r.P99Ns)))
	if r.Errors > 0 {
		text += ", " + units.Fraction(r.Errors) + " failed"
	}
	switch {
	case r.TooFew && r.Connected > 0:
		return text + fmt.Sprintf(": the target lets %s connect, so it is tried again with no more",
			units.Plural(r.Connected, "session", "sessions"))
	case r.TooFew:
		return text + ": for want of sessions, so it is tried again with more"
	}
	if len(r.Why) > 0 && r.Verdict != verdict.Pass {
		text += ": " + r.Why[0].String()
	}
	return text
}
