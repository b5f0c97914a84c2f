package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/message"
)

const us, ms, s = 1000, 1_000_000, 1_000_000_000

// healthyLoad returns a run that passes without warnings, and its account: 12 s at 1000/s.
func healthyLoad(thresholds ...string) (*record.Run, *measure.Account) {
	run, t := recordtest.Base(), &measure.Tally{}
	recordtest.Load(t, run, "hold", 0, recordtest.Shape{Seconds: 12, PerS: 1000, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	for _, text := range thresholds {
		run.Thresholds = append(run.Thresholds, record.Threshold{Text: text})
	}
	run.Flags = map[string]string{"sessions": "--vu", "threshold": "--threshold", "loops": "--loops"}
	return run, t.Total()
}

// late makes n arrivals of the account late by own ns, although a session was free at their intended start.
func late(a *measure.Account, own int64, n uint64) {
	o := &a.Operations[0]
	o.Done += n
	o.Attempts += n
	o.Response.RecordN(own+300*us, n)
	o.WithoutGenerator.RecordN(300*us, n)
	o.Service.RecordN(300*us, n)
	o.Lag.RecordN(own, n)
	a.OwnLag.RecordN(own, n)
	a.Offered += n
}

// slow adds n arrivals that the server answered after ns.
func slow(a *measure.Account, ns int64, n uint64) {
	o := &a.Operations[0]
	o.Done += n
	o.Attempts += n
	for _, h := range []*measure.Histogram{o.Response, o.WithoutGenerator, o.Service} {
		h.RecordN(ns, n)
	}
	a.Offered += n
}

// fewArrivals returns the account of a load of 1/s whose arrivals were each sent late by own ns.
func fewArrivals(n uint64, own int64) measure.Account {
	a := measure.Account{Operations: make([]measure.OperationAccount, 2), LoadNs: int64(n) * s,
		OwnLag: measure.NewHistogram()}
	a.Pace.SessionsNs = 16 * float64(a.LoadNs)
	o := &a.Operations[0]
	o.Response, o.WithoutGenerator, o.Service, o.Lag = measure.NewHistogram(), measure.NewHistogram(),
		measure.NewHistogram(), measure.NewHistogram()
	late(&a, own, n)
	return a
}

func fail(a *measure.Account, class protocol.Class, n uint64) {
	o := &a.Operations[0]
	o.Done += n
	o.Attempts += n
	o.Errors[class] += n
	a.Offered += n
}

// A run is invalid for late sending alone only if it fails nothing else.
func TestLateAlone(t *testing.T) {
	for name, c := range map[string]struct {
		thresholds []string
		change     func(a *measure.Account)
		want       bool
	}{
		"late":            {[]string{"p(99) < 100ms"}, func(a *measure.Account) { late(a, 20*ms, 200) }, true},
		"late, and fails": {[]string{"p(99) < 1ms"}, func(a *measure.Account) { late(a, 20*ms, 200) }, false},
		"late, and throttled": {[]string{"p(99) < 100ms"},
			func(a *measure.Account) { late(a, 20*ms, 200); a.Health.CgroupThrottledNs = s }, false},
		"throttled, but in time": {nil, func(a *measure.Account) { a.Health.CgroupThrottledNs = s }, false},
	} {
		run, a := healthyLoad(c.thresholds...)
		c.change(a)
		Judge(run, a)
		if run.Verdict.LateAlone != c.want || run.Verdict.Result != Invalid {
			t.Errorf("%s: %+v", name, run.Verdict)
		}
	}
}

// TestWhatSpoilsAResult changes one property of a run that passes.
func TestWhatSpoilsAResult(t *testing.T) {
	for _, c := range []struct {
		name       string
		thresholds []string
		change     func(r *record.Run, a *measure.Account)
		result     string
		reason     string
	}{
		{"nothing", nil, func(*record.Run, *measure.Account) {}, Pass, "good to 8"},
		{"answers that made no sense, fewer than may fail", []string{"errors < 5%"},
			func(_ *record.Run, a *measure.Account) { fail(a, protocol.Protocol, 20) }, Fail, "20 answers made no sense"},
		{"an adaptive load whose goal wasn't kept", nil, func(r *record.Run, _ *measure.Account) {
			r.Phases = append(r.Phases, record.Phase{Name: "follow", Adaptive: &record.Adaptive{MinPerS: 5, AtLeast: 0.6}})
		}, Fail, "most decisions were at the least that is allowed, 5.00/s"},
		{"an adaptive load that was at its least for a while", nil, func(r *record.Run, _ *measure.Account) {
			r.Phases = append(r.Phases, record.Phase{Name: "follow", Adaptive: &record.Adaptive{MinPerS: 5, AtLeast: 0.4}})
		}, Pass, ""},
		{"an adaptive load whose goal was never met", nil, func(r *record.Run, _ *measure.Account) {
			r.Phases = append(r.Phases, record.Phase{Name: "follow", Adaptive: &record.Adaptive{Decisions: 7, NeverMet: true}})
		}, Fail, "none of its decisions (7) found the goal met"},
		{"most of the load unsent, and no rule about that", []string{"errors < 5%"},
			func(_ *record.Run, a *measure.Account) { a.Overdue, a.Offered = 16_900, 28_900 }, Pass,
			"only 41.5 % of the rate asked for was sent in time"},
		{"one in a hundred late", nil, func(_ *record.Run, a *measure.Account) { late(a, 20*ms, 200) }, Invalid,
			"18.8 ms of the p99 of response time"},
		{"late by less than counts", nil, func(_ *record.Run, a *measure.Account) { late(a, 1500*us, 400) }, Pass, ""},
		{"as late as spoils event loops", nil, func(_ *record.Run, a *measure.Account) { late(a, 6*ms, 400) }, Invalid,
			"(--loops)"},
		{"as late, library", nil, func(r *record.Run, a *measure.Account) { r.Tier = "library"; late(a, 6*ms, 400) },
			Pass, ""},
		{"later, library", nil, func(r *record.Run, a *measure.Account) { r.Tier = "library"; late(a, 20*ms, 400) }, Invalid,
			"a protocol and options that the codec tier can drive"},
		{"late within the tolerance", nil,
			func(r *record.Run, a *measure.Account) { r.ToleranceNs = 4 * ms; late(a, 6*ms, 400) }, Pass, ""},
		{"late on the whole", nil, func(_ *record.Run, a *measure.Account) { late(a, 900*us, 30_000) }, Invalid,
			"of the median response time"},
		{"late on the whole, and the rule has room", []string{"p(99) < 500ms", "errors < 1%"},
			func(_ *record.Run, a *measure.Account) {
				late(a, 300*us, 30_000)
			}, Pass, "with more room than the generator's own lag takes"},
		{"late on the whole, and the rule is near", []string{"p(99) < 1300us"}, func(_ *record.Run, a *measure.Account) {
			late(a, 300*us, 30_000)
		}, Invalid, "of the median response time"},
		{"late on the whole, and the rule sees only the median", []string{"p(50) < 500ms"},
			func(_ *record.Run, a *measure.Account) {
				late(a, 6*ms, 400)
			}, Invalid, "of the p99 of response time"},
		{"late on the whole, and the rule sees successes only", []string{"response{ok}.p(99) < 500ms"},
			func(_ *record.Run, a *measure.Account) {
				late(a, 300*us, 30_000)
			}, Invalid, "of the median response time"},
		{"late on the whole, and the rule sees one operation", []string{"response{read}.p(99) < 500ms"},
			func(_ *record.Run, a *measure.Account) {
				late(a, 300*us, 30_000)
			}, Invalid, "of the median response time"},
		{"late on the whole, and another rule is near", []string{"p(99) < 500ms", "p(50) < 700us"},
			func(_ *record.Run, a *measure.Account) {
				late(a, 300*us, 30_000)
			}, Invalid, "of the median response time"},
		{"late by more than any rule has room for", []string{"p(99) < 20s"},
			func(_ *record.Run, a *measure.Account) { late(a, 15*ms, 400) }, Invalid,
			"of the p99 of response time"},
		{"late on the whole, and some was never sent in time", []string{"p(99) < 20s"},
			func(_ *record.Run, a *measure.Account) {
				late(a, 300*us, 30_000)
				a.Overdue = 2000
			}, Invalid, "of the median response time"},
		{"a rule with room, and too few cores", []string{"p(99) < 20s"}, func(_ *record.Run, a *measure.Account) {
			late(a, 300*us, 30_000)
			a.Health.CgroupThrottledNs = s
		}, Invalid, "the control group's CPU limit"},
		{"a threshold that only the generator breaks", []string{"p(99) < 1.6ms"},
			func(_ *record.Run, a *measure.Account) { late(a, 1500*us, 800) }, Invalid,
			"fails only because the generator itself sent late"},
		{"a threshold that the server breaks too", []string{"p(99) < 1ms"},
			func(_ *record.Run, a *measure.Account) { late(a, 1500*us, 400) }, Fail, "threshold p(99) < 1ms does not hold"},
		{"a server far too slow, and late on the whole", []string{"p(99) < 100ms"},
			func(_ *record.Run, a *measure.Account) { late(a, 900*us, 30_000); slow(a, 900*ms, 3000) }, Fail,
			"threshold p(99) < 100ms does not hold"},
		{"the same with too few cores", []string{"p(99) < 100ms"}, func(r *record.Run, a *measure.Account) {
			late(a, 900*us, 30_000)
			slow(a, 900*ms, 3000)
			a.Health.CgroupThrottledNs = s
		}, Invalid, "of the median response time"},
		{"far too late", []string{"p(99) < 100ms"}, func(_ *record.Run, a *measure.Account) { late(a, 900*ms, 3000) },
			Invalid, "of the p99 of response time"},
		{"a late wake-up of three", nil, func(_ *record.Run, a *measure.Account) { *a = fewArrivals(3, 240*us) }, Pass, ""},
		{"each of three late by milliseconds", nil, func(_ *record.Run, a *measure.Account) { *a = fewArrivals(3, 5*ms) },
			Invalid, "5.00 ms of the"},
		{"late, but closed", nil, func(r *record.Run, a *measure.Account) { r.LoadModel = "closed"; late(a, 20*ms, 400) },
			Pass, ""},
		{"more asked for than can be sent", nil, func(_ *record.Run, a *measure.Account) {
			a.Pace.IdleBacklogNs, a.Pace.WaitingOwnNs, a.Pace.WaitingServiceNs = 6*s, 3, 4
		}, Invalid, "while arrivals waited, it took 42.9 % of the sessions' time itself"},
		{"a generator that collects garbage", nil, func(_ *record.Run, a *measure.Account) {
			a.Pace.SaturatedNs, a.Health.ProcessCPU, a.Health.GCCPUNs = 6*s, 0.5, 3*s
		}, Invalid, "the garbage collector took 50.0 % of the generator's CPU"},
		{"little work, half of it the collector's", nil, func(_ *record.Run, a *measure.Account) {
			a.Pace.SaturatedNs, a.Health.ProcessCPU, a.Health.GCCPUNs = 6*s, 0.05, 3*s/10
		}, Pass, ""},
		{"a server that can't keep up", nil, func(_ *record.Run, a *measure.Account) {
			a.Pace.SaturatedNs, a.Pace.WaitingOwnNs, a.Pace.WaitingServiceNs = 6*s, 1, 9
		}, Pass, ""},
		{"given up by the generator", nil, func(_ *record.Run, a *measure.Account) {
			a.Operations[0].Unsent[measure.UnsentGenerator], a.Offered = 300, a.Offered+300
		}, Invalid, "gave up 2.44 % of the arrivals although sessions were free"},
		{"slow turns of a closed load", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Turnaround = "closed", measure.NewHistogram()
			a.Turnaround.RecordN(8*ms, 12_000)
		}, Invalid, "took 8.00 ms between an answer and the next send"},
		{"late after thinking", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Turnaround = "closed", measure.NewHistogram()
			a.Turnaround.RecordN(400*us, 12_000)
		}, Pass, ""},
		{"slow turns of a moment", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Turnaround = "closed", measure.NewHistogram()
			a.Turnaround.RecordN(400*us, 12_000)
			a.LoadNs, a.Health.ObservedNs, a.Health.LoopRunQueueNs, a.Pace.SessionsNs = 7*ms, 7*ms, 6*ms, 16*7*ms
		}, Pass, ""},
		{"quick turns of a closed load", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Turnaround = "closed", measure.NewHistogram()
			a.Turnaround.RecordN(15*us, 12_000)
		}, Pass, ""},
		{"full loop, open and on time", nil, func(_ *record.Run, a *measure.Account) { a.Health.LoopFullNs = 12 * s },
			Pass, ""},
		{"full loop, closed", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed",
				12*s
		}, Invalid, "an event loop was busy"},
		{"full loop that spins", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, r.Spin, a.Health.LoopFullNs = "closed", true, 12*s
		}, Pass, ""},
		{"all cores", nil, func(_ *record.Run, a *measure.Account) { a.Health.ProcessCPU = 7.9 }, Invalid,
			"used 7.90 of the 8 cores"},
		{"all of the quota", nil, func(r *record.Run, a *measure.Account) {
			r.Environment.CPUQuota,
				a.Health.ProcessCPU = "0.5", 0.49
		}, Invalid, "used 0.49 of the 0.5 cores"},
		{"throttled", nil, func(_ *record.Run, a *measure.Account) { a.Health.CgroupThrottledNs = s }, Invalid,
			"CPU limit stopped the generator for 8.33 %"},
		{"starved, closed", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopRunQueueNs, a.Health.OthersNs = "closed", 9*s, 82*s
		}, Invalid, "waited for a core for 87.2 % of the time in which it had work: other processes had 85.4 % of the cores"},
		{"starved, open on event loops", nil, func(_ *record.Run, a *measure.Account) { a.Health.LoopRunQueueNs = 9 * s },
			Pass, ""},
		{"starved, open on a library", nil, func(r *record.Run, a *measure.Account) {
			r.Tier, a.Health.RunQueueNs = "library",
				9*s
		}, Invalid, "waited for a core"},
		{"late because of others", nil,
			func(_ *record.Run, a *measure.Account) { late(a, 20*ms, 200); a.Health.OthersNs = 82 * s }, Invalid,
			"other processes had 85.4 % of the cores"},
		{"stood still", nil, func(_ *record.Run, a *measure.Account) { a.Health.PausedNs = 5 * s }, Invalid,
			"stood still for 5 s"},
		{"stopped again and again", nil, func(_ *record.Run, a *measure.Account) { a.Health.HeldNs = s }, Invalid,
			"was stopped for 8.33 % of the time"},
		{"kept from its core in bursts, closed", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopRunQueueNs, a.Health.ProcessCPU, a.Health.WakeWaitNs = "closed", 5*s, 0.5, 3*s
		}, Invalid, "waited for a core for 45.5 % of the time in which it had work"},
		{"beside a busy server, closed", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopRunQueueNs, a.Health.ProcessCPU, a.Health.WakeWaitNs = "closed", 5*s, 0.5, s/2
		}, Pass, ""},
		{"stopped now and then", nil, func(_ *record.Run, a *measure.Account) { a.Health.HeldNs = s / 2 }, Pass, ""},
		{"late where a tenth failed anyway", nil,
			func(_ *record.Run, a *measure.Account) { late(a, 20*ms, 200); fail(a, protocol.Timeout, 1500) }, Fail,
			"10.9 % of the operations failed"},
		{"the server's errors, closed, at a full loop", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Server, 1500)
		}, Fail, "besides, times are not the server's alone: an event loop was busy"},
		{"the same by a rule", []string{"errors < 1%"}, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Server, 1500)
		}, Fail, "threshold errors < 1% does not hold"},
		{"timeouts at a full loop may be its own", []string{"errors < 1%"}, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Timeout, 1500)
		}, Invalid, "an event loop was busy"},
		{"a server that is gone, on a busy machine", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Connect, 1500)
			r.Failures = []record.FailureCount{{Class: "connect", Code: protocol.RefusedCode, Count: 7}}
		}, Fail, "11.1 % of the operations failed"},
		{"the same by a rule of response time", []string{"p(99) < 1s"}, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Connect, 1500)
			r.Failures = []record.FailureCount{{Class: "connect", Code: protocol.RefusedCode, Count: 7}}
		}, Fail, "it is ∞"},
		{"connections that no full loop could make", nil, func(r *record.Run, a *measure.Account) {
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Connect, 1500)
			r.Failures = []record.FailureCount{{Class: "connect", Count: 1500}}
		}, Invalid, "an event loop was busy"},
		{"a long collection that no p99 shows", nil, func(_ *record.Run, a *measure.Account) {
			a.Health.GCPauseNsMax = 20 * ms
			fail(a, protocol.Timeout, 1500)
		}, Fail, "11.1 % of the operations failed"},
		{"errors of a server whose client stood still", nil, func(_ *record.Run, a *measure.Account) {
			a.Health.PausedNs = 5 * s
			fail(a, protocol.Server, 1500)
		}, Invalid, "stood still for 5 s"},
		{"no success at a full loop", nil, func(r *record.Run, a *measure.Account) {
			*a = measure.Account{Operations: make([]measure.OperationAccount, 2), LoadNs: 12 * s}
			r.LoadModel, a.Health.LoopFullNs = "closed", 12*s
			fail(a, protocol.Timeout, 100)
		}, Fail, "nothing succeeded: 100 failed"},
		{"connections refused to a late generator", nil, func(r *record.Run, a *measure.Account) {
			late(a, 20*ms, 200)
			a.Pace.SessionsNs = 9 * 12 * s
			r.Failures = []record.FailureCount{{Class: "connect", Code: "53300", Count: 7}}
		}, Fail, "only 9.00 were connected"},
		{"connections that a late generator didn't make", nil, func(_ *record.Run, a *measure.Account) {
			late(a, 20*ms, 200)
			a.Pace.SessionsNs = 9 * 12 * s
		}, Invalid, "the generator itself sent late"},
		{"a part whose intervals were cut", nil, func(r *record.Run, _ *measure.Account) {
			r.Parts = []record.Part{{}, {Missing: 6000}}
		}, Invalid, "counted by part 2, and missing from its intervals"},
		{"a part that lacks next to nothing", nil, func(r *record.Run, _ *measure.Account) {
			r.Parts = []record.Part{{}, {Missing: 6}}
		}, Pass, ""},
		{"parts one after the other", nil, func(r *record.Run, _ *measure.Account) {
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			r.Parts = []record.Part{{Ended: at, DurationNs: 12 * s}, {Ended: at.Add(time.Minute), DurationNs: 12 * s}}
		}, Invalid, "the parts ran at different times: all of them together for 0 % of the time only"},
		{"parts at nearly the same time", nil, func(r *record.Run, _ *measure.Account) {
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			r.Parts = []record.Part{{Ended: at, DurationNs: 12 * s}, {Ended: at.Add(time.Second), DurationNs: 12 * s}}
		}, Pass, ""},
		{"long collection", nil, func(_ *record.Run, a *measure.Account) { a.Health.GCPauseNsMax = 20 * ms }, Invalid,
			"a garbage collection stopped the generator for 20.0 ms"},
		{"killed", nil, func(r *record.Run, _ *measure.Account) { r.Complete = false }, Invalid, "killed 12 s into its load"},
		{"nothing due", nil, func(_ *record.Run, a *measure.Account) { *a = measure.Account{} }, Invalid,
			"nothing was measured"},
		{"all failed", nil, func(_ *record.Run, a *measure.Account) {
			*a = measure.Account{Operations: make([]measure.OperationAccount, 2), LoadNs: s}
			fail(a, protocol.Connect, 100)
		}, Fail, "nothing succeeded: 100 failed"},
		{"nothing answered", nil, func(_ *record.Run, a *measure.Account) {
			*a = measure.Account{Operations: make([]measure.OperationAccount, 2), LoadNs: s, Offered: 100}
			a.Operations[0].Unsent[measure.UnsentNoSession], a.Operations[0].Unfinished = 90, 10
		}, Fail, "nothing succeeded: 0 failed, 90 were never sent, 10 were in flight"},
		{"one error in a hundred", nil, func(_ *record.Run, a *measure.Account) { fail(a, protocol.Server, 130) }, Fail,
			"1.07 % of the operations failed, and without thresholds less than 1.00 % may; allow more with --threshold 'errors < 5%'"},
		{"fewer errors", nil, func(_ *record.Run, a *measure.Account) { fail(a, protocol.Server, 90) }, Pass, ""},
		{"errors that a threshold allows", []string{"errors < 5%"},
			func(_ *record.Run, a *measure.Account) { fail(a, protocol.Server, 130) }, Pass, "1 threshold holds"},
		{"no p99 with 15 % failed", []string{"p(99) < 900ms", "errors < 50%"},
			func(_ *record.Run, a *measure.Account) { fail(a, protocol.Timeout, 2200) }, Fail,
			"threshold p(99) < 900ms does not hold: it is ∞"},
		{"of successes there is one", []string{"response{ok}.p(99) < 900ms"},
			func(_ *record.Run, a *measure.Account) { fail(a, protocol.Timeout, 2200) }, Pass, ""},
		{"the median is there with 15 % failed", []string{"p(50) < 900ms"},
			func(_ *record.Run, a *measure.Account) { fail(a, protocol.Timeout, 2200) }, Pass, ""},
		{"less than the rate asked for", nil, func(_ *record.Run, a *measure.Account) { a.Overdue = 700 }, Fail,
			"only 94.2 % of the rate asked for was sent in time"},
		{"nearly the rate asked for", nil, func(_ *record.Run, a *measure.Account) { a.Overdue = 500 }, Pass, ""},
		{"arrivals given up", nil, func(_ *record.Run, a *measure.Account) {
			a.Operations[0].Unsent[measure.UnsentNoSession], a.Offered = 1000, a.Offered+1000
		}, Fail, "only 92.3 % of the rate"},
		{"fewer sessions than asked for", nil, func(_ *record.Run, a *measure.Account) { a.Pace.SessionsNs = 9 * 12 * s },
			Fail, "of the 16 sessions asked for only 9.00 were connected on average"},
		{"sessions that the server closes and that come back", nil, func(_ *record.Run, a *measure.Account) {
			a.Pace.SessionsNs = 9 * 12 * s
			a.Addresses = []measure.AddressAccount{{Reconnects: 4000}}
		}, Pass, ""},
		{"sessions that take long to come back", nil, func(_ *record.Run, a *measure.Account) {
			a.Pace.SessionsNs = 9 * 12 * s
			a.Addresses = []measure.AddressAccount{{Reconnects: 20}}
		}, Fail, "only 9.00 were connected on average"},
		{"sessions that come back after they were refused", nil, func(r *record.Run, a *measure.Account) {
			a.Pace.SessionsNs = 9 * 12 * s
			a.Addresses = []measure.AddressAccount{{Reconnects: 4000}}
			r.Failures = []record.FailureCount{{Class: "connect", Code: "53300", Count: 7}}
		}, Fail, "only 9.00 were connected on average"},
		{"sessions that gave up", []string{"errors < 99%"}, func(r *record.Run, _ *measure.Account) {
			r.Phases = []record.Phase{{WarmUp: true, Aborted: 1}, {Aborted: 2}}
		}, Fail, "3 of 16 sessions gave up after a failure before the load was over"},
		{"stopped itself", []string{"errors < 99%"}, func(r *record.Run, _ *measure.Account) {
			r.Aborted = message.Literal("more than 5 % of the operations failed")
		}, Fail, "the run stopped itself: more than 5 %"},
	} {
		run, a := healthyLoad(c.thresholds...)
		c.change(run, a)
		Judge(run, a)
		if v := run.Verdict; v.Result != c.result || !strings.Contains(fmt.Sprint(v.Reasons), c.reason) {
			t.Errorf("%s: %s because %q; want %s because %q", c.name, v.Result, v.Reasons, c.result, c.reason)
		}
		if faults := message.Faults(run); len(faults) > 0 {
			t.Errorf("%s: %q", c.name, faults)
		}
		for _, r := range run.Verdict.Reasons {
			if text := r.String(); strings.Contains(text, "\n") || strings.Contains(text, "%!") {
				t.Errorf("%s: reason %q", c.name, r)
			}
		}
	}
}

