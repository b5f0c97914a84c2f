package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/units"
)

// The stable ids of the warnings that Assess gives.
const (
	WarnClosedLoad       = "closed-load"
	WarnIncomplete       = "incomplete"
	WarnLive             = "live"
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
	WarnShared           = "machine-shared"
	WarnMissing          = "keys-missing"
	WarnBadHash          = "bad-hash"
	WarnReconnects       = "reconnects"
	WarnLeak             = "leak"
	WarnDrift            = "throughput-drift"
)

// lag-visible is given from this share of the median response time on, and this length.
const (
	visibleShare = 0.1
	visibleFloor = 100 * time.Microsecond
)

// lastNs is where the last phase ended.
func lastNs(run *record.Run) (ns int64) {
	for _, p := range run.Phases {
		if p.Done > 0 || p.Offered > 0 {
			ns = max(ns, p.StartNs+p.DurationNs)
		}
	}
	return ns
}

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

// UnderWay says of a run that it isn't over.
func UnderWay(run *record.Run) record.Warning {
	return warning(WarnLive, "report it again when it has ended", "the run is live: these are its figures up to %s into its load, without thresholds and verdict", units.Span(time.Duration(lastNs(run))))
}

func assessEnd(run *record.Run) (out []record.Warning) {
	if !run.Complete {
		out = append(out, warning(WarnIncomplete, "repeat the run for a result that counts",
			"the run was killed: this is what was recorded up to %s into its load", units.Span(time.Duration(lastNs(run)))))
	}
	if run.Interrupted {
		out = append(out, warning(WarnInterrupted, "let it finish for a result that counts",
			"the run was interrupted after %s under load", units.Span(time.Duration(run.DurationNs))))
	}
	return out
}

func assessGenerator(run *record.Run) (out []record.Warning) {
	h, v := &run.Health, &run.Verdict
	if v.Result == Invalid && run.Complete && run.Total.Done > 0 {
		out = append(out, warning(WarnGeneratorLimited, "take the remedies named with the verdict",
			"the generator limited this result: don't take it for the server's"))
	} else if added := int64(v.AddedP99Ns); added > int64(visibleShare*float64(run.Total.ResponseOK.P50Ns)) && added > run.ToleranceNs+int64(visibleFloor) {
		out = append(out, warning(WarnVisibleLag, "compare service times, or free this machine's cores",
			"the generator's own lag adds %s to the p99 of response time, more than a tenth of the median", units.LatencyInt(added)))
	}
	if h.PausedNs > 0 && timeShare(h.PausedNs, run.DurationNs) <= pausedLimit {
		out = append(out, warning(WarnPaused, "repeat the run if the highest quantiles matter",
			"the generator stood still for %s; the slowest responses may be its own", units.Span(time.Duration(h.PausedNs))))
	}
	if h.CeilingPerS > 0 && run.Total.RatePerS > 0.8*h.CeilingPerS {
		out = append(out, warning(WarnNearCeiling, "use a larger machine or several to find out more",
			"the rate is %s of this machine's measured ceiling of %s/s", units.Fraction(min(run.Total.RatePerS/h.CeilingPerS, 1)), units.Rate(h.CeilingPerS)))
	}
	if w, ok := shared(run); ok {
		out = append(out, w)
	}
	if g := run.Environment.Governor; g == "powersave" || g == "ondemand" || g == "conservative" {
		out = append(out, warning(WarnGovernor, "set it to performance for steadier times",
			"the CPU's frequency follows its load (governor %s)", g))
	}
	return out
}

// sharedLimit is the share of the cores that other processes and the hypervisor may have before that is said of a load
// whose server is elsewhere.
const sharedLimit = 0.1

// OthersShare is the share of the generator's cores that other processes and the hypervisor had, in [0,1].
func OthersShare(run *record.Run) float64 {
	cores := float64(max(run.Environment.Cores, 1))
	return min(run.Health.OthersCPUMean/cores+timeShare(run.Health.StealNs, int64(cores)*run.DurationNs), 1)
}

// shared says that the generator had its machine not to itself: how much its server and other processes took decides
// what a closed load reaches, and another time it is something else.
func shared(run *record.Run) (w record.Warning, ok bool) {
	h := &run.Health
	if run.Environment.Cores <= 0 || !run.ServerHere && (run.DurationNs < int64(leastLoad) || OthersShare(run) <= sharedLimit) {
		return w, false
	}
	text := "other processes had a share of this machine: of its %s this process used %.2f and others %.2f"
	if run.ServerHere {
		text = "the server is on this machine, too: of its %s this process used %.2f and others %.2f, the server among them"
	}
	return warning(WarnShared, "compare only with runs under the same conditions, or put the generator on a machine of its own", text,
		units.Plural(run.Environment.Cores, "core", "cores"), h.ProcessCPUMean, h.OthersCPUMean), true
}

