package verdict

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// limits bound what the generator's own lag may add to response times before the result is invalid. Both must be
// exceeded: the share of the quantile, and the floor, a length below which lag only makes the figures less precise.
type limits struct {
	share float64
	floor time.Duration
}

// The limits beyond which the generator, not the server, is considered the cause of a result. Each says where it comes
// from: from the kernel or the runtime, or it is chosen, and then why. What the choices are worth is measured for all
// of them together: `make verdict` counts wrong verdicts in situations whose truth is known (see docs/verdict.md).
const (
	// medianShare and tailShare are the shares of the median and the tail that the generator's lag may always make up.
	// Chosen; the tail's is larger because it rests on fewer arrivals and is less precise by itself. With fewer than
	// fewestOfMedian arrivals the limits of the tail apply to the median too, since one or two late wake-ups decide it
	// (chosen: two are then a tenth of the arrivals).
	medianShare    = 0.1
	tailShare      = 0.25
	fewestOfMedian = 20
	// waitingLimit is the share of the time with waiting arrivals from which on their cause matters. Chosen as
	// 1 − rateDefault. ownLimit is then the generator's largest allowed share of the sessions' time. Chosen: up to a
	// third, the server had at least twice the generator's time, so that a perfect generator could not have raised the
	// rate by more than a half.
	waitingLimit = 0.05
	ownLimit     = 1.0 / 3
	// givenUpLimit is the share of the arrivals that the generator may give up although a session was free. Chosen: no
	// more than what lies beyond the p99.
	givenUpLimit = 0.01
	// collectorLimit is the share of the process's CPU time that the garbage collector may use while arrivals wait. The
	// Go runtime gives its background workers a quarter of GOMAXPROCS while it collects (runtime/mgcpacer.go,
	// gcBackgroundUtilization), so more than a third means that it collects most of the time, with the help of the
	// sessions' goroutines. Below collectorFloor, a share of one core, the collector doesn't delay sending (chosen).
	collectorLimit = 1.0 / 3
	collectorFloor = 0.1
	// turnaroundLimit is the share of the sessions' time in a closed load that may pass between an answer and the next
	// send. Chosen as ownLimit, for the same reason. A mean below turnaroundFloor is always accepted (chosen: a quarter
	// of the floor of the median on event loops; see lagLimits).
	turnaroundLimit = 1.0 / 3
	turnaroundFloor = 50 * time.Microsecond
	// loopFullLimit is the share of the time during which an event loop of a closed load may use more than 95 % of a
	// core. Chosen: the other nine tenths of the time still show what the server can do.
	loopFullLimit = 0.1
	// cpuLimit is the share of the allowed cores that the process may use on average. Chosen close to
	// 1, with room for the inaccuracy of the kernel's CPU times.
	cpuLimit = 0.95
	// throttledLimit and pausedLimit are the shares of the time during which the control group may be throttled and the
	// process may stand still. Chosen: two of the kernel's periods of 100 ms (the default of cpu.max) in 10 s; and as
	// givenUpLimit, because what falls due in that time is then as much as lies beyond the p99.
	throttledLimit = 0.02
	pausedLimit    = 0.01
	// heldLimit is the share of the time that stops shorter than a pause may add up to. Chosen as waitingLimit.
	// Arrivals that they made late are counted separately.
	heldLimit = 0.05
	// saturatedLimit is the share of the time with arrivals waiting for a session from which on the sessions, not the
	// schedule, are considered to set the pace. Chosen as waitingLimit.
	saturatedLimit = 0.05
	// starvedLimit is the share of the time that threads may wait for a core where such waiting distorts the times.
	// Chosen as tailShare, because such waiting is part of the response times.
	starvedLimit = 0.25
	// wakeLimit is the share of the time that a thread which wakes 100 times a second may wait for a core. A thread
	// that shares its cores gets one quickly; a thread whose cores are taken away doesn't. It is 2 ms for each wake-up:
	// half of the 4 ms that one tick of the scheduler lasts at 250 a second (CONFIG_HZ_250, the default).
	wakeLimit = 0.2
	// leastLoad is the shortest load whose shares of time are judged. A shorter load consists of its start only. Chosen
	// as the length from which on the watchdog calls a stop a pause.
	leastLoad = 500 * time.Millisecond
	// othersLimit and stealLimit are the shares of the cores from which on other processes and the hypervisor are named
	// as the cause. Chosen; they decide what a reason says, not whether there is one.
	othersLimit = 0.5
	stealLimit  = 0.1
	// gcPauseLimit is the shortest stop-the-world pause that makes a result invalid. The pause must also exceed half of
	// the p99 of the response times. Chosen as the tail's floor of the library tier; see lagLimits.
	gcPauseLimit = 10 * time.Millisecond
)

