package verdict

import (
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/metric"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
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
	WarnMisdirected      = "misdirected"
	WarnReconnects       = "reconnects"
	WarnLeak             = "leak"
	WarnDrift            = "throughput-drift"
	WarnWorkerLost       = "worker-lost"
	WarnEmptyRule        = "rule-always-holds"
)

// OfSums reports whether the warning with an id follows from the sums of a load alone. Such a warning of a part needn't
// hold for the whole, whose sums tell.
func OfSums(id string) bool {
	return slices.Contains([]string{WarnShortRun, WarnFewSamples, WarnErrors, WarnUnknownOutcome, WarnLateArrivals,
		WarnDropped, WarnMissing, WarnBadHash, WarnMisdirected, WarnEmptyRule}, id)
}

// The warning lag-visible is given from this share of the median response time on, if the lag has at least this length.
// The share is medianShare, above which the generator's lag makes the result invalid; the length is chosen: half of the
// floor of the median on event loops (see lagLimits), which keep well below it on a dedicated machine.
const (
	visibleShare = 0.1
	visibleFloor = 100 * time.Microsecond
)

// lastNs returns when the last phase with arrivals ended.
func lastNs(run *record.Run) (ns int64) {
	for _, p := range run.Phases {
		if p.Done > 0 || p.Offered > 0 {
			ns = max(ns, p.StartNs+p.DurationNs)
		}
	}
	return ns
}

// Assess returns the warnings that a reader of the run must know, each with its remedy, the most important first. It
// reads only run, and doesn't change it.
func Assess(run *record.Run) []record.Warning {
	var out []record.Warning
	for _, f := range []func(*record.Run) []record.Warning{
		assessEnd, assessGenerator, assessServer, assessErrors, assessWatched, assessSamples, assessModel, assessFailover,
		assessVerified, assessRules,
	} {
		out = append(out, f(run)...)
	}
	return out
}

// assessRules names rules whose limit is all operations, such as errors < 1, whose author meant 1 % or one.
func assessRules(run *record.Run) (out []record.Warning) {
	for _, t := range run.Thresholds {
		if t.Unit == metric.Fraction && t.Limit == 1 && t.Aggregate == nil && strings.Contains(t.Text, "<") &&
			!strings.Contains(t.Text, "%") {
			out = append(out, record.NewWarning(WarnEmptyRule, message.Text("rule", t.Text)))
		}
	}
	return out
}

// UnderWay returns the warning that a run isn't over.
func UnderWay(run *record.Run) record.Warning {
	return record.NewWarning(WarnLive, message.Span("at", time.Duration(lastNs(run))))
}

// leftFaults warns about the faults that were in effect when the run was killed: those that its watchdog has undone,
// and those of which nobody knows.
func leftFaults(run *record.Run) (out []record.Warning) {
	for i := range run.Faults {
		f := &run.Faults[i]
		name, number := message.Text("fault", f.Name), message.Count("n", f.Number)
		switch {
		case f.Left():
			out = append(out, record.NewWarning("fault-left", name, number, message.Text("undo", f.Undo)))
		case f.HealedBy == record.HealedByWatchdog:
			out = append(out, record.Notice("fault-cut-short", name, number,
				message.Span("after", time.Duration(f.HealedNs-f.BeginNs))))
		}
	}
	return out
}

func assessEnd(run *record.Run) (out []record.Warning) {
	if !run.Complete {
		out = append(out, record.NewWarning(WarnIncomplete, message.Span("at", time.Duration(lastNs(run)))))
		out = append(out, leftFaults(run)...)
	}
	if run.Interrupted {
		out = append(out, record.NewWarning(WarnInterrupted, message.Span("at", time.Duration(run.DurationNs))))
	}
	lacks := lacking(run)
	for i := range run.Parts {
		if w := run.Parts[i].Worker; w != nil && w.LostNs > 0 {
			missing, share := lacks.of(w, float64(run.Total.Arrivals()))
			out = append(out, record.NewWarning(WarnWorkerLost, lostArgs(w, missing, share)...))
		}
	}
	return out
}

