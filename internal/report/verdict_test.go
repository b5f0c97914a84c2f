package report

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/record"
)

func TestVerdicts(t *testing.T) {
	for name, want := range map[string]struct {
		result string
		exit   int
		reason string
	}{
		"pass":          {Pass, 0, "2 thresholds hold"},
		"fail":          {Fail, 99, "threshold p(99) < 10ms does not hold: it is 20.4 ms"},
		"invalid":       {Invalid, 98, "the generator itself sent late"},
		"incomplete":    {Invalid, 98, "the run was killed 5 s into its load"},
		"closed":        {Pass, 0, "the generator had capacity to spare"},
		"addresses":     {Pass, 0, "the generator kept its schedule"},
		"saturated":     {Pass, 0, "sessions, not the generator, set the pace"},
		"one-operation": {Pass, 0, "the generator kept its schedule"},
	} {
		run := fixture(t, name)
		if run.Verdict.Result != want.result || ExitCode(run) != want.exit {
			t.Errorf("%s: %s, exit %d; want %s, %d", name, run.Verdict.Result, ExitCode(run), want.result, want.exit)
		}
		if !strings.HasPrefix(run.Verdict.Reasons[0], want.reason) {
			t.Errorf("%s: reasons %q, want %q first", name, run.Verdict.Reasons, want.reason)
		}
	}
}

// passes returns a run that passes without warnings, of its own.
func passes() *record.Run {
	run := base()
	t := record.NewTally(run)
	load(t, run, "hold", 0, shape{seconds: 12, perS: 1000, serviceNs: 300e3, lagNs: 8e3, health: healthy})
	run.Thresholds = []record.Threshold{{Text: "p(99) < 10ms", Pass: true}, {Text: "errors < 1%", Pass: true, Unit: "fraction"}}
	return finish(t, run)
}

// TestWhatSpoilsAResult changes one thing of a run that passes.
func TestWhatSpoilsAResult(t *testing.T) {
	const us, ms, s = 1000, 1_000_000, 1_000_000_000
	for _, c := range []struct {
		name   string
		change func(run *record.Run)
		result string
		reason string
	}{
		{"nothing", func(*record.Run) {}, Pass, ""},
		{"late, codec", func(r *record.Run) { r.Health.OwnLagP99Ns = 2 * ms }, Invalid, "own lag p99 2.00 ms of a response time p99 of 1.53 ms, at most 1.00 ms"},
		{"as late, library", func(r *record.Run) { r.Tier, r.Health.OwnLagP99Ns = "library", 2*ms }, Pass, ""},
		{"later, library", func(r *record.Run) { r.Tier, r.Health.OwnLagP99Ns = "library", 6*ms }, Invalid, "a protocol and options that the codec tier can drive"},
		{"late within the tolerance", func(r *record.Run) { r.ToleranceNs, r.Health.OwnLagP99Ns = 2*ms, 2*ms }, Pass, ""},
		{"late against slow answers", func(r *record.Run) { r.Total.Response.P99Ns, r.Health.OwnLagP99Ns = 100*ms, 9*ms }, Pass, ""},
		{"too late against slow answers", func(r *record.Run) { r.Total.Response.P99Ns, r.Health.OwnLagP99Ns = 100*ms, 11*ms }, Invalid, "own lag p99 11.0 ms of a response time p99 of 100 ms, at most 10.0 ms"},
		{"late on the whole", func(r *record.Run) { r.Health.OwnLagMeanNs = 120 * us }, Invalid, "120 µs of the mean response time"},
		{"late on the whole, library", func(r *record.Run) { r.Tier, r.Health.OwnLagMeanNs = "library", 900*us }, Pass, ""},
		{"late on the whole against slow answers", func(r *record.Run) { r.Total.Response.MeanNs, r.Health.OwnLagMeanNs = 10*ms, 400*us }, Pass, ""},
		{"late on the whole within the tolerance", func(r *record.Run) { r.ToleranceNs, r.Health.OwnLagMeanNs = 200*us, 250*us }, Pass, ""},
		{"lag that sessions explain", func(r *record.Run) { r.Health.LagP99Ns = 5 * s }, Pass, ""},
		{"late, but closed", func(r *record.Run) { r.LoadModel, r.Health.OwnLagP99Ns = "closed", 2*ms }, Pass, ""},
		{"full loop, open and on time", func(r *record.Run) { r.Health.LoopFullNs = 12 * s }, Pass, ""},
		{"full loop, closed", func(r *record.Run) { r.LoadModel, r.Health.LoopFullNs = "closed", 12*s }, Invalid, "an event loop was busy"},
		{"full loop that spins", func(r *record.Run) { r.LoadModel, r.Spin, r.Health.LoopFullNs = "closed", true, 12*s }, Pass, ""},
		{"all cores", func(r *record.Run) { r.Health.ProcessCPUMean = 7.9 }, Invalid, "used 7.90 of the 8 cores"},
		{"all of the quota", func(r *record.Run) { r.Environment.CPUQuota, r.Health.ProcessCPUMean = "0.5", 0.49 }, Invalid, "used 0.49 of the 0.5 cores"},
		{"throttled", func(r *record.Run) { r.Health.CgroupThrottledNs = s }, Invalid, "CPU limit stopped the generator for 8.33 %"},
		{"stood still", func(r *record.Run) { r.Health.PausedNs = 5 * s }, Invalid, "stood still for 5 s"},
		{"long collection", func(r *record.Run) { r.Health.GCPauseNsMax = 20 * ms }, Invalid, "a garbage collection stopped the generator for 20.0 ms"},
		{"long collection, slow answers", func(r *record.Run) { r.Health.GCPauseNsMax, r.Total.Response.P99Ns = 20*ms, s }, Pass, ""},
		{"nothing done", func(r *record.Run) { r.Total.Done, r.Total.OK = 0, 0 }, Invalid, "nothing was measured"},
		{"all failed", func(r *record.Run) { r.Total.OK, r.Total.Failed = 0, r.Total.Done }, Fail, "every operation failed"},
		{"stopped itself", func(r *record.Run) { r.Aborted = "more than 5 % of the operations failed" }, Fail, "the run stopped itself: more than 5 %"},
		{"threshold", func(r *record.Run) { r.Thresholds[1].Pass, r.Thresholds[1].Value = false, 0.5 }, Fail, "errors < 1% does not hold: it is 50.0 %"},
	} {
		run := passes()
		c.change(run)
		v := Judge(run)
		if v.Result != c.result || !strings.Contains(strings.Join(v.Reasons, "\n"), c.reason) {
			t.Errorf("%s: %s because %q; want %s because %q", c.name, v.Result, v.Reasons, c.result, c.reason)
		}
	}
}