// lagLimits returns the limits of the median and of the tail for the run's tier. On a dedicated machine event loops
// keep within tens of microseconds, client libraries within about a millisecond. The tail's floor of event loops is one
// scheduler tick of most kernels (250 a second): another process can hold a core for that long, even on an idle
// machine.
func lagLimits(run *record.Run) (median, tail limits) {
	if run.OnLoops() {
		return limits{medianShare, 200 * time.Microsecond}, limits{tailShare, 4 * time.Millisecond}
	}
	return limits{medianShare, time.Millisecond}, limits{tailShare, 10 * time.Millisecond}
}

// invalid returns the reasons why the result is invalid; nil if it is valid.
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
	return slices.Concat(out, j.noAccount(), j.notDone(), j.unverified(), j.undecided(), j.machine(), j.workers(),
		j.parts())
}

// missingLimit is the share of the arrivals that may be missing because workers were lost or intervals of parts are
// missing, all of them taken together. Chosen as givenUpLimit: to a result it is the same why arrivals are missing.
const missingLimit = givenUpLimit

// workers returns a reason for each worker that was lost, if more than missingLimit of the load is missing, and one for
// each kind of reason for which workers' own results are invalid: sums over all workers hide a single worker that was
// the bottleneck.
func (j *judge) workers() (out []message.Message) {
	out = lost(j.run, float64(j.all.Arrivals()))
	var kinds []string // ids of reasons, in the order of the workers that have them first
	limited := map[string][]*record.Part{}
	for i := range j.run.Parts {
		p := &j.run.Parts[i]
		if w := p.Worker; w == nil || w.LostNs > 0 || len(p.Invalid) == 0 {
			continue
		}
		id := p.Invalid[0].ID
		if id == message.Literal("").ID {
			id = p.Invalid[0].String()
		}
		if limited[id] == nil {
			kinds = append(kinds, id)
		}
		limited[id] = append(limited[id], p)
	}
	for _, id := range kinds {
		out = append(out, limitedBy(limited[id]))
	}
	return out
}

// namedWorkers is the largest number of workers that a reason names.
const namedWorkers = 8

// limitedBy returns the reason why workers, whose own reasons are of one kind, limited the result.
func limitedBy(parts []*record.Part) message.Message {
	worker, why := message.Text("worker", parts[0].Worker.Name), message.Nested("why", parts[0].Invalid[0])
	if len(parts) == 1 {
		return message.New("verdict.worker", worker, why)
	}
	var names []string
	for _, p := range parts[1:min(len(parts), namedWorkers+1)] {
		names = append(names, p.Worker.Name)
	}
	if len(parts) > namedWorkers+1 {
		names = append(names, "…")
	}
	return message.New("verdict.workers", worker, why, message.Count("others", len(parts)-1),
		message.Text("names", strings.Join(names, ", ")))
}

// LostShares reports whether workers were lost with more of the load than a result may lack.
func LostShares(run *record.Run) bool { return len(lost(run, float64(run.Total.Arrivals()))) > 0 }