// A share in a reason or a warning lies between 0 and 100 %, even if the machine's figures are implausible.
func TestSharesLieBetweenNothingAndAll(t *testing.T) {
	odd := []int64{0, 1, -5 * s, s, 11 * s, 12 * s, 90_000 * s, math.MaxInt64 / 2}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func() int64 { return odd[r.IntN(len(odd))] }
		run, a := healthyLoad("p(99) < 1ms")
		if r.IntN(2) == 0 {
			run.LoadModel, run.Tier = "closed", "library"
			a.Turnaround = measure.NewHistogram()
			a.Turnaround.RecordN(8*ms, 12_000)
		}
		h := &a.Health
		for _, ns := range []*int64{
			&h.PausedNs, &h.HeldNs, &h.WakeWaitNs, &h.CgroupThrottledNs, &h.LoopFullNs, &h.RunQueueNs, &h.LoopRunQueueNs,
			&h.GCCPUNs,
			&h.OthersNs, &h.StealNs, &a.Pace.SaturatedNs, &a.Pace.IdleBacklogNs,
		} {
			*ns = pick()
		}
		a.Pace.WaitingOwnNs, a.Pace.WaitingServiceNs = float64(max(pick(), 0)), float64(max(pick(), 0))
		a.Overdue = uint64(r.IntN(20_000))
		run.Health.CeilingPerS, run.Health.SaturatedNs, run.Total.RatePerS = 100, pick(), 1000
		fail(a, protocol.Server, uint64(r.IntN(400)))
		Judge(run, a)
		if faults := message.Faults(run); len(faults) > 0 {
			t.Errorf("seed %d: %q", seed, faults)
		}
	}
}

