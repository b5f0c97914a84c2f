package verify_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"brunt/internal/judge/verify"
)

func write(session int, value, call, end int64) verify.RegisterOp {
	return verify.RegisterOp{Session: session, Write: true, Value: value, CallNs: call, ReturnNs: end}
}

func read(session int, value, call, end int64) verify.RegisterOp {
	return verify.RegisterOp{Session: session, Value: value, CallNs: call, ReturnNs: end}
}

func TestLinear(t *testing.T) {
	type history = []verify.RegisterOp
	for name, row := range map[string]struct {
		ops  history
		want verify.Linearity
	}{
		"nothing":               {nil, verify.Linearizable},
		"read what was written": {history{write(0, 1, 0, 10), read(1, 1, 20, 30)}, verify.Linearizable},
		"read before any write": {history{read(1, verify.None, 0, 5), write(0, 1, 10, 20)}, verify.Linearizable},
		"nothing after a write": {history{write(0, 1, 0, 10), read(1, verify.None, 20, 30)}, verify.Violated},
		"a stale value":         {history{write(0, 1, 0, 10), write(0, 2, 20, 30), read(1, 1, 40, 50)}, verify.Violated},
		"either at one time":    {history{write(0, 1, 0, 10), write(0, 2, 20, 40), read(1, 1, 25, 35)}, verify.Linearizable},
		"new and then old": {history{write(0, 1, 0, 10), write(0, 2, 20, 90), read(1, 2, 30, 40), read(2, 1, 50, 60)},
			verify.Violated},
		"a write without answer": {history{write(0, 1, 0, 10), write(0, 2, 20, verify.Pending), read(1, 1, 30, 40),
			read(1, 2, 50, 60)}, verify.Linearizable},
		"a value from nowhere": {history{write(0, 1, 0, 10), read(1, 9, 20, 30)}, verify.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verify.Linear(row.ops, 10*time.Second); got != row.want {
				t.Errorf("it is %d, want %d", got, row.want)
			}
		})
	}
}

// The history of a correct register is linearizable. If one read is moved back in time, it isn't. The counterexample is
// then small, and is no counterexample if anything is removed from it.
func TestCounterexamplesAreSmall(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		var ops []verify.RegisterOp
		value := int64(verify.None)
		for i := range int64(120) {
			at := i*10 + 5
			call, end := at-r.Int64N(30), at+r.Int64N(30)
			if r.IntN(2) == 0 || i == 0 {
				value = i
				ops = append(ops, write(int(i%8), value, call, end))
			} else {
				ops = append(ops, read(int(i%8), value, call, end))
			}
		}
		if got := verify.Linear(ops, 10*time.Second); got != verify.Linearizable {
			t.Fatalf("seed %d: a register that works is %d", seed, got)
		}
		ops = append(ops, read(8, 0, 5000, 5010))
		small := verify.Counterexample(ops, 10*time.Second)
		if len(small) > 4 || verify.Linear(small, time.Second) != verify.Violated {
			t.Errorf("seed %d: the counterexample is %+v", seed, small)
		}
	}
}