// lost returns a reason for each worker that was lost with a part of the load, if more than missingLimit of it is
// missing in all, and one if all workers were lost: nobody knows then how much is missing. arrivals is the number of
// recorded arrivals.
func lost(run *record.Run, arrivals float64) (out []message.Message) {
	gone, all := 0, 0
	lacks := lacking(run)
	for i := range run.Parts {
		w := run.Parts[i].Worker
		if w == nil {
			continue
		}
		if all++; w.LostNs == 0 {
			continue
		}
		gone++
		missing, share := lacks.of(w, arrivals)
		if share > 0 && lacks.tooMuch(arrivals) {
			out = append(out, message.New("verdict.worker-lost", lostArgs(w, missing, share)...))
		}
	}
	if gone > 0 && gone == all {
		out = append(out, message.New("verdict.workers-lost", message.Count("workers", all)))
	}
	return out
}

// togetherLimit is the smallest share of the longest part's time in which all parts of a load must have run. Chosen:
// the rate was then offered in full for nine tenths of the load.
const togetherLimit = 0.9

// parts returns a reason for each part whose intervals lack some of the load, if more than missingLimit of it is
// missing in all, and one if parts without a coordinator ran at different times: the sum of their rates was then never
// offered to the server.
func (j *judge) parts() (out []message.Message) {
	arrivals := float64(j.all.Arrivals())
	var begin, end time.Time
	var longest int64
	alone := 0
	lacks := lacking(j.run)
	for i := range j.run.Parts {
		p := &j.run.Parts[i]
		if p.Missing > 0 && lacks.tooMuch(arrivals) {
			out = append(out, message.New("verdict.part-short", message.Count("part", i+1),
				message.Count("missing", p.Missing),
				message.Share("share", shareOf(p.Missing, arrivals+float64(lacks.operations)))))
		}
		if p.Worker != nil || p.DurationNs == 0 {
			continue
		}
		from := p.Ended.Add(-time.Duration(p.DurationNs))
		if alone++; alone == 1 || from.After(begin) {
			begin = from
		}
		if alone == 1 || p.Ended.Before(end) {
			end = p.Ended
		}
		longest = max(longest, p.DurationNs)
	}
	if together := max(end.Sub(begin), 0); alone > 1 && float64(together) < togetherLimit*float64(longest) {
		out = append(out, message.New("verdict.parts-apart", message.Part("share", int64(together), longest)))
	}
	return out
}

// lack is what a record lacks of its load: the shares of lost workers, and intervals of parts.
type lack struct {
	operations, iterations uint64  // missing
	iterated               float64 // iterations of a k6 script that aren't missing
}

func lacking(run *record.Run) (l lack) {
	for i := range run.Parts {
		p := &run.Parts[i]
		l.operations += p.Missing
		if w := p.Worker; w != nil && w.LostNs > 0 {
			l.operations += w.Missing
			l.iterations += w.MissingIterations
		}
	}
	if n := run.Iterations; n != nil {
		l.iterated = float64(n.Done + n.Dropped)
	} else {
		l.iterations = 0
	}
	return l
}

// tooMuch reports whether more is missing than a result may lack. arrivals is the number of recorded arrivals.
func (l *lack) tooMuch(arrivals float64) bool {
	return max(shareOf(l.operations, arrivals+float64(l.operations)),
		shareOf(l.iterations, l.iterated+float64(l.iterations))) > missingLimit
}

// of returns what the record lacks of a lost worker's share, and the share of the whole load that this is: operations
// or, if that is the larger share, iterations of a k6 script. arrivals is the number of recorded arrivals.
func (l *lack) of(w *record.Worker, arrivals float64) (missing message.Message, share float64) {
	missing, share = message.New("missing.operations", message.Count("n", w.Missing)),
		shareOf(w.Missing, arrivals+float64(l.operations))
	if l.iterations > 0 && w.MissingIterations > 0 {
		if iterations := shareOf(w.MissingIterations, l.iterated+float64(l.iterations)); iterations >= share {
			return message.New("missing.iterations", message.Count("n", w.MissingIterations)), iterations
		}
	}
	return missing, share
}

// shareOf returns part ÷ whole; 0 if whole is 0.
func shareOf(part uint64, whole float64) float64 { return float64(part) / max(whole, 1) }