// If the generator shares its machine, the report says who used how much of it. If the server is on the machine, the
// report always says so.
func TestSharedMachines(t *testing.T) {
	for _, c := range []struct {
		name   string
		here   bool
		others float64 // cores used by others, of 4
		steal  int64   // stolen ns of one core
		want   string  // must be in the text; "" if nothing is reported
	}{
		{"its own", false, 0.1, 0, ""},
		{"shared with the server", true, 0.1, 0,
			"the server is on this machine, too: of its 4 cores this process used 0.25 and others 0.10"},
		{"shared with others", false, 1.5, 0, "of its 4 cores this process used 0.25 and others 1.50"},
		{"shared with the hypervisor's guests", false, 0, 6 * s, "other processes had a share of this machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, _ := healthyLoad()
			run.Environment.Cores, run.ServerHere, run.DurationNs = 4, c.here, 12*s
			run.Health.OthersCPUMean, run.Health.ProcessCPUMean, run.Health.StealNs = c.others, 0.25, c.steal
			w, ok := shared(run)
			if ok != (c.want != "") || !strings.Contains(w.Text.String(), c.want) {
				t.Errorf("%v: %q, want %q", ok, w.Text, c.want)
			}
			if share := OthersShare(run); share < 0 || share > 1 {
				t.Errorf("share %g", share)
			}
		})
	}
}

