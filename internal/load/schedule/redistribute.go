package schedule

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Loss assigns the arrivals of a lost machine to other machines, its receivers.
type Loss struct {
	Machine   uint64   `json:"machine"` // the lost machine: arrivals whose number has this remainder
	FromNs    int64    `json:"from_ns"` // earlier arrivals still belong to the lost machine; ns since the load's start
	Receivers []uint64 `json:"heirs"`   // machines among which the later arrivals are divided; at least one
}

// Redistribution assigns the arrivals of an open load to machines, some of which may be lost during the load. It also
// limits until when a machine may send, because a machine that can't be reached may have been declared lost. Times are
// those of the schedule, which are the same on every machine and don't depend on clocks. So no arrival belongs to two
// machines, as long as Loss.FromNs is never before the lost machine's own limit.
//
// The operations of closed stages are given to machines in blocks instead; see Numbers. A lost machine's sessions are
// divided among its receivers.
//
// One goroutine calls Set. Any number of PartArrivals and stages may read it concurrently.
type Redistribution struct {
	state atomic.Pointer[redistributed]

	mu      sync.Mutex
	numbers []*Numbers // for the closed stages that have begun
	tell    func()     // called when there is a Request
}

type redistributed struct {
	untilNs int64
	losses  []Loss
}

// NewRedistribution returns a Redistribution without losses and with the limit 0: nothing may be sent yet.
func NewRedistribution() *Redistribution {
	r := &Redistribution{tell: func() {}}
	r.state.Store(&redistributed{})
	return r
}

// Set raises the limit, in ns since the load's start, and adds new losses. losses must be all losses so far, in the
// order in which they were decided.
func (r *Redistribution) Set(untilNs int64, losses []Loss) {
	old := r.state.Load()
	untilNs = max(untilNs, old.untilNs)
	if len(losses) > len(old.losses) {
		r.state.Store(&redistributed{untilNs, slices.Clone(losses)})
	} else if untilNs > old.untilNs {
		r.state.Store(&redistributed{untilNs, old.losses})
	}
}

// OnRequest sets the function to call when there is a Request that should be sent soon. tell must not block. OnRequest
// must be called before the load begins.
func (r *Redistribution) OnRequest(tell func()) { r.tell = tell }

// Begin begins a closed stage. first is the number of its first operation, counted from the load's first. limit is its
// number of operations on all machines; 0 means no limit. The machine begins at most atATime operations at a time.
func (r *Redistribution) Begin(stage int, first, limit uint64, atATime int) *Numbers {
	least := uint64(max(atATime, 1))
	n := &Numbers{stage: stage, first: first, limit: limit, least: least, batch: least * perSession, tell: r.tell,
		changed: make(chan struct{})}
	r.mu.Lock()
	r.numbers = append(r.numbers, n)
	r.mu.Unlock()
	r.tell()
	return n
}

// perSession is the size of the first request for operations, for each operation that is begun at a time.
const perSession = 64

// latest returns the Numbers of the closed stage that began last; nil if none has begun.
func (r *Redistribution) latest() *Numbers {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.numbers) == 0 {
		return nil
	}
	return r.numbers[len(r.numbers)-1]
}

// Request returns the machine's request to its coordinator; nil if there is none. Grant takes the answer.
func (r *Redistribution) Request() *Request {
	if n := r.latest(); n != nil {
		return n.request()
	}
	return nil
}

// Grant takes the coordinator's answer to a Request.
func (r *Redistribution) Grant(g *Grant) {
	if n := r.latest(); n != nil && n.stage == g.Stage {
		n.grant(g)
	}
}

// Has reports whether the machine of part p sends an operation, or may still be assigned it. number is counted from the
// load's first operation. For open stages, Has ignores losses.
func (r *Redistribution) Has(p Part, number uint64) bool {
	r.mu.Lock()
	var in *Numbers
	for _, n := range r.numbers {
		if n.spans(number) {
			in = n
		}
	}
	r.mu.Unlock()
	if in == nil {
		return p.hasTurn(number)
	}
	return in.has(number - in.first)
}

// Losses returns the number of losses so far.
func (r *Redistribution) Losses() int { return len(r.state.Load().losses) }

// Sessions returns how many of the load's sessions, all in number, a machine has now: its own share and its shares of
// lost machines' sessions. machine is counted from 0.
func (r *Redistribution) Sessions(machine, machines uint64, all int) int {
	counts := make([]int, machines)
	for k := range counts {
		counts[k] = shareOf(all, k, len(counts))
	}
	for _, l := range r.state.Load().losses {
		of := counts[l.Machine]
		counts[l.Machine] = 0
		for i, receiver := range l.Receivers {
			counts[receiver] += shareOf(of, i, len(l.Receivers))
		}
	}
	return counts[machine]
}

// shareOf returns the size of share k, from 0, if things are divided into n shares whose sizes differ by at most 1.
func shareOf(things, k, n int) int { return things/n + min(max(things%n-k, 0), 1) }

// view is the state that the two PartArrivals of one worker share. If a loss becomes known after one of them has passed
// Loss.FromNs, it takes effect later, so that both have the same arrivals.
type view struct {
	mu      sync.Mutex
	of      *Redistribution
	losses  []Loss // with the times at which they take effect for this worker
	drawnNs int64  // time of the latest arrival that was assigned
}

// owner returns the machine that an arrival belongs to, and the arrival's turn: its number among the arrivals that this
// machine gets through the same losses, by which the machine's workers divide them. beyond reports that the arrival is
// at or after the limit of machine me, so that its owner can't be decided yet.
func (v *view) owner(number uint64, atNs int64, machines, me uint64) (machine, turn uint64, beyond bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	state := v.of.state.Load()
	for _, l := range state.losses[len(v.losses):] {
		l.FromNs = max(l.FromNs, v.drawnNs+1)
		v.losses = append(v.losses, l)
	}
	machine, turn = number%machines, number/machines
	for i := range v.losses {
		if l := &v.losses[i]; l.Machine == machine && atNs >= l.FromNs {
			n := uint64(len(l.Receivers))
			machine, turn = l.Receivers[turn%n], turn/n
		}
	}
	if machine == me && atNs >= state.untilNs {
		return machine, turn, true
	}
	v.drawnNs = max(v.drawnNs, atNs)
	return machine, turn, false
}

// drawShared is draw for a part with a Redistribution. If the next arrival of this machine is beyond the machine's
// limit, drawShared sets Waits, because the arrival may still be assigned to another machine.
func (t *PartArrivals) drawShared() {
	t.Waits = false
	for {
		if !t.holds {
			at, ok := t.arrivals.Next()
			if t.Waits = !ok && t.arrivals.waits; t.Waits {
				t.IntendedNs = t.startNs + at
				return
			}
			if !ok || t.Drawn >= t.end {
				t.Over = true
				return
			}
			t.heldNs, t.holds = at, true
		}
		machine, turn, beyond := t.view.owner(t.Drawn, t.offsetNs+t.heldNs, t.part.machines, t.part.machine())
		mine := t.part.owns(machine, turn)
		if mine && beyond {
			t.Waits, t.IntendedNs = true, t.startNs+t.heldNs
			return
		}
		t.holds = false
		if t.Drawn++; mine {
			t.Number, t.IntendedNs = t.Drawn-1, t.startNs+t.heldNs
			return
		}
	}
}