func TestInvalidGoesBeforeFailed(t *testing.T) {
	run := fixture(t, "fail")
	run.Health.PausedNs = run.DurationNs / 2
	run.Verdict = Judge(run)
	if run.Verdict.Result != Invalid || ExitCode(run) != ExitInvalid || len(run.Verdict.Reasons) != 3 {
		t.Errorf("verdict %+v, exit %d", run.Verdict, ExitCode(run))
	}
	run.Interrupted = true
	if ExitCode(run) != ExitInterrupted {
		t.Errorf("exit %d of an interrupted run", ExitCode(run))
	}
}

func ids(ws []record.Warning) (out []string) {
	for _, w := range ws {
		out = append(out, w.ID)
	}
	return out
}

func TestWarnings(t *testing.T) {
	for name, want := range map[string][]string{
		"pass":          {},
		"fail":          {WarnErrors},
		"invalid":       {WarnGeneratorLimited, WarnLateArrivals},
		"incomplete":    {WarnIncomplete, WarnFewSamples, WarnShortRun},
		"closed":        {WarnFewSamples, WarnShortRun, WarnClosedLoad},
		"addresses":     {WarnReconnects, WarnErrors, WarnUnknownOutcome, WarnClosedLoad},
		"saturated":     {WarnSaturated, WarnLateArrivals},
		"one-operation": {WarnFewSamples, WarnShortRun},
	} {
		if got := ids(fixture(t, name).Warnings); !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestEachWarningHasItsCause(t *testing.T) {
	for id, change := range map[string]func(run *record.Run){
		WarnInterrupted:    func(r *record.Run) { r.Interrupted = true },
		WarnVisibleLag:     func(r *record.Run) { r.Health.OwnLagP99Ns = 400_000 },
		WarnPaused:         func(r *record.Run) { r.Health.PausedNs = 50_000_000 },
		WarnNearCeiling:    func(r *record.Run) { r.Health.CeilingPerS = 1100 },
		WarnGovernor:       func(r *record.Run) { r.Environment.Governor = "powersave" },
		WarnDropped:        func(r *record.Run) { r.Total.Dropped = 3 },
		WarnTolerance:      func(r *record.Run) { r.ToleranceNs = 200_000 },
		WarnLibraryTier:    func(r *record.Run) { r.Tier, r.TierReason = "library", "protocol etcd has no codec" },
		WarnTLSLibraryTier: func(r *record.Run) { r.Tier, r.TierReason = "library", "the codec has no TLS" },
		WarnMissing:        func(r *record.Run) { r.Total.Missing = 5 },
		WarnBadHash:        func(r *record.Run) { r.Total.BadHash = 1 },
		WarnReconnects:     func(r *record.Run) { r.Targets[0].Reconnects = 1 },
	} {
		run := passes()
		change(run)
		got := Assess(run)
		if !slices.Equal(ids(got), []string{id}) {
			t.Errorf("%s: got %q", id, ids(got))
		}
		for _, w := range got {
			if w.Text == "" || w.Remedy == "" || strings.Contains(w.Text+w.Remedy, "\n") {
				t.Errorf("%s: text %q, remedy %q", id, w.Text, w.Remedy)
			}
		}
	}
}

func TestSaturatedRunsAreToldHowManySessionsTheyNeed(t *testing.T) {
	run := fixture(t, "saturated")
	// 1000/s × 10.2 ms = 10.2 requests in flight.
	if n := neededSessions(run); n != 11 {
		t.Errorf("needs %d sessions, want 11", n)
	}
	run.Pipeline = 4
	if n := neededSessions(run); n != 3 {
		t.Errorf("needs %d sessions of 4 requests, want 3", n)
	}
}
