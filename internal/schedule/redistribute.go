package schedule

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Loss passes the arrivals of a lost machine on to other machines, its heirs.
type Loss struct {
	Machine uint64   `json:"machine"` // the lost machine: arrivals whose number has this remainder
	FromNs  int64    `json:"from_ns"` // arrivals due earlier remain the lost machine's; ns since the load's start
	Heirs   []uint64 `json:"heirs"`   // machines that share the later arrivals; at least one
}

// Redistribution assigns the arrivals of an open load to machines, some of which may be lost during the load. It also
// limits until when a machine may send at all, because a machine that can't be reached may have been declared lost.
// Times are those of the schedule, which are the same on every machine, regardless of clocks. So no arrival belongs to
// two machines, as long as no machine is declared lost from a time on that is before its own limit.
//
// The operations of closed stages are given to machines in blocks instead; see Numbers. A lost machine's sessions are
// divided among its heirs.
//
// One goroutine sets it, any number of Stripes and stages read it.
type Redistribution struct {
	state atomic.Pointer[redistributed]

	mu      sync.Mutex
	numbers []*Numbers // of the closed stages that have begun
	tell    func()     // there is a Wish
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

// OnWish sets what is called when there is a Wish that should be passed on soon. It must not block. OnWish must be
// called before the load.
func (r *Redistribution) OnWish(tell func()) { r.tell = tell }

// Begin begins a closed stage whose first operation has a number, counted from the load's first, and which has limit
// operations on all machines, 0 for no limit. The machine begins at most so many operations at a time.
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

// perSession is how many operations a session gets at first.
const perSession = 64

// latest returns the closed stage that began last; nil if none has begun.
func (r *Redistribution) latest() *Numbers {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.numbers) == 0 {
		return nil
	}
	return r.numbers[len(r.numbers)-1]
}

// Wish returns what the machine asks its coordinator for, which Grant answers; nil if it asks for nothing.
func (r *Redistribution) Wish() *Wish {
	if n := r.latest(); n != nil {
		return n.wish()
	}
	return nil
}

// Grant takes the coordinator's answer to a Wish.
func (r *Redistribution) Grant(g *Grant) {
	if n := r.latest(); n != nil && n.stage == g.Stage {
		n.grant(g)
	}
}

// Has reports whether operation number of the load, counted from its first, is sent by the machine of a part, or may
// still become so. In open stages it disregards losses.
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

// Losses returns how many machines have been lost so far.
func (r *Redistribution) Losses() int { return len(r.state.Load().losses) }

// Sessions is how many of all sessions of the load a machine of so many has now: its share, and what it has inherited.
func (r *Redistribution) Sessions(machine, machines uint64, all int) int {
	counts := make([]int, machines)
	for k := range counts {
		counts[k] = shareOf(all, k, len(counts))
	}
	for _, l := range r.state.Load().losses {
		of := counts[l.Machine]
		counts[l.Machine] = 0
		for i, heir := range l.Heirs {
			counts[heir] += shareOf(of, i, len(l.Heirs))
		}
	}
	return counts[machine]
}

// shareOf is share k of n of a number of things.
func shareOf(things, k, n int) int { return things/n + min(max(things%n-k, 0), 1) }

// view is the state that the two Stripes of one worker share. A loss that becomes known after one of them has passed
// its time takes effect later, so that both have the same arrivals.
type view struct {
	mu      sync.Mutex
	of      *Redistribution
	losses  []Loss // with the times at which they take effect for this worker
	drawnNs int64  // time of the latest arrival that a Stripe has assigned
}

// owner returns the machine that an arrival belongs to, the arrival's number among those that this machine gets by the
// same losses (by which a machine's workers divide them), and whether the machine's limit forbids deciding yet.
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
			n := uint64(len(l.Heirs))
			machine, turn = l.Heirs[turn%n], turn/n
		}
	}
	if machine == me && atNs >= state.untilNs {
		return machine, turn, true
	}
	v.drawnNs = max(v.drawnNs, atNs)
	return machine, turn, false
}

// drawShared is draw for a part with a Redistribution. An arrival of this machine beyond its limit isn't known yet: it
// may be another machine's.
func (t *Stripe) drawShared() {
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
		me := t.part.Takes[0]
		machine, turn, beyond := t.view.owner(t.Drawn, t.offsetNs+t.heldNs, t.part.Of, me)
		mine := machine == me && turn%t.n == t.i
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