func assessGenerator(run *record.Run) (out []record.Warning) {
	h, v := &run.Health, &run.Verdict
	if v.Result == Invalid && run.Complete && run.Total.Done > 0 {
		out = append(out, record.NewWarning(WarnGeneratorLimited))
	} else if added := int64(v.AddedP99Ns); added > int64(visibleShare*float64(run.Total.ResponseOK.P50Ns)) &&
		added > run.ToleranceNs+int64(visibleFloor) {
		out = append(out, record.NewWarning(WarnVisibleLag, message.Ns("added", added)))
	}
	if h.PausedNs > 0 && timeShare(h.PausedNs, run.DurationNs) <= pausedLimit {
		out = append(out, record.NewWarning(WarnPaused, message.Span("paused", time.Duration(h.PausedNs))))
	}
	if h.CeilingPerS > 0 && run.Total.RatePerS > 0.8*h.CeilingPerS {
		out = append(out, record.NewWarning(WarnNearCeiling, message.Share("share", min(run.Total.RatePerS/h.CeilingPerS, 1)),
			message.Rate("ceiling", h.CeilingPerS)))
	}
	if w, ok := shared(run); ok {
		out = append(out, w)
	}
	if g := run.Environment.Governor; g == "powersave" || g == "ondemand" || g == "conservative" {
		out = append(out, record.NewWarning(WarnGovernor, message.Text("governor", g)))
	}
	return out
}

// sharedLimit is the share of the cores that other processes and the hypervisor may use without a warning, if the
// server runs on another machine. Chosen as stealLimit, from which on the reason of an invalid result names them.
const sharedLimit = 0.1

// OthersShare returns the share of the generator's cores that other processes and the hypervisor used, in [0,1].
func OthersShare(run *record.Run) float64 {
	cores := float64(max(run.Environment.Cores, 1))
	return min(run.Health.OthersCPUMean/cores+timeShare(run.Health.StealNs, int64(cores)*run.DurationNs), 1)
}

// Short reports whether a run was too short for shares of the machine: the kernel counts processor time in steps of up
// to 10 ms.
func Short(run *record.Run) bool { return run.DurationNs < int64(leastLoad) }

// shared returns the warning that the generator shared its machine. The CPU time that its server and other processes
// took limits what a closed load reaches, and it differs from run to run.
func shared(run *record.Run) (w record.Warning, ok bool) {
	h := &run.Health
	if run.Environment.Cores <= 0 || !run.ServerHere &&
		(Short(run) || OthersShare(run) <= sharedLimit) {
		return w, false
	}
	w = record.NewWarning(WarnShared, message.Count("cores", run.Environment.Cores),
		message.Number("own", h.ProcessCPUMean),
		message.Number("others", min(h.OthersCPUMean, float64(run.Environment.Cores))))
	switch {
	case run.ServerHere && Short(run):
		w.Text = message.New("machine-shared.short")
	case run.ServerHere:
		w.Text = message.New("machine-shared.server", w.Text.Args...)
	}
	return w, true
}

