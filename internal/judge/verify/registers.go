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
	Value    int64 // value written or read; None if a read found nothing
	CallNs   int64
	ReturnNs int64 // Pending if a write had no answer
}

const (
	// None is the value of a register that was never written.
	None = math.MinInt64
	// Pending is the return time of a write whose outcome isn't known: it can take effect at any time.
	Pending = math.MaxInt64
)

// Linearity is the result of checking whether operations that take effect one at a time can explain a history.
type Linearity uint8

// The results of a check.
const (
	Linearizable Linearity = iota
	Violated               // no order explains it
	Undecided              // the time limit was reached first
)

// model returns the model of a register: a read returns the value of the write before it.
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

// Linear checks the history of one register. It uses package porcupine, which implements the algorithm of Lowe, Testing
// for linearizability (2017). The problem is NP-complete: Linear returns Undecided after limit.
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

// Counterexample returns a minimal part of a history that isn't linearizable, in the order in which the operations
// began. It stops after about limit; the part may then not be minimal.
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