// Advice names only flags that the command has.
func TestAdviceNamesNoFlagThatIsNotThere(t *testing.T) {
	for _, flags := range []map[string]string{nil, {"sessions": "-concurrency"}} {
		run, a := healthyLoad()
		run.Flags = flags
		fail(a, protocol.Server, 400)
		late(a, 6*ms, 400)
		a.Overdue, a.Pace.SaturatedNs = 3000, 6*s
		Judge(run, a)
		text := fmt.Sprint(run.Verdict.Reasons, run.Warnings)
		if strings.Contains(text, "--") || strings.Contains(text, "-concurrency") != (flags != nil) {
			t.Errorf("with %v: %s", flags, text)
		}
	}
}

func TestInvalidGoesBeforeFailed(t *testing.T) {
	run, a := healthyLoad("p(99) < 1us")
	a.Health.PausedNs = 5 * s
	Judge(run, a)
	if run.Verdict.Result != Invalid || ExitCode(run) != exitcode.Invalid || len(run.Verdict.Reasons) != 2 {
		t.Errorf("verdict %+v, exit %d", run.Verdict, ExitCode(run))
	}
	run.Interrupted = true
	if ExitCode(run) != exitcode.Interrupted {
		t.Errorf("exit %d of an interrupted run", ExitCode(run))
	}
}

