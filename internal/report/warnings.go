package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/record"
)

// The stable ids of the warnings that Assess gives.
const (
	WarnClosedLoad       = "closed-load"
	WarnIncomplete       = "incomplete"
	WarnInterrupted      = "interrupted"
	WarnShortRun         = "short-run"
	WarnFewSamples       = "few-samples-for-quantile"
	WarnErrors           = "errors-present"
	WarnUnknownOutcome   = "unknown-outcomes"
	WarnLateArrivals     = "late-arrivals"
	WarnVisibleLag       = "lag-visible"
	WarnDropped          = "dropped"
	WarnSaturated        = "saturated"
	WarnGeneratorLimited = "generator-limited"
	WarnNearCeiling      = "near-ceiling"
	WarnTolerance        = "clock-tolerance"
	WarnLibraryTier      = "library-tier"
	WarnTLSLibraryTier   = "tls-library-tier"
	WarnPaused           = "generator-paused"
	WarnGovernor         = "cpu-governor"
	WarnMissing          = "keys-missing"
	WarnBadHash          = "bad-hash"
	WarnReconnects       = "reconnects"
	WarnLeak             = "leak"
	WarnDrift            = "throughput-drift"
)

// Assess says what a reader of the run must know, each with its remedy, in the order of weight.
// It takes all from run and changes nothing of it.
func Assess(run *record.Run) []record.Warning {
	var out []record.Warning
	for _, f := range []func(*record.Run) []record.Warning{
		assessEnd, assessGenerator, assessServer, assessErrors, assessWatched, assessSamples, assessModel,
	} {
		out = append(out, f(run)...)
	}
	return out
}

func warning(id, remedy, text string, args ...any) record.Warning {
	return record.Warning{ID: id, Text: fmt.Sprintf(text, args...), Remedy: remedy}
}

func assessEnd(run *record.Run) (out []record.Warning) {
	if !run.Complete {
		out = append(out, warning(WarnIncomplete, "repeat the run for a result that counts",
			"the run was killed: this is what was recorded up to %s into its load, without thresholds", span(time.Duration(lastNs(run)))))
	}
	if run.Interrupted {
		out = append(out, warning(WarnInterrupted, "let it finish for a result that counts",
			"the run was interrupted after %s under load", span(time.Duration(run.DurationNs))))
	}
	return out
}

func assessGenerator(run *record.Run) (out []record.Warning) {
	h := &run.Health
	if len(lateReasons(run))+len(machineReasons(run)) > 0 {
		out = append(out, warning(WarnGeneratorLimited, "take the remedies named with the verdict",
			"the generator limited this result: don't take it for the server's"))
	} else if open(run) && h.OwnLagP99Ns > int64(lagLimitShare*float64(run.Total.Response.P50Ns)) && h.OwnLagP99Ns > run.ToleranceNs+int64(lagLimitCodec)/10 {
		out = append(out, warning(WarnVisibleLag, "compare service times, or free this machine's cores",
			"response times hold up to %s (own lag p99) of the generator's own, more than a tenth of their median", latencyInt(h.OwnLagP99Ns)))
	}
	if h.PausedNs > 0 && share(h.PausedNs, run.DurationNs) <= pausedLimit {
		out = append(out, warning(WarnPaused, "repeat the run if the highest quantiles matter",
			"the generator stood still for %s; the slowest responses may be its own", span(time.Duration(h.PausedNs))))
	}
	if h.CeilingPerS > 0 && run.Total.RatePerS > 0.8*h.CeilingPerS {
		out = append(out, warning(WarnNearCeiling, "use a larger machine or several to find out more",
			"the rate is %s of this machine's measured ceiling of %s/s", fraction(run.Total.RatePerS/h.CeilingPerS), rate(h.CeilingPerS)))
	}
	if g := run.Environment.Governor; g == "powersave" || g == "ondemand" || g == "conservative" {
		out = append(out, warning(WarnGovernor, "set it to performance for steadier times",
			"the CPU's frequency follows its load (governor %s)", g))
	}
	return out
}

