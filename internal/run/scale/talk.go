package scale

import (
	"encoding/json"
	"sync"
	"time"

	"brunt/internal/record"
)

// talk is what a worker says in its next report, and what the coordinator has answered to the last one.
type talk struct {
	mu     sync.Mutex // guards what follows
	state  State
	rules  []record.AbortRule // see Report
	rows   uint64
	filled json.RawMessage
	asked  int // how many times Next was called

	answer    Answer
	heard     time.Time     // when the coordinator last answered
	changed   chan struct{} // closed and replaced when answer has changed
	refused   *Error        // the coordinator has refused a report
	decisions []Decision    // of the coordinator
	phasesOf  int           // the call of Next that answer.Phases belongs to; 0: none
}

// enter sets the worker's state.
func (t *talk) enter(state State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = state
}

// fill sets the number of rows that the worker has filled.
func (t *talk) fill(rows uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = rows
}

// judge sets the worker's values of the thresholds that may end the load.
func (t *talk) judge(rules []record.AbortRule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = rules
}

// end sets the state after a worker has filled tables, and returns when the coordinator last answered.
func (t *talk) end(filled json.RawMessage) (heard time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.filled = Ended, filled
	return t.heard
}

// ask asks for the next phases, and returns the number of the request.
func (t *talk) ask() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	return t.asked
}

// waits reports whether the worker waits for an answer that the others must have too.
func (t *talk) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state == Ready || t.state == Sent || t.asked > t.phasesOf
}

// report completes a report.
func (t *talk) report(said *Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	said.State, said.From, said.Decisions, said.Asked = t.state, t.answer.Have, len(t.decisions), t.asked
	said.Rows, said.Filled, said.Rules = t.rows, t.filled, t.rules
}

// last returns the last answer, a channel that is closed when there is another one, and when the coordinator answered.
func (t *talk) last() (answer Answer, changed <-chan struct{}, heard time.Time, refused *Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answer, t.changed, t.heard, t.refused
}

// decided returns the decisions after the first n, as last does the answer.
func (t *talk) decided(n int) (news []Decision, changed <-chan struct{}, heard time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decisions[n:], t.changed, t.heard
}

// phases returns the answer to request number n for phases. ok is false while there is none.
func (t *talk) phases(n int) (phases json.RawMessage, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phasesOf != n {
		return nil, false
	}
	return t.answer.Phases, true
}

// refuse keeps why the coordinator has refused a report.
func (t *talk) refuse(why *Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = why
}

// hear takes the answer to a report, and returns the one before.
func (t *talk) hear(answer *Answer, said *Report) (before Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = time.Now()
	before = t.answer
	answer.Stop, answer.Hard = answer.Stop || before.Stop, answer.Hard || before.Hard // a stopped load doesn't begin again
	t.answer = *answer
	if said.Decisions == len(t.decisions) {
		t.decisions = append(t.decisions, answer.Decisions...)
	}
	if t.phasesOf = 0; answer.Phases != nil {
		t.phasesOf = said.Asked
	}
	return before
}

// tell wakes those who wait for another answer.
func (t *talk) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}