// The verdict of an interrupted run is that of the load up to then, and says so.
func TestAnInterruptedRunSaysSo(t *testing.T) {
	run, a := healthyLoad("p(99) < 1s")
	run.Interrupted, run.DurationNs = true, 5*s
	Judge(run, a)
	if run.Verdict.Result != Pass || !strings.HasPrefix(run.Verdict.Texts()[0], "the run was interrupted after 5 s under load") {
		t.Errorf("verdict %s: %q", run.Verdict.Result, run.Verdict.Texts())
	}
	if words := Words(run); len(words) != 1 || words[0] != "interrupted" {
		t.Errorf("words %q", words)
	}
}

// A result says nothing about a fault that was not done.
func TestFaultsThatWereNotDone(t *testing.T) {
	for _, c := range []struct {
		name, err  string
		must       string
		thresholds []string
		result     string
	}{
		{"done", "", "", []string{"p(99) < 1s"}, Pass},
		{"not done", "exit 3", "", []string{"p(99) < 1s"}, Invalid},
		{"not done, and nothing is asked", "exit 3", "", nil, Pass},
		{"not done, and it must be", "exit 3", plan.MustHappen, nil, Invalid},
		{"not done, and it need not be", "exit 3", plan.MustTry, []string{"p(99) < 1s"}, Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, a := healthyLoad(c.thresholds...)
			run.Faults = []record.Fault{{Name: "kill", Number: 1, BeginNs: 1, DoneNs: 2, Must: c.must, Error: c.err}}
			Judge(run, a)
			if run.Verdict.Result != c.result {
				t.Errorf("%s: %q, want %s", run.Verdict.Result, run.Verdict.Texts(), c.result)
			}
		})
	}
}