func assessServer(run *record.Run) (out []record.Warning) {
	h := &run.Health
	if s := timeShare(h.SaturatedNs, run.DurationNs); open(run) && s > saturatedLimit {
		w := record.Warning{ID: WarnSaturated, Remedy: message.New("saturated.lower"),
			Text: message.New("saturated", message.Count("sessions", run.Sessions), message.Count("backlog", h.BacklogMax),
				message.Share("share", s))}
		if n := neededSessions(run); n > run.Sessions {
			w.Text = message.Sentences(w.Text, message.New("saturated.needs", message.Count("n", n)))
			w.Remedy = message.New("saturated.remedy",
				message.Nested("sessions", with(run, "sessions", func(flag message.Arg) message.Message {
					return message.New("saturated.try", flag, message.Count("n", roundUp(n)))
				})))
		}
		if run.FilesLimit > 0 {
			w.Text = message.Sentences(w.Text, message.New("saturated.files", message.Count("files", run.FilesLimit)))
			w.Remedy = message.New("saturated.raise")
		}
		out = append(out, w)
	}
	if n := run.Total.Dropped; n > 0 {
		w := record.Warning{ID: WarnDropped, Remedy: message.New("dropped.remedy"),
			Text: message.New("dropped", message.Count("n", n), message.Count("all", n+run.Total.Done+run.Total.Unfinished),
				message.Nested("why", UnsentList(&run.Total.Counts)))}
		if own := dueWhilePaused(run); own >= 1 {
			w.Text = message.Sentences(w.Text, message.New("dropped.paused", message.Count("n", min(own, n))))
			if own >= n/2 {
				w.Remedy = message.New("dropped.machine")
			}
		}
		out = append(out, w)
	}
	if n := run.Total.Late; open(run) && n > 0 && float64(n) > 0.01*float64(run.Total.Done) {
		out = append(out, record.NewWarning(WarnLateArrivals, message.Part("share", min(n, run.Total.Done), run.Total.Done)))
	}
	var reconnects uint64
	for _, t := range run.Targets {
		reconnects += t.Reconnects
	}
	if reconnects > 0 {
		out = append(out, record.NewWarning(WarnReconnects, message.Count("n", reconnects),
			message.Nested("errors", seeErrors(run))))
	}
	return out
}

// dueWhilePaused estimates how many arrivals fell due while the generator stood still.
func dueWhilePaused(run *record.Run) uint64 {
	return uint64(run.Total.OfferedPerS * float64(run.Health.PausedNs) / 1e9)
}

// neededSessions returns how many sessions the offered rate needs on average, by Little's law: the rate times the mean
// service time, divided by the number of requests in flight per session.
func neededSessions(run *record.Run) int {
	perS := max(run.Total.OfferedPerS, run.Total.RatePerS)
	n := perS * run.Total.Service.MeanNs / 1e9 / float64(max(run.Pipeline, 1))
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(math.Ceil(n))
}

// roundUp adds headroom for random arrivals: three standard deviations of a Poisson variable.
func roundUp(n int) int { return n + int(math.Ceil(3*math.Sqrt(float64(n)))) }

// leastMisdirected is the share of misdirected operations above which a warning is given: a few are normal after
// changes of the cluster. Chosen as errorsDefault: from there on their second way shows in the p99.
const leastMisdirected = 0.01

func assessErrors(run *record.Run) (out []record.Warning) {
	c := &run.Total.Counts
	if c.Failed > 0 {
		out = append(out, record.NewWarning(WarnErrors, message.Count("failed", c.Failed), message.Count("done", c.Done),
			message.Part("share", c.Failed, max(c.Done, c.Failed)), message.Nested("classes", message.List(ClassList(c)...))))
	}
	if n := c.Errors[protocol.UnknownOutcome]; n > 0 {
		out = append(out, record.NewWarning(WarnUnknownOutcome, message.Count("n", n)))
	}
	if n := c.InVain(); n > 0 {
		out = append(out, record.NewWarning(WarnMissing, message.Part("share", min(n, c.Done), c.Done),
			message.Nested("of", MissingList(c))))
	}
	if float64(c.Misdirected) > leastMisdirected*float64(c.Done) {
		out = append(out, record.NewWarning(WarnMisdirected, message.Part("share", c.Misdirected, c.Done)))
	}
	if c.BadHash > 0 {
		out = append(out, record.NewWarning(WarnBadHash, message.Count("n", c.BadHash)))
	}
	return out
}

