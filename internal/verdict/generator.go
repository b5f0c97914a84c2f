package verdict

import (
	"slices"
	"strconv"
	"time"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/metric"
	"brunt/internal/record"
)

// limits are what the generator's own lag may add to response times before the result is invalid:
// a share of the quantile, or a length below which only the figures' precision suffers.
type limits struct {
	share float64
	floor time.Duration
}

// The limits beyond which the generator, not the server, is held to have made a result.
const (
	// medianShare and tailShare of a quantile may be the generator's own in any case. Of fewer arrivals than
	// fewestOfMedian the median is held to what the tail is: one or two late wake-ups make it.
	medianShare    = 0.1
	tailShare      = 0.25
	fewestOfMedian = 20
	// waitingLimit is the share of the time with arrivals waiting from which on it counts who kept
	// them waiting, and ownLimit the generator's share of the sessions' time then.
	waitingLimit = 0.05
	ownLimit     = 1.0 / 3
	// givenUpLimit is the share of the arrivals that the generator may give up although a session was
	// free.
	givenUpLimit = 0.01
	// collectorLimit is the share of the process's CPU that the garbage collector may take while arrivals
	// wait, and collectorFloor the share of a core below which it keeps nobody from sending.
	collectorLimit = 1.0 / 3
	collectorFloor = 0.1
	// turnaroundLimit is the share of the sessions' time in closed loads that may pass between an
	// answer and the next send, and turnaroundFloor the mean length below which it is let pass.
	turnaroundLimit = 1.0 / 3
	turnaroundFloor = 50 * time.Microsecond
	// loopFullLimit is the share of time with an event loop above 95 % of a core, in closed loads.
	loopFullLimit = 0.1
	// cpuLimit is the share of the cores allowed that the process may use on average.
	cpuLimit = 0.95
	// throttledLimit and pausedLimit are shares of the time in which the control group was
	// throttled or the process stood still.
	throttledLimit = 0.02
	pausedLimit    = 0.01
	// heldLimit is the share of the time in which it may have been stopped for less than that counts as
	// standing still: arrivals that were late for it are seen for themselves.
	heldLimit = 0.05
	// saturatedLimit is the share of time with arrivals waiting for sessions from which on sessions,
	// not the schedule, are held to have set the pace.
	saturatedLimit = 0.05
	// starvedLimit is the share of the time that threads may wait for a core where that spoils times.
	starvedLimit = 0.25
	// wakeLimit is the share of the time that a thread which wakes 100 times a second may wait for a core:
	// one that shares its cores gets them soon, one whose cores are taken away doesn't.
	wakeLimit = 0.2
	// leastLoad is how long a load must last for shares of its time to say something: shorter ones are
	// all beginning.
	leastLoad = 500 * time.Millisecond
	// othersLimit and stealLimit are the shares of the cores from which on other processes and the
	// hypervisor are named as the cause.
	othersLimit = 0.5
	stealLimit  = 0.1
	// gcPauseLimit is the least stop-the-world pause that spoils a result; it must also be half
	// of the response time's p99.
	gcPauseLimit = 10 * time.Millisecond
)

// lagLimits are those of a tier, of the median and of the tail: event loops keep to tens of
// microseconds on a machine that is theirs, client libraries to about a millisecond. The tail's floor
// of event loops is a tick of most kernels (250 a second): for so long another process may have a core to
// itself before the scheduler looks again.
func lagLimits(tier string) (median, tail limits) {
	if tier == "codec" {
		return limits{medianShare, 200 * time.Microsecond}, limits{tailShare, 4 * time.Millisecond}
	}
	return limits{medianShare, time.Millisecond}, limits{tailShare, 10 * time.Millisecond}
}

// invalid says what makes the result invalid, if anything does.
func (j *judge) invalid() (out []message.Message) {
	if !j.run.Complete {
		out = append(out, message.New("verdict.killed", message.Span("at", time.Duration(j.load.EndNs))))
	}
	if j.all.Arrivals() == 0 {
		return append(out, message.New("verdict.nothing-measured"))
	}
	if j.open() {
		out = append(out, j.late()...)
		out = append(out, j.overloaded()...)
	} else {
		out = append(out, j.slowTurn()...)
	}
	return slices.Concat(out, j.noAccount(), j.unverified(), j.undecided(), j.machine(), j.workers())
}

// missingLimit is the share of the arrivals that lost workers may have left out.
const missingLimit = givenUpLimit