// Wrong data fails a run, even if the generator was disturbed, which is also reported.
func TestWrongDataFailWhateverElse(t *testing.T) {
	lost := func(r *record.Run) {
		r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, OK: 8, Lost: 1}}}
	}
	for _, c := range []struct {
		name   string
		wrong  func(*record.Run)
		change func(*measure.Account)
		result string
	}{
		{"lost, and it stood still", lost, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"lost, and it was held back", lost, func(a *measure.Account) { a.Health.HeldNs = s }, Fail},
		{"lost, and it sent late", lost, func(a *measure.Account) { late(a, 20*ms, 200) }, Fail},
		{"lost after a fault, and it stood still", func(r *record.Run) {
			r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, Overwritten: 9}},
				LostMeanwhile: 1, AfterFaults: []record.VerifiedFault{{Fault: "kill", Number: 1, NewLost: 1}}}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"wrong after a fault, and it stood still", func(r *record.Run) {
			r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, Overwritten: 9}},
				AfterFaults: []record.VerifiedFault{{Fault: "kill", Number: 1,
					Operations: []record.VerifiedOperation{{Acknowledged: 9, OK: 8, Duplicated: 1}}}}}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"addresses that don't agree, and it stood still", func(r *record.Run) {
			r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, OK: 8, Stale: 1}}}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"a split brain, and it stood still", func(r *record.Run) {
			r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, OK: 9}},
				Divisions: []record.Division{{A: "a:1", B: "b:1", OnlyA: 3, OnlyB: 4, SinceNs: 5}}}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"a value that nobody wrote, and it stood still", func(r *record.Run) {
			r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, OK: 8, Unexpected: 1}}}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"a register without explanation, and it stood still", func(r *record.Run) {
			r.Registers = &record.Registers{Registers: 2, Linearizable: 1, Violated: 1}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Fail},
		{"nothing is wrong, and it stood still", func(r *record.Run) {
			r.Verified = &record.Verified{Operations: []record.VerifiedOperation{{Acknowledged: 9, OK: 9}}}
		}, func(a *measure.Account) { a.Health.PausedNs = 5 * s }, Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, a := healthyLoad("p(99) < 1s")
			c.wrong(run)
			c.change(a)
			Judge(run, a)
			if v := &run.Verdict; v.Result != c.result || len(v.Reasons) == 0 ||
				c.result == Fail && !strings.Contains(v.Reasons[len(v.Reasons)-1].String(), "besides") {
				t.Errorf("%s: %q, want %s", v.Result, v.Texts(), c.result)
			}
		})
	}
}