func assessServer(run *record.Run) (out []record.Warning) {
	h := &run.Health
	if s := timeShare(h.SaturatedNs, run.DurationNs); open(run) && s > saturatedLimit {
		w := warning(WarnSaturated, "lower the rate to what the server sustains", "all %s were busy with arrivals waiting (up to %s) in %s of the time: the load was more than they could carry",
			units.Plural(run.Sessions, "session", "sessions"), units.Count(h.BacklogMax), units.Fraction(s))
		if n := neededSessions(run); n > run.Sessions {
			w.Text += fmt.Sprintf("; by Little's law the rate needs at least %d", n)
			w.Remedy = with(run, "sessions", fmt.Sprintf("try %%s %d, or ", roundUp(n))) + "lower the rate to what the server sustains"
		}
		out = append(out, w)
	}
	if n := run.Total.Dropped; n > 0 {
		w := warning(WarnDropped, "more sessions or a lower rate",
			"%s of %s arrivals were given up without being sent (%s)", units.Count(n), units.Count(n+run.Total.Done+run.Total.Unfinished), UnsentList(&run.Total.Counts))
		if own := dueWhilePaused(run); own >= 1 {
			w.Text += fmt.Sprintf("; about %s fell due while the generator itself stood still", units.Count(min(own, n)))
			if own >= n/2 {
				w.Remedy = "repeat the run on a machine that isn't suspended, stopped or starved"
			}
		}
		out = append(out, w)
	}
	if n := run.Total.Late; open(run) && n > 0 && float64(n) > 0.01*float64(run.Total.Done) {
		out = append(out, warning(WarnLateArrivals, "response times count the wait, service times don't",
			"%s of the operations were sent more than 1 ms after their intended start", units.Percent(n, run.Total.Done)))
	}
	var reconnects uint64
	for _, t := range run.Targets {
		reconnects += t.Reconnects
	}
	if reconnects > 0 {
		out = append(out, warning(WarnReconnects, seeErrors(run)+" and the server's log",
			"%s lost and made again while running", units.Plural(reconnects, "connection was", "connections were")))
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
		out = append(out, warning(WarnErrors, "see the errors by class and code; their response time is infinite",
			"%s of %s operations failed (%s): %s", units.Count(c.Failed), units.Count(c.Done), units.Percent(c.Failed, c.Done), strings.Join(ClassList(c), ", ")))
	}
	if n := c.Errors[protocol.UnknownOutcome]; n > 0 {
		out = append(out, warning(WarnUnknownOutcome, "check the data if it matters",
			"%s sent and never answered: the server may have applied them", units.Plural(n, "operation was", "operations were")))
	}
	if n := c.Missing + c.MissingUpdates + c.MissingDeletes; n > 0 {
		out = append(out, warning(WarnMissing, "check that tables are filled and that keys are drawn from what exists",
			"%s of the operations found no row or key (%s)", units.Percent(n, c.Done), MissingList(c)))
	}
	if c.BadHash > 0 {
		out = append(out, warning(WarnBadHash, "compare an answer with the expected body",
			"%s had a body with the wrong hash", units.Plural(c.BadHash, "answer", "answers")))
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
			out = append(out, warning(WarnFewSamples, fmt.Sprintf("run until there are %s", units.Count(uint64(math.Round(10/q.beyond)))),
				"%s is not known from %s: from %s on it is the maximum", q.name, units.Plural(n, "sample", "samples"), q.name))
			break
		}
	}
	if d := time.Duration(run.DurationNs); d > 0 && d < 10*time.Second {
		out = append(out, warning(WarnShortRun, "run for at least a minute to see garbage collection, checkpoints and caches at work",
			"the load lasted only %s", units.Span(d)))
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
		out = append(out, warning(WarnTolerance, "run without a timing tolerance for exact times",
			"sends could be up to %s late to go together; response times count it", units.LatencyInt(run.ToleranceNs)))
	}
	if run.Tier == "library" && open(run) {
		id := WarnLibraryTier
		if strings.Contains(run.TierReason, "TLS") {
			id = WarnTLSLibraryTier
		}
		out = append(out, warning(id, "leave out what needs it if tenths of a millisecond matter",
			"sessions ran on a client library (%s): times hold its scheduling, up to about a millisecond", units.Clean(run.TierReason)))
	}
	return out
}

// unsentNames say why arrivals were given up, in the order of measure.Unsent.
var unsentNames = [measure.NumUnsent]string{"all sessions busy", "nothing connected", "the load was over", "the generator was late"}

// UnsentList says why arrivals were given up, and how many each.
func UnsentList(c *record.Counts) string {
	var out []string
	for i, name := range unsentNames {
		if n := c.Unsent[i]; n > 0 {
			out = append(out, units.Count(n)+" "+name)
		}
	}
	return strings.Join(out, ", ")
}

// MissingList counts what found no row or key by what it was.
func MissingList(c *record.Counts) string {
	var out []string
	for _, m := range []struct {
		n    uint64
		what string
	}{{c.Missing, "reads"}, {c.MissingUpdates, "updates"}, {c.MissingDeletes, "deletes"}} {
		if m.n > 0 {
			out = append(out, units.Count(m.n)+" "+m.what)
		}
	}
	return strings.Join(out, ", ")
}

// ClassList writes the failed operations by class, the most frequent first.
func ClassList(c *record.Counts) (out []string) {
	for _, class := range c.Errors.Sorted() {
		out = append(out, units.Count(c.Errors[class])+" "+class.String())
	}
	return out
}
