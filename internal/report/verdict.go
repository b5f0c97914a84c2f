package report

import (
	"fmt"
	"strconv"
	"time"

	"brunt/internal/record"
)

// The results of a verdict.
const (
	Pass    = "pass"
	Fail    = "fail"
	Invalid = "invalid"
)

// The exit codes of a run; see ExitCode.
const (
	ExitPass        = 0
	ExitInvalid     = 98
	ExitFail        = 99
	ExitInterrupted = 105
)

// ExitCode is what the program returns for a run: 105 if it was interrupted, otherwise 98 for an
// invalid result, 99 for a failed one and 0 for one that passed.
func ExitCode(run *record.Run) int {
	switch {
	case run.Interrupted:
		return ExitInterrupted
	case run.Verdict.Result == Invalid:
		return ExitInvalid
	case run.Verdict.Result == Fail:
		return ExitFail
	}
	return ExitPass
}

// The limits beyond which the generator, not the server, is held to have limited a result.
const (
	// lagLimitCodec and lagLimitLibrary are what the generator's own lag may be in 1 % of cases
	// whatever the response times. An event loop keeps to tens of microseconds; the library tier's
	// timers and scheduler to about one millisecond, and several on a busy machine.
	lagLimitCodec   = time.Millisecond
	lagLimitLibrary = 5 * time.Millisecond
	// lagLimitShare of the response time's p99 is allowed in any case: it is lost in it.
	lagLimitShare = 0.1
	// meanLagLimitCodec and meanLagLimitLibrary are what the mean of the own lag may be whatever the
	// response times, and meanLagLimitShare of the mean response time is allowed in any case.
	meanLagLimitCodec   = 100 * time.Microsecond
	meanLagLimitLibrary = time.Millisecond
	meanLagLimitShare   = 0.05
	// loopFullLimit is the share of time with an event loop above 95 % of a core.
	loopFullLimit = 0.1
	// cpuLimit is the share of the cores allowed that the process may use on average.
	cpuLimit = 0.95
	// throttledLimit and pausedLimit are shares of the time in which the control group was
	// throttled or the process stood still.
	throttledLimit = 0.02
	pausedLimit    = 0.01
	// saturatedLimit is the share of time with arrivals waiting for sessions from which on sessions,
	// not the schedule, are held to have set the pace.
	saturatedLimit = 0.05
	// gcPauseLimit is the least stop-the-world pause that spoils a result; it must also be half
	// of the response time's p99.
	gcPauseLimit = 10 * time.Millisecond
)

// Judge says whether the result stands: invalid if the generator limited it or there is none,
// fail if a threshold does, all operations do or the run stopped itself, otherwise pass. Each
// reason names its remedy.
func Judge(run *record.Run) record.Verdict {
	if reasons := invalidReasons(run); len(reasons) > 0 {
		return record.Verdict{Result: Invalid, Reasons: append(reasons, failReasons(run)...)}
	}
	if reasons := failReasons(run); len(reasons) > 0 {
		return record.Verdict{Result: Fail, Reasons: reasons}
	}
	return record.Verdict{Result: Pass, Reasons: passReasons(run)}
}

func invalidReasons(run *record.Run) (out []string) {
	if !run.Complete {
		out = append(out, fmt.Sprintf("the run was killed %s into its load, so its end is unknown; repeat it", span(time.Duration(lastNs(run)))))
	}
	if run.Total.Done == 0 && run.Total.Dropped == 0 {
		return append(out, "nothing was measured: no operation finished outside of warm-up; run longer, or shorten the warm-up")
	}
	return append(append(out, lateReasons(run)...), machineReasons(run)...)
}

// lastNs is where the last phase ended.
func lastNs(run *record.Run) (ns int64) {
	for _, p := range run.Phases {
		if p.Done > 0 || p.Offered > 0 {
			ns = max(ns, p.StartNs+p.DurationNs)
		}
	}
	return ns
}

// open reports whether the run had arrivals that follow a schedule.
func open(run *record.Run) bool { return run.LoadModel != "closed" }

// lagLimits are what the p99 and the mean of the generator's own lag may be, in ns, before the
// result is invalid.
func lagLimits(run *record.Run) (p99, mean int64) {
	p99, mean = int64(lagLimitCodec), int64(meanLagLimitCodec)
	if run.Tier != "codec" {
		p99, mean = int64(lagLimitLibrary), int64(meanLagLimitLibrary)
	}
	response := &run.Total.Response
	p99 = max(p99, int64(lagLimitShare*float64(response.P99Ns)))
	mean = max(mean, int64(meanLagLimitShare*response.MeanNs))
	return p99 + run.ToleranceNs, mean + run.ToleranceNs
}