// Judging a run again gives the same result, and a threshold that stopped the run remains failed.
func TestJudgingAgain(t *testing.T) {
	run, a := healthyLoad("p(99) < 10ms", "errors < 1%")
	run.Thresholds[1].Aborted = true
	Judge(run, a)
	first := slices.Clone(run.Thresholds)
	Judge(run, a)
	if !slices.Equal(first, run.Thresholds) || first[0].Pass != true || first[1].Pass {
		t.Errorf("%+v, then %+v", first, run.Thresholds)
	}
}

func TestThresholdsOverAnyWindow(t *testing.T) {
	_, a := healthyLoad()
	fail(a, protocol.Server, 120)
	a.Operations[1].Unsent[measure.UnsentLoadOver] = 880
	for text, want := range map[string]float64{
		"errors.count < 1": 120, "errors < 1": 120.0 / 12120, "dropped.count < 1": 880, "dropped < 1%": 880.0 / 13000,
		"count > 1": 12120, "rate > 1": 1000, "max < 1s": math.Inf(1),
		"response{ok}.max < 1s":                     float64(a.All().Response.Max()),
		"response{operation:insert car}.p(50) < 1s": math.NaN(), "p(100) < 1s": math.Inf(1),
		"response.avg < 1s":                          a.All().Response.Mean(),
		"response{ok,operation:insert car}.max < 1s": float64(a.Operations[1].Response.Max()),
	} {
		th := mustParse(t, text)
		o := Evaluate(&th.Rule, []string{"select car by id", "insert car"}, a)
		if math.IsNaN(want) {
			want = float64(a.Operations[1].Answers().Quantile(0.5))
		}
		if o.Value != want {
			t.Errorf("%s: %v, want %v", text, o.Value, want)
		}
	}
}

func ids(ws []record.Warning) (out []string) {
	for _, w := range ws {
		out = append(out, w.ID)
	}
	return out
}

