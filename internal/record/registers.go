package record

import "brunt/internal/message"

// Registers are keys that a few sessions wrote and read all at the same time during the load, and what can be said of
// their histories.
type Registers struct {
	// Reason says why there is no history; zero if there is one.
	Reason       message.Message `json:"reason,omitzero" merge:"first"`
	Registers    uint64          `json:"registers" merge:"sum"`
	Operations   uint64          `json:"operations" merge:"sum"`   // successful ones, and writes without an answer
	Pending      uint64          `json:"pending" merge:"sum"`      // writes without an answer
	Linearizable uint64          `json:"linearizable" merge:"sum"` // registers
	Violated     uint64          `json:"violated" merge:"sum"`     // registers that no order of operations explains
	Undecided    uint64          `json:"undecided" merge:"sum"`    // registers whose check took too long
	// Counterexample is a part of the first history that is violated, from which nothing can be taken away.
	Counterexample []RegisterOp `json:"counterexample,omitempty" merge:"first"`
	Failure        string       `json:"failure,omitempty" merge:"first"` // the last failure
}

// RegisterOp is a write or a read of a register. Times are on the run's clock.
type RegisterOp struct {
	Session  int    `json:"session"`
	Address  string `json:"address"`
	Register int64  `json:"register"`
	Write    bool   `json:"write,omitempty"`
	Value    *int64 `json:"value"` // null: nothing was there
	CallNs   int64  `json:"call_ns"`
	ReturnNs *int64 `json:"return_ns"` // null: there was no answer
}
