package scale

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// Decision is a piece of the schedule of an adaptive phase: the rate from the end of the previous piece until UntilNs.
// All workers append the same pieces.
type Decision struct {
	Phase   string          `json:"phase"`
	UntilNs int64           `json:"until_ns"` // after the phase's beginning
	Control measure.Control `json:"control"`
}

// course is what the coordinator has decided during the load, of which each report of a worker fetches what the worker
// doesn't know yet.
type course struct {
	mu        sync.Mutex
	states    map[string]json.RawMessage // state of each phase's controller after its last decision
	decisions []Decision
	phases    []json.RawMessage // one element for each time that the workers asked
	faults    []record.Fault    // faults that the journal contains
	allSent   bool
}

// decide adds a decision, and the state of the phase's controller after it.
func (k *course) decide(d Decision, state json.RawMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.decisions = append(k.decisions, d)
	if k.states == nil {
		k.states = map[string]json.RawMessage{}
	}
	k.states[d.Phase] = state
}

// events returns the decisions as lines of a journal.
func (k *course) events() (all []event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.decisions {
		d := &k.decisions[i]
		all = append(all, event{Decision: d, State: k.states[d.Phase]})
	}
	return all
}

// instruct adds to an answer what the worker doesn't know yet, according to its report.
func (k *course) instruct(a *Answer, said *Report) *Answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	a.AllSent = k.allSent
	if n := said.Decisions; n >= 0 && n < len(k.decisions) {
		a.Decisions = k.decisions[n:]
	}
	if n := said.Asked; n > 0 && n <= len(k.phases) {
		a.Phases = k.phases[n-1]
	}
	return a
}

// end tells the workers that the load is over on all of them.
func (k *course) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.allSent = true
}

// given returns how many times phases have been given to the workers.
func (k *course) given() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.phases)
}

// give gives the workers the phases for which all of them have asked.
func (k *course) give(phases json.RawMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.phases = append(k.phases, phases)
}

// remember applies a journal line about a fault or a decision.
func (k *course) remember(e *event) {
	if e.Decision != nil {
		k.decide(*e.Decision, e.State)
	}
	if f := e.Fault; f != nil {
		at := slices.IndexFunc(k.faults, func(have record.Fault) bool {
			return have.Name == f.Name && have.Number == f.Number
		})
		if at < 0 {
			at, k.faults = len(k.faults), append(k.faults, record.Fault{})
		}
		k.faults[at] = *f
	}
}

// Decide sends a decision to all workers. Before that it writes the decision to the journal, with the state of the
// phase's controller after it, from which a resumed coordinator goes on. state is nil if the controller has none.
func (c *Coordinator) Decide(d Decision, state json.RawMessage) {
	c.mu.Lock() // excludes Start, which writes the decisions before it to the journal
	defer c.mu.Unlock()
	c.journal.note(&event{Decision: &d, State: state})
	c.course.decide(d, state)
	c.cond.Broadcast()
}

// AllSent tells the workers that the load is over on all of them.
func (c *Coordinator) AllSent() {
	c.course.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cond.Broadcast()
}

// NoteFault appends the state of a fault to the journal. It is safe for concurrent use.
func (c *Coordinator) NoteFault(f *record.Fault) { c.journal.note(&event{Fault: f}) }

// Faults returns the faults that the journal of a resumed coordinator contains, each in its last state.
func (c *Coordinator) Faults() []record.Fault { return c.course.faults }

// Decided returns the decisions that the journal of a resumed coordinator contains, and for each phase the state of its
// controller after the last of them.
func (c *Coordinator) Decided() ([]Decision, map[string]json.RawMessage) {
	c.course.mu.Lock()
	defer c.course.mu.Unlock()
	return slices.Clone(c.course.decisions), maps.Clone(c.course.states)
}