func TestEachWarningHasItsCause(t *testing.T) {
	for id, change := range map[string]func(run *record.Run){
		WarnInterrupted: func(r *record.Run) { r.Interrupted = true },
		WarnVisibleLag:  func(r *record.Run) { r.Verdict.AddedP99Ns = 400_000 },
		WarnPaused:      func(r *record.Run) { r.Health.PausedNs = 50_000_000 },
		WarnNearCeiling: func(r *record.Run) { r.Health.CeilingPerS = 1100 },
		WarnShared:      func(r *record.Run) { r.Health.OthersCPUMean = 0.2 * float64(r.Environment.Cores) },
		WarnGovernor:    func(r *record.Run) { r.Environment.Governor = "powersave" },
		WarnDropped:     func(r *record.Run) { r.Total.Dropped = 3 },
		WarnTolerance:   func(r *record.Run) { r.ToleranceNs = 200_000 },
		WarnLibraryTier: func(r *record.Run) {
			r.Tier, r.TierReason = "library",
				message.Literal("protocol etcd has no codec")
		},
		WarnTLSLibraryTier: func(r *record.Run) { r.Tier, r.TierReason = "library", message.Literal("the codec has no TLS") },
		WarnMissing:        func(r *record.Run) { r.Total.MissingUpdates = 5 },
		WarnMisdirected:    func(r *record.Run) { r.Total.Misdirected = r.Total.Done/50 + 1 },
		WarnBadHash:        func(r *record.Run) { r.Total.BadHash = 1 },
		WarnReconnects:     func(r *record.Run) { r.Targets[0].Reconnects = 1 },
		WarnEmptyRule: func(r *record.Run) {
			r.Thresholds = append(r.Thresholds, record.Threshold{Text: "errors < 1", Pass: true, Unit: "fraction", Limit: 1})
		},
	} {
		run, a := healthyLoad("p(99) < 10ms")
		sums := &measure.Tally{}
		_ = sums.Interval(&measure.Interval{Phase: "hold", Kind: measure.KindOpen, Account: *a})
		record.Fill(run, sums)
		Judge(run, a)
		if len(run.Warnings) > 0 {
			t.Fatalf("warnings of a healthy run: %+v", run.Warnings)
		}
		change(run)
		got := Assess(run)
		if !slices.Equal(ids(got), []string{id}) {
			t.Errorf("%s: got %q", id, ids(got))
		}
		if faults := message.Faults(got); len(faults) > 0 {
			t.Errorf("%s: %q", id, faults)
		}
		for _, w := range got {
			if w.Text.IsZero() || w.Remedy.IsZero() || strings.Contains(fmt.Sprint(w), "\n") {
				t.Errorf("%s: text %q, remedy %q", id, w.Text, w.Remedy)
			}
		}
	}
}

func TestNeededSessions(t *testing.T) {
	run := &record.Run{Total: record.Operation{OfferedPerS: 1000, Service: record.Latency{MeanNs: 10.2e6}}}
	if n := neededSessions(run); n != 11 {
		t.Errorf("needs %d sessions, want 11", n)
	}
	run.Pipeline = 4
	if n := neededSessions(run); n != 3 {
		t.Errorf("needs %d sessions of 4 requests, want 3", n)
	}
}

// If a generator was stopped during a garbage collection, the collection isn't blamed.
func TestAStandstillIsNoCollection(t *testing.T) {
	run, a := healthyLoad()
	a.Pace.SaturatedNs, a.Health.ProcessCPU, a.Health.GCCPUNs = 6*s, 0.5, 3*s
	a.Health.GCPauseNsMax = 2 * s
	Judge(run, a)
	if n := strings.Count(fmt.Sprint(run.Verdict.Reasons), "garbage collect"); n != 2 {
		t.Fatalf("without a standstill %d reasons name the collector, want 2: %q", n, run.Verdict.Reasons)
	}
	a.Health.PausedNs = 5 * s
	Judge(run, a)
	reasons := fmt.Sprint(run.Verdict.Reasons)
	if run.Verdict.Result != Invalid || !strings.Contains(reasons, "stood still for 5 s") ||
		strings.Contains(reasons, "garbage collect") {
		t.Errorf("%s because %q", run.Verdict.Result, run.Verdict.Reasons)
	}
}

// If the limit of open files keeps sessions from connecting, advice names it and not a number of sessions.
func TestTheLimitOfFilesIsNamed(t *testing.T) {
	run, _ := healthyLoad()
	run.Flags = map[string]string{"sessions": "--sessions"}
	run.LoadModel, run.Sessions, run.SessionsAsNeeded, run.FilesLimit = "open", 4, true, 60
	run.DurationNs, run.Health.SaturatedNs = 10e9, 9e9
	run.Total.OfferedPerS, run.Total.Service.MeanNs = 10_000, 10e6
	for _, w := range Assess(run) {
		if w.ID != WarnSaturated {
			continue
		}
		if !strings.Contains(w.Text.String(), "60 files") || !strings.Contains(w.Remedy.String(), "ulimit -n") ||
			strings.Contains(w.Remedy.String(), "--sessions") {
			t.Errorf("%s → %s", w.Text, w.Remedy)
		}
		return
	}
	t.Errorf("no warning: %q", ids(Assess(run)))
}

// The kernel counts processor time in steps of up to 10 ms, so a load of less than a millisecond has no shares.
func TestShortLoadsHaveNoSharesOfTheMachine(t *testing.T) {
	run, _ := healthyLoad()
	run.ServerHere, run.DurationNs, run.Health.OthersCPUMean = true, 565_000, float64(run.Environment.Cores)
	w, ok := shared(run)
	if !ok || strings.ContainsAny(w.Text.String(), "0123456789") {
		t.Errorf("%v: %s, want no figures", ok, w.Text)
	}
}

// A visible lag of the generator's own that adds nothing to the times is hidden by another wait.
func TestAWaitForSessionsHidesTheGeneratorsLag(t *testing.T) {
	run := &record.Run{Health: record.Health{OwnLagP99Ns: 60e6}}
	if !HidesLag(run) {
		t.Error("an own lag of 60 ms is said to add nothing")
	}
	run.Verdict.AddedP99Ns = 60e6
	if HidesLag(run) {
		t.Error("an added lag of 60 ms is said to be hidden")
	}
}
