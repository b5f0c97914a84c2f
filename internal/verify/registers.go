package verify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// RegisterOp is a write or a read of a register. Times are on the run's clock.
type RegisterOp struct {
	Session  int
	Register int64
	Write    bool
	Value    int64 // written, or read; None if nothing was there
	CallNs   int64
	ReturnNs int64 // Pending if a write had no answer
}

const (
	// None is the value of a register that was never written.
	None = math.MinInt64
	// Pending is the end of a write whose outcome isn't known: it may take effect at any time.
	Pending = math.MaxInt64
)

// Linearity is whether a history can be explained by operations that take effect one at a time.
type Linearity uint8

// What can be said of a history.
const (
	Linearizable Linearity = iota
	Violated               // no order explains it
	Undecided              // the time was over before that could be told
)

// model is a register: a read returns what the write before it wrote.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(None) },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(RegisterOp)
			if op.Write {
				return true, op.Value
			}
			return op.Value == state.(int64), state
		},
	}
}

// Linear checks the history of one register, by the algorithm of Lowe, Testing for linearizability (2017), as package
// porcupine has it. The check is NP-complete: it gives up after limit.
func Linear(history []RegisterOp, limit time.Duration) Linearity {
	ops := make([]porcupine.Operation, len(history))
	for i, op := range history {
		ops[i] = porcupine.Operation{ClientId: op.Session, Input: op, Call: op.CallNs, Return: op.ReturnNs}
	}
	switch porcupine.CheckOperationsTimeout(model(), ops, limit) {
	case porcupine.Ok:
		return Linearizable
	case porcupine.Illegal:
		return Violated
	}
	return Undecided
}

// Counterexample is a part of a history that isn't linearizable, from which nothing can be taken away: operations in
// the order in which they began. limit is the time for all of it; with less there may be more operations.
func Counterexample(history []RegisterOp, limit time.Duration) []RegisterOp {
	until := time.Now().Add(limit)
	left := slices.Clone(history)
	slices.SortFunc(left, func(a, b RegisterOp) int { return cmp.Compare(a.CallNs, b.CallNs) })
	for _, writes := range []bool{false, true} {
		for i := len(left) - 1; i >= 0 && time.Now().Before(until); i-- {
			op := left[i]
			if op.Write != writes || writes && isRead(left, op.Value) {
				continue
			}
			if less := slices.Delete(slices.Clone(left), i, i+1); Linear(less, time.Second) == Violated {
				left = less
			}
		}
	}
	return left
}

// isRead reports whether a read returned a value. A history without a write that nobody read is linearizable if the
// history with it is, so that such a write can be left out of a counterexample.
func isRead(history []RegisterOp, value int64) bool {
	return slices.ContainsFunc(history, func(op RegisterOp) bool { return !op.Write && op.Value == value })
}