// lostArgs returns the arguments of the message about a lost worker.
func lostArgs(w *record.Worker, missing message.Message, share float64) []message.Arg {
	var why message.Message // unknown in records of earlier versions
	if !w.Lost.IsZero() {
		why = message.New("lost.why", message.Nested("why", w.Lost))
	}
	return []message.Arg{
		message.Nested("why", why),
		message.Text("worker", w.Name), message.Span("at", time.Duration(w.LostNs).Round(100*time.Millisecond)),
		message.Nested("missing", missing), message.Share("share", share),
	}
}

// late returns why an open load is invalid because of the generator's own lag: it changed the reported response times,
// or the result of a threshold on them.
func (j *judge) late() []message.Message {
	if j.all.WithoutGenerator.Count() == 0 {
		return nil
	}
	median, tail := lagLimits(j.run)
	roomyMedian, roomyTail := roomyFloors(j.run)
	if j.all.Arrivals() < fewestOfMedian {
		median, roomyMedian = tail, roomyTail
	}
	for _, at := range []struct {
		name message.Message
		q    float64
		limits
		roomy time.Duration // floor that applies if the rules hold with a margin; see roomy
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

// flipped returns a reason for each threshold that fails only because the generator sent late.
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

// withoutLag evaluates a threshold on response times as if the generator had sent on time.
func (j *judge) withoutLag(r *metric.Rule) Outcome {
	return evaluate(r, j.run.OperationNames(), j.load, func(all *measure.OperationAccount) measure.Answers {
		return measure.Answers{Times: all.WithoutGenerator, NoAnswer: all.NoAnswer()}
	})
}

// overloaded returns why an open load with waiting arrivals is invalid: the generator, not the server, kept sessions
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

// slowTurn returns why a closed load is invalid: the generator took too long between an answer and the next send.
func (j *judge) slowTurn() (out []message.Message) {
	if t := j.load.Turnaround; t.Count() > 0 && j.load.LoadNs >= int64(leastLoad) && !j.spins() {
		own := t.Sum()
		// Sessions with think time are measured against the time for which they are connected.
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

// cause returns what kept the generator from its work, with figures; the zero message if that isn't known.
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

// starved returns a reason if the generator's threads waited for a core for a large share of the time and longer than
// they worked. It applies where that waiting delays the receipt of answers: to closed loads and to client libraries.
func (j *judge) starved() []message.Message {
	h := &j.load.Health
	waited := float64(h.RunQueueNs)
	if j.run.OnLoops() {
		if j.open() {
			return nil // answers are timestamped by the kernel
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

// remedy returns the advice for a generator that was too slow.
func (j *judge) remedy() message.Message {
	switch {
	case j.stoodStill():
		return message.New("remedy.stood-still")
	case j.run.Flags["engine"] != "":
		return message.New("remedy.engine", message.Text("engine", j.run.Flags["engine"]))
	case !j.run.OnLoops():
		return message.New("remedy.library")
	}
	return message.New("remedy.codec", message.Nested("loops", j.with("loops", func(flag message.Arg) message.Message {
		return message.New("add-loops", flag)
	})))
}

// machine returns the reasons that lie with the process or its machine.
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
	// A process that was stopped during a collection would have that time counted as the collection's pause.
	if p := h.GCPauseNsMax; p > int64(gcPauseLimit) && p > p99/2 && !j.stoodStill() {
		out = append(out, message.New("verdict.collection", message.Ns("pause", p), message.Ns("p99", p99)))
	}
	return out
}

// timeShare returns ns as a share of the load's length, in [0,1].
func (j *judge) timeShare(ns int64) float64 { return timeShare(ns, j.load.LoadNs) }

// stoodStill reports whether the generator stood still for so long that other causes can't be told apart.
func (j *judge) stoodStill() bool { return j.timeShare(j.load.Health.PausedNs) > pausedLimit }

// timeShare returns part/whole, limited to [0,1]; 0 if whole isn't positive. A part can exceed the whole: a control
// group's throttling is summed over several cores or threads, and a part can last beyond the end of the load.
func timeShare(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(max(float64(part)/float64(whole), 0), 1)
}

// allowedCores returns how many cores the process may use; 0 if that is unknown.
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