// lateReasons are for open loads: the generator's own lag is a considerable part of the response
// times that it reports.
func lateReasons(run *record.Run) (out []string) {
	if !open(run) {
		return nil
	}
	h := &run.Health
	p99, mean := lagLimits(run)
	if h.OwnLagP99Ns > p99 {
		out = append(out, fmt.Sprintf("the generator itself sent late: own lag p99 %s of a response time p99 of %s, at most %s would do; %s",
			latencyInt(h.OwnLagP99Ns), latencyInt(run.Total.Response.P99Ns), latencyInt(p99), latenessRemedy(run)))
	} else if h.OwnLagMeanNs > float64(mean) {
		out = append(out, fmt.Sprintf("the generator itself sent late: %s of the mean response time of %s are its own, at most %s would do; %s",
			latency(h.OwnLagMeanNs), latency(run.Total.Response.MeanNs), latencyInt(mean), latenessRemedy(run)))
	}
	return out
}

func latenessRemedy(run *record.Run) string {
	if stoodStill(run) {
		return "that it stood still explains it"
	}
	if run.Tier != "codec" {
		return "lower the rate, free this machine's cores, or use a protocol and options that the codec tier can drive"
	}
	return "lower the rate, free this machine's cores, add event loops (--loops), or spread the load over machines"
}

// machineReasons are what the process itself or its machine did to the result.
func machineReasons(run *record.Run) (out []string) {
	h := &run.Health
	if s := share(h.LoopFullNs, run.DurationNs); s > loopFullLimit && !open(run) && !run.Spin {
		out = append(out, fmt.Sprintf("an event loop was busy above 95 %% of a core in %s of the time, so the closed load measured the generator; add event loops (--loops) or machines", fraction(s)))
	}
	if cores := allowedCores(&run.Environment); cores > 0 && h.ProcessCPUMean > cpuLimit*cores && !run.Spin {
		out = append(out, fmt.Sprintf("the generator used %.2f of the %.4g cores that it may use; give it more, or lower the load", h.ProcessCPUMean, cores))
	}
	if s := share(h.CgroupThrottledNs, run.DurationNs); s > throttledLimit {
		out = append(out, fmt.Sprintf("the control group's CPU limit stopped the generator for %s of the time; raise the limit", fraction(s)))
	}
	if stoodStill(run) {
		out = append(out, fmt.Sprintf("the generator stood still for %s (suspended, stopped, or starved by its host); repeat the run on a machine that isn't", span(time.Duration(h.PausedNs))))
	}
	if p := h.GCPauseNsMax; p > int64(gcPauseLimit) && p > run.Total.Response.P99Ns/2 {
		out = append(out, fmt.Sprintf("a garbage collection stopped the generator for %s, against a response time p99 of %s; give it more memory or cores", latencyInt(p), latencyInt(run.Total.Response.P99Ns)))
	}
	return out
}

// stoodStill reports whether the generator stood still for so long that nothing else can be said.
func stoodStill(run *record.Run) bool {
	return share(run.Health.PausedNs, run.DurationNs) > pausedLimit
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// allowedCores is how many cores the process may use, 0 if unknown.
func allowedCores(e *record.Environment) float64 {
	cores := float64(e.Cores)
	if e.MaxProcs > 0 {
		cores = min(cores, float64(e.MaxProcs))
	}
	if q, err := strconv.ParseFloat(e.CPUQuota, 64); err == nil && q > 0 && (cores == 0 || q < cores) {
		cores = q
	}
	return cores
}

func failReasons(run *record.Run) (out []string) {
	failed := false
	for i := range run.Thresholds {
		if t := &run.Thresholds[i]; !t.Pass {
			failed = true
			out = append(out, fmt.Sprintf("threshold %s does not hold: it is %s; see the latency and error tables", clean(t.Text), thresholdValue(t.Value, t.Unit)))
		}
	}
	if run.Aborted != "" {
		out = append(out, "the run stopped itself: "+clean(run.Aborted))
	}
	if run.Total.Done > 0 && run.Total.OK == 0 && !failed {
		out = append(out, "every operation failed; see the errors and try one statement by hand")
	}
	return out
}

func passReasons(run *record.Run) []string {
	var out []string
	if n := len(run.Thresholds); n > 0 {
		out = append(out, plural(n, "threshold holds", "thresholds hold"))
	}
	if !open(run) {
		return append(out, "the generator had capacity to spare")
	}
	if run.Health.OwnLagCount == 0 {
		return append(out, "sessions, not the generator, set the pace")
	}
	if s := share(run.Health.SaturatedNs, run.DurationNs); s > saturatedLimit {
		return append(out, "sessions, not the generator, set the pace (own lag p99 "+latencyInt(run.Health.OwnLagP99Ns)+")")
	}
	return append(out, "the generator kept its schedule (own lag p99 "+latencyInt(run.Health.OwnLagP99Ns)+")")
}

// thresholdValue writes a threshold's value or limit in its unit.
func thresholdValue(v float64, unit string) string {
	switch unit {
	case "ns":
		return latency(v)
	case "fraction":
		return fraction(v)
	case "per_s":
		return rate(v) + "/s"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