func assessServer(run *record.Run) (out []record.Warning) {
	h := &run.Health
	if s := share(h.SaturatedNs, run.DurationNs); open(run) && s > saturatedLimit {
		w := warning(WarnSaturated, "lower the rate to what the server sustains", "all %s were busy with arrivals waiting (up to %s) in %s of the time: the load was more than they could carry",
			plural(run.Sessions, "session", "sessions"), count(h.BacklogMax), fraction(s))
		if n := neededSessions(run); n > run.Sessions {
			w.Text += fmt.Sprintf("; by Little's law the rate needs at least %d", n)
			w.Remedy = fmt.Sprintf("try --vu %d, or lower the rate to what the server sustains", roundUp(n))
		}
		out = append(out, w)
	}
	if n := run.Total.Dropped; n > 0 {
		w := warning(WarnDropped, "more sessions or a lower rate; latency is only of what was sent",
			"%s of %s arrivals were given up without being sent", count(n), count(n+run.Total.Done))
		if own := dueWhilePaused(run); own >= 1 {
			w.Text += fmt.Sprintf("; about %s fell due while the generator itself stood still", count(min(own, n)))
			if own >= n/2 {
				w.Remedy = "repeat the run on a machine that isn't suspended, stopped or starved; latency is only of what was sent"
			}
		}
		out = append(out, w)
	}
	if n := run.Total.Late; open(run) && n > 0 && float64(n) > 0.01*float64(run.Total.Done) {
		out = append(out, warning(WarnLateArrivals, "response times count the wait, service times don't",
			"%s of the operations were sent more than 1 ms after their intended start", percent(n, run.Total.Done)))
	}
	var reconnects uint64
	for _, t := range run.Targets {
		reconnects += t.Reconnects
	}
	if reconnects > 0 {
		out = append(out, warning(WarnReconnects, "see the errors of class connect and the server's log",
			"%s lost and made again while running", plural(reconnects, "connection was", "connections were")))
	}
	return out
}

// dueWhilePaused is how many arrivals fell due while the generator stood still.
func dueWhilePaused(run *record.Run) uint64 {
	return uint64(run.Total.OfferedPerS * float64(run.Health.PausedNs) / 1e9)
}

// neededSessions is how many sessions the offered rate needs on average by Little's law: the rate
// times the mean service time. Requests in flight a session divide it.
func neededSessions(run *record.Run) int {
	perS := max(run.Total.OfferedPerS, run.Total.RatePerS)
	n := perS * run.Total.Service.MeanNs / 1e9 / float64(max(run.Pipeline, 1))
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(math.Ceil(n))
}

// roundUp adds the headroom that random arrivals need, three standard deviations of a Poisson
// variable.
func roundUp(n int) int { return n + int(math.Ceil(3*math.Sqrt(float64(n)))) }

func assessErrors(run *record.Run) (out []record.Warning) {
	c := &run.Total.Counts
	if c.Failed > 0 {
		out = append(out, warning(WarnErrors, "see the errors by class and code; latency is of successful operations only",
			"%s of %s operations failed (%s): %s", count(c.Failed), count(c.Done), percent(c.Failed, c.Done), strings.Join(classList(c), ", ")))
	}
	if n := c.Errors["unknown-outcome"]; n > 0 {
		out = append(out, warning(WarnUnknownOutcome, "check the data if it matters",
			"%s sent and never answered: the server may have applied them", plural(n, "operation was", "operations were")))
	}
	if c.Missing > 0 {
		out = append(out, warning(WarnMissing, "check that tables are filled and that keys are drawn from what exists",
			"%s of the operations found no row or key", percent(c.Missing, c.Done)))
	}
	if c.BadHash > 0 {
		out = append(out, warning(WarnBadHash, "compare an answer with the expected body",
			"%s had a body with the wrong hash", plural(c.BadHash, "answer", "answers")))
	}
	return out
}

// The least samples that a quantile needs: ten beyond it.
func assessSamples(run *record.Run) (out []record.Warning) {
	n := run.Total.Response.Count
	for _, q := range []struct {
		name   string
		beyond float64
	}{{"p99", 0.01}, {"p99.9", 0.001}, {"p99.99", 0.0001}} {
		if beyond := float64(n) * q.beyond; n > 0 && beyond < 1 {
			out = append(out, warning(WarnFewSamples, fmt.Sprintf("run until there are %s", count(uint64(math.Round(10/q.beyond)))),
				"%s is not known from %s: from %s on it is the maximum", q.name, plural(n, "sample", "samples"), q.name))
			break
		}
	}
	if d := time.Duration(run.DurationNs); d > 0 && d < 10*time.Second {
		out = append(out, warning(WarnShortRun, "run for at least a minute to see garbage collection, checkpoints and caches at work",
			"the load lasted only %s", span(d)))
	}
	return out
}

func assessModel(run *record.Run) (out []record.Warning) {
	switch run.LoadModel {
	case "closed":
		out = append(out, warning(WarnClosedLoad, "use an open load (a rate) to see what users would",
			"the load was closed: sessions waited for answers before they sent again, so a stall hides the requests that users would have sent, and response time equals service time"))
	case "mixed":
		out = append(out, warning(WarnClosedLoad, "judge open and closed phases apart",
			"some phases were closed: there sessions waited for answers before they sent again"))
	}
	if run.ToleranceNs > 0 {
		out = append(out, warning(WarnTolerance, "run without --timing-tolerance for exact times",
			"sends could be up to %s late to go together; response times count it", latencyInt(run.ToleranceNs)))
	}
	if run.Tier == "library" && open(run) {
		id := WarnLibraryTier
		if strings.Contains(run.TierReason, "TLS") {
			id = WarnTLSLibraryTier
		}
		out = append(out, warning(id, "leave out what needs it if tenths of a millisecond matter",
			"sessions ran on a client library (%s): times hold its scheduling, up to about a millisecond", clean(run.TierReason)))
	}
	return out
}