// workers names those of a load's workers that were lost with a share of the load which matters, and those that
// measured themselves: sums over all workers hide one that was the bottleneck.
func (j *judge) workers() (out []message.Message) {
	arrivals := float64(j.all.Arrivals())
	for i := range j.run.Parts {
		p := &j.run.Parts[i]
		switch w := p.Worker; {
		case w == nil:
		case w.LostNs > 0 && float64(w.Missing) > missingLimit*(arrivals+float64(w.Missing)):
			out = append(out, message.New("verdict.worker-lost", lostArgs(w, arrivals)...))
		case len(p.Invalid) > 0:
			out = append(out, message.New("verdict.worker", message.Text("worker", w.Name),
				message.Nested("why", p.Invalid[0])))
		}
	}
	return out
}

// lostArgs are what is said of a lost worker of a load that had so many other arrivals.
func lostArgs(w *record.Worker, arrivals float64) []message.Arg {
	missing := float64(w.Missing)
	return []message.Arg{
		message.Text("worker", w.Name), message.Span("at", time.Duration(w.LostNs).Round(100*time.Millisecond)),
		message.Count("missing", w.Missing), message.Part("share", missing, max(arrivals+missing, 1)),
	}
}

// late is for open loads: the generator's own lag changed the response times that it reports, or
// what a threshold says of them.
func (j *judge) late() []message.Message {
	if j.all.WithoutGenerator.Count() == 0 {
		return nil
	}
	median, tail := lagLimits(j.run.Tier)
	roomyMedian, roomyTail := roomyFloors(j.run.Tier)
	if j.all.Arrivals() < fewestOfMedian {
		median, roomyMedian = tail, roomyTail
	}
	for _, at := range []struct {
		name message.Message
		q    float64
		limits
		roomy time.Duration // the floor where the rules hold with room to spare
	}{
		{message.New("response.p99"), tailOf(&j.all.Counts), tail, roomyTail},
		{message.New("response.median"), 0.5, median, roomyMedian},
	} {
		added, response := j.added(at.q), j.all.Answers().Quantile(at.q)
		most := max(int64(at.floor), int64(at.share*float64(response))) + j.run.ToleranceNs
		if added > most && added <= int64(at.roomy)+j.run.ToleranceNs && j.roomy(at.q) {
			j.room = true
			continue
		}
		if added > most {
			return []message.Message{message.New("verdict.late", message.Ns("added", added), message.Nested("of", at.name),
				message.Ns("response", response),
				message.Ns("most", most), message.Nested("cause", j.cause()), message.Nested("remedy", j.remedy()))}
		}
	}
	return j.flipped()
}

// flipped says which thresholds fail only because the generator itself sent late.
func (j *judge) flipped() (out []message.Message) {
	for i := range j.run.Thresholds {
		r := j.rules[i]
		if r == nil || r.Metric != "response" || r.OK || j.run.Thresholds[i].Pass {
			continue
		}
		if o := j.withoutLag(r); o.Pass {
			out = append(out, message.New("verdict.flipped", message.Text("threshold", r.Text),
				message.Figure("value", o.Value, o.Unit), message.Nested("remedy", j.remedy())))
		}
	}
	return out
}

// withoutLag judges a threshold on response times as if the generator had sent in time.
func (j *judge) withoutLag(r *metric.Rule) Outcome {
	return evaluate(r, j.run.OperationNames(), j.load, func(all *measure.OperationAccount) measure.Answers {
		return measure.Answers{Times: all.WithoutGenerator, NoAnswer: all.NoAnswer()}
	})
}

// overloaded is for open loads in which arrivals waited: the generator, not the server, kept sessions
// from working.
func (j *judge) overloaded() (out []message.Message) {
	p := &j.load.Pace
	own, service := p.WaitingOwnNs, p.WaitingServiceNs
	waited := float64(p.SaturatedNs+p.IdleBacklogNs) / float64(max(j.load.LoadNs, 1))
	if waited > waitingLimit && own > ownLimit*(own+service) {
		out = append(out, message.New("verdict.overloaded", message.Share("own", own/(own+service)),
			message.Nested("remedy", j.remedy())))
	}
	h := &j.load.Health
	cpu, collector := h.ProcessCPU*float64(h.ObservedNs), float64(h.GCCPUNs)
	if waited > waitingLimit && collector > collectorLimit*cpu && collector > collectorFloor*float64(h.ObservedNs) &&
		!j.stoodStill() {
		out = append(out, message.New("verdict.collector", message.Share("share", min(collector/cpu, 1))))
	}
	if n := j.all.Unsent[measure.UnsentGenerator]; float64(n) > givenUpLimit*float64(j.all.Arrivals()) {
		out = append(out, message.New("verdict.gave-up", message.Part("share", n, j.all.Arrivals()),
			message.Nested("remedy", j.remedy())))
	}
	return out
}

