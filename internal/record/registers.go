package record

import "brunt/internal/render/message"

// Registers describes the check of keys that a few sessions wrote and read concurrently during the load: whether their
// histories are linearizable.
type Registers struct {
	// Reason says why there is no history; zero if there is one.
	Reason       message.Message `json:"reason,omitzero" merge:"first"`
	Registers    uint64          `json:"registers" merge:"sum"`
	Operations   uint64          `json:"operations" merge:"sum"`   // successful ones, and writes without an answer
	Pending      uint64          `json:"pending" merge:"sum"`      // writes without an answer
	Linearizable uint64          `json:"linearizable" merge:"sum"` // registers with a linearizable history
	Violated     uint64          `json:"violated" merge:"sum"`     // registers that no order of operations explains
	Undecided    uint64          `json:"undecided" merge:"sum"`    // registers whose check took too long
	// Counterexample is a minimal part of the first history that is not linearizable.
	Counterexample []RegisterOp `json:"counterexample,omitempty" merge:"first"`
	Failure        string       `json:"failure,omitempty" merge:"first"` // the last failure
}

// RegisterOp is a write or a read of a register. Times are on the run's clock.
type RegisterOp struct {
	Session  int    `json:"session"`
	Address  string `json:"address"`
	Register int64  `json:"register"`
	Write    bool   `json:"write,omitempty"`
	Value    *int64 `json:"value"` // null: no value
	CallNs   int64  `json:"call_ns"`
	ReturnNs *int64 `json:"return_ns"` // null: no answer
}
