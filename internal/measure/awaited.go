package measure

import "slices"

// answerTimes describes how fast the successes of one operation came. Times are from the send to the answer, ns.
type answerTimes struct {
	newest int64 // when the success was sent that was sent last
	now    pace  // in the current interval
	before pace  // in the last interval with successes before it
}

// pace is how fast successes came. Both times are never if there were none.
type pace struct {
	least int64
	usual int64 // at most a tenth of them took less
}

func noPace() pace { return pace{never, never} }

func (p *pace) add(o pace) { p.least, p.usual = min(p.least, o.least), min(p.usual, o.usual) }

// interval notes the service times of the successes of an interval.
func (a *answerTimes) interval(service *Histogram) {
	if a.now.least != never {
		a.before = a.now
	}
	a.now = noPace()
	if service.Count() > 0 {
		a.now = pace{service.Min(), service.Quantile(0.1)}
	}
}

// awaited is a standstill that has ended, but of which it isn't known yet when it began. In a load that has just
// begun, or goes on after a pause, nothing is answered for as long as an answer usually takes, and that time isn't
// lost. So the standstill begins when the first request should have been answered, by a server that is as fast as it
// is then found to be. Answers to requests that were sent before the standstill's end say little about that, because
// the standstill made them slow. So the collector waits for an interval after the one in which a later request was
// answered. It waits until the load ends, or for two intervals and twice as long as the standstill lasted.
type awaited struct {
	from, to   int64
	operations []awaitedOperation // those that had requests outstanding
	intervals  int                // how many have ended since to
}

type awaitedOperation struct {
	operation int
	sent      int64 // when the first request was sent
	before    pace  // before the standstill's end
	since     pace  // in the interval in which the standstill ended, and after
	later     bool  // a request that was sent after the standstill has been answered
	enough    bool  // that was in an interval before this one
}

// interval notes the successes of an interval after to.
func (o *awaitedOperation) interval(a *answerTimes, to int64) {
	o.since.add(a.now)
	o.enough = o.later
	o.later = o.later || a.newest >= to
}

// answerNs returns when the first request should have been answered.
func (o *awaitedOperation) answerNs() int64 {
	usual := o.since.usual
	switch {
	case o.enough:
	case o.later: // most answers may be those that the standstill has made slow
		usual = o.since.least
	default: // what came before the load was as it is now, and answers that the standstill has made slow
		usual = min(o.since.least, o.before.usual)
	}
	if usual == never {
		usual = 0
	}
	return o.sent + usual
}

// await adds a standstill that began at from at the earliest, when the operations that were outstanding had been sent
// as pending says.
func (st *standstills) await(from, to int64, pending sends, answers []answerTimes) {
	first := int64(never)
	a := awaited{from: from, to: to}
	for _, s := range pending {
		first = min(first, s.ns)
		o := awaitedOperation{operation: s.operation, sent: s.ns, before: answers[s.operation].before, since: noPace()}
		a.operations = append(a.operations, o)
	}
	if to-max(from, first) >= StandstillNs && len(st.awaited) < mostGaps {
		st.awaited = append(st.awaited, a)
	}
}

// settle appends to out, in order, the standstills of which it is known when they began.
func (st *standstills) settle(answers []answerTimes, endNs int64, idle bool, out []Standstill) []Standstill {
	known := 0
	for i := range st.awaited {
		a := &st.awaited[i]
		ready := true
		begin := int64(never)
		for k := range a.operations {
			o := &a.operations[k]
			o.interval(&answers[o.operation], a.to)
			ready = ready && o.enough
			begin = min(begin, o.answerNs())
		}
		a.intervals++
		waits := a.intervals < 3 || endNs-a.to < 2*(a.to-a.from)
		if known < i || !ready && !idle && waits {
			continue
		}
		known++
		if s, ok := st.awake(Standstill{max(a.from, begin), a.to}); ok {
			out = append(out, s)
		}
	}
	st.awaited = slices.Delete(st.awaited, 0, known)
	return out
}
