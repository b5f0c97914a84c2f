package schedule

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Loss gives the arrivals of a machine that is lost to others, its heirs.
type Loss struct {
	Machine uint64   `json:"machine"` // its class: arrivals whose number has this remainder
	FromNs  int64    `json:"from_ns"` // arrivals intended before that stay the lost machine's, ns since the load's start
	Heirs   []uint64 `json:"heirs"`   // share what follows; at least one
}

// Redistribution says which arrivals of an open load belong to which of several machines, of which some are lost while
// it is being sent. It also limits until when a machine may send at all: one that nobody hears of may have been given
// up. Times are those of the schedule, which are the same on every machine, whatever its clock says. So no arrival
// belongs to two machines, as long as nobody is given up from a time on that is before its own limit.
//
// One goroutine sets it, any number of Stripes read it.
type Redistribution struct {
	state atomic.Pointer[redistributed]
}

type redistributed struct {
	untilNs int64
	losses  []Loss
}

// NewRedistribution returns one without losses, and a limit of 0: nothing may be sent yet.
func NewRedistribution() *Redistribution {
	r := &Redistribution{}
	r.state.Store(&redistributed{})
	return r
}

// Set raises the limit, ns since the load's start, and adds the losses that are new. Losses are all those so far, in
// the order in which they were decided.
func (r *Redistribution) Set(untilNs int64, losses []Loss) {
	old := r.state.Load()
	untilNs = max(untilNs, old.untilNs)
	if len(losses) > len(old.losses) {
		r.state.Store(&redistributed{untilNs, slices.Clone(losses)})
	} else if untilNs > old.untilNs {
		r.state.Store(&redistributed{untilNs, old.losses})
	}
}

// view is what the two Stripes of one worker go by. A loss that becomes known after one of them has passed its time
// takes effect behind that, so that both have the same arrivals.
type view struct {
	mu      sync.Mutex
	of      *Redistribution
	losses  []Loss // with the times at which they take effect here
	drawnNs int64  // the latest arrival that a Stripe has decided
}

// owner is the machine, of so many, that an arrival belongs to; its number among those that this machine gets from the
// same losses, by which a machine's workers share; and whether this machine's limit forbids to decide.
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

// drawShared is draw for parts that are redistributed. An arrival of this machine that is beyond its limit isn't known
// yet: it may be another's.
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