// assessSamples warns about quantiles with less than one sample beyond them (a reliable quantile has ten), and about
// runs shorter than 10 s.
func assessSamples(run *record.Run) (out []record.Warning) {
	n := run.Total.Response.Count
	for _, q := range []struct {
		name   string
		beyond float64
	}{{"p99", 0.01}, {"p99.9", 0.001}, {"p99.99", 0.0001}} {
		if beyond := float64(n) * q.beyond; n > 0 && beyond < 1 {
			out = append(out, record.NewWarning(WarnFewSamples, message.Text("quantile", q.name), message.Count("n", n),
				message.Count("needed", uint64(math.Round(10/q.beyond)))))
			break
		}
	}
	if d := time.Duration(run.DurationNs); d > 0 && d < 10*time.Second {
		out = append(out, record.NewWarning(WarnShortRun, message.Span("lasted", d)))
	}
	return out
}

func assessModel(run *record.Run) (out []record.Warning) {
	switch run.LoadModel {
	case "closed":
		out = append(out, record.NewWarning(WarnClosedLoad))
	case "mixed":
		out = append(out, record.Warning{ID: WarnClosedLoad, Text: message.New("mixed-load"),
			Remedy: message.New("mixed-load.remedy")})
	}
	if run.ToleranceNs > 0 {
		out = append(out, record.NewWarning(WarnTolerance, message.Ns("tolerance", run.ToleranceNs)))
	}
	if run.Tier == plan.TierLibrary && open(run) {
		w := record.NewWarning(WarnLibraryTier, message.Nested("why", run.TierReason))
		if strings.Contains(run.TierReason.String(), "TLS") {
			w.ID = WarnTLSLibraryTier
		}
		out = append(out, w)
	}
	return out
}

// UnsentList returns how many arrivals were given up, by reason.
func UnsentList(c *record.Counts) message.Message {
	var out []message.Message
	for i := range measure.NumUnsent {
		n := c.Unsent[i]
		if n == 0 {
			continue
		}
		count := message.Count("n", n)
		switch measure.Unsent(i) {
		case measure.UnsentNoSession:
			out = append(out, message.New("unsent.busy", count))
		case measure.UnsentNoConnection:
			out = append(out, message.New("unsent.no-connection", count))
		case measure.UnsentLoadOver:
			out = append(out, message.New("unsent.over", count))
		default:
			out = append(out, message.New("unsent.generator", count))
		}
	}
	return message.List(out...)
}

// MissingList returns how many operations found, changed or inserted nothing, by kind of operation.
func MissingList(c *record.Counts) message.Message {
	var out []message.Message
	if c.Missing > 0 {
		out = append(out, message.New("missing.reads", message.Count("n", c.Missing)))
	}
	if c.MissingUpdates > 0 {
		out = append(out, message.New("missing.updates", message.Count("n", c.MissingUpdates)))
	}
	if c.MissingDeletes > 0 {
		out = append(out, message.New("missing.deletes", message.Count("n", c.MissingDeletes)))
	}
	if c.MissingInserts > 0 {
		out = append(out, message.New("missing.inserts", message.Count("n", c.MissingInserts)))
	}
	return message.List(out...)
}

// ClassList returns the number of failed operations of each class, the most frequent first.
func ClassList(c *record.Counts) (out []message.Message) {
	for _, class := range c.Errors.Sorted() {
		out = append(out, message.New("class.count", message.Count("n", c.Errors[class]),
			message.Nested("class", ClassName(class))))
	}
	return out
}

// ClassName returns the name of a class of failures.
func ClassName(c protocol.Class) message.Message {
	switch c {
	case protocol.Connect:
		return message.New("class.connect")
	case protocol.Timeout:
		return message.New("class.timeout")
	case protocol.Server:
		return message.New("class.server")
	case protocol.Retryable:
		return message.New("class.retryable")
	case protocol.UnknownOutcome:
		return message.New("class.unknown-outcome")
	case protocol.Protocol:
		return message.New("class.protocol")
	case protocol.Client:
		return message.New("class.client")
	}
	return message.Literal(c.String())
}