// slowTurn is for closed loads: the generator kept sessions waiting between an answer and the next send.
func (j *judge) slowTurn() (out []message.Message) {
	if t := j.load.Turnaround; t.Count() > 0 && j.load.LoadNs >= int64(leastLoad) && !j.spins() {
		own := t.Sum()
		// Thinking sessions have the time that they are connected.
		if whole := max(own+j.load.Pace.InFlightNs, j.load.Pace.SessionsNs); own > turnaroundLimit*whole &&
			t.Mean() > float64(turnaroundFloor) {
			out = append(out, message.New("verdict.slow-turn", message.Ns("mean", t.Mean()), message.Share("share", own/whole),
				message.Nested("remedy", j.remedy())))
		}
	}
	if s := j.timeShare(j.load.Health.LoopFullNs); s > loopFullLimit && !j.spins() {
		out = append(out, message.New("verdict.loop-full", message.Share("share", s),
			message.Nested("loops", j.with("loops", func(flag message.Arg) message.Message {
				return message.New("add-loops-or", flag)
			}))))
	}
	return out
}

func (j *judge) spins() bool { return j.run.Spin }

// cause says with figures what kept the generator from its work, if anything is known.
func (j *judge) cause() message.Message {
	h := &j.load.Health
	whole := int64(j.run.Environment.Cores) * h.ObservedNs
	if others := timeShare(h.OthersNs, whole); others > othersLimit {
		return message.New("cause.others", message.Share("share", others))
	}
	if steal := timeShare(h.StealNs, whole); steal > stealLimit {
		return message.New("cause.hypervisor", message.Share("share", steal))
	}
	return message.Message{}
}

// starved is where the receipt of answers waits for a core with the rest, in closed loads and on
// client libraries: the generator's threads waited longer than they worked, and for much of the time.
func (j *judge) starved() []message.Message {
	h := &j.load.Health
	waited := float64(h.RunQueueNs)
	if j.run.Tier == "codec" {
		if j.open() {
			return nil // answers have the kernel's times
		}
		waited = float64(h.LoopRunQueueNs)
	}
	if ns := float64(h.ObservedNs); ns >= float64(leastLoad) && waited > starvedLimit*ns &&
		(waited > 2*h.ProcessCPU*ns || float64(h.WakeWaitNs) > wakeLimit*ns) {
		return []message.Message{message.New("verdict.starved", message.Share("waited", waited/(waited+h.ProcessCPU*ns)),
			message.Nested("cause", j.cause()), message.Nested("remedy", j.remedy()))}
	}
	return nil
}

// remedy is what helps a generator that was too slow.
func (j *judge) remedy() message.Message {
	switch {
	case j.stoodStill():
		return message.New("remedy.stood-still")
	case j.run.Flags["engine"] != "":
		return message.New("remedy.engine", message.Text("engine", j.run.Flags["engine"]))
	case j.run.Tier != "codec":
		return message.New("remedy.library")
	}
	return message.New("remedy.codec", message.Nested("loops", j.with("loops", func(flag message.Arg) message.Message {
		return message.New("add-loops", flag)
	})))
}

// machine is what the process itself or its machine did to the result.
func (j *judge) machine() (out []message.Message) {
	h := &j.load.Health
	out = j.starved()
	if cores := allowedCores(&j.run.Environment); cores > 0 && h.ProcessCPU > cpuLimit*cores && !j.spins() {
		out = append(out, message.New("verdict.cpu", message.Number("used", h.ProcessCPU),
			message.Figure("cores", cores, "count")))
	}
	if s := j.timeShare(h.CgroupThrottledNs); s > throttledLimit {
		out = append(out, message.New("verdict.throttled", message.Share("share", s)))
	}
	if j.stoodStill() {
		out = append(out, message.New("verdict.paused", message.Span("paused", time.Duration(h.PausedNs))))
	}
	if s := j.timeShare(h.HeldNs); s > heldLimit && !j.stoodStill() {
		out = append(out, message.New("verdict.held", message.Share("share", s)))
	}
	p99 := j.all.Answers().Quantile(0.99)
	// One that was stopped in the middle of a collection would blame that for it.
	if p := h.GCPauseNsMax; p > int64(gcPauseLimit) && p > p99/2 && !j.stoodStill() {
		out = append(out, message.New("verdict.collection", message.Ns("pause", p), message.Ns("p99", p99)))
	}
	return out
}

// timeShare is the share of the load that ns is.
func (j *judge) timeShare(ns int64) float64 { return timeShare(ns, j.load.LoadNs) }

// stoodStill reports whether the generator stood still for so long that nothing else can be said.
func (j *judge) stoodStill() bool { return j.timeShare(j.load.Health.PausedNs) > pausedLimit }

// timeShare is the share of a time that a part of it is, in [0,1]. A part that is told by several cores or
// threads (a control group's throttling), or that reaches over the end of the load, is all of the time at most.
func timeShare(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(max(float64(part)/float64(whole), 0), 1)
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
