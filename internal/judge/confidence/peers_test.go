package confidence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// peersRun returns the warnings for a run of 100 intervals with several addresses. Each address has a mean service time
// that varies slowly around a millisecond (an autoregressive process with a half-life of 7 intervals), multiplied by
// its factor.
func peersRun(seed uint64, factors ...float64) (warnings []string) {
	r := rand.New(rand.NewPCG(seed, 1))
	taker := NewTaker()
	taker.Peers = true
	level := make([]float64, len(factors))
	for k := range 100 {
		iv := &measure.Interval{Phase: "load"}
		iv.StartNs, iv.EndNs = int64(k)*1e9, int64(k+1)*1e9
		iv.Intervals, iv.LengthNs, iv.LoadNs = 1, 1e9, 1e9
		iv.Operations = make([]measure.OperationAccount, 1)
		iv.Addresses = make([]measure.AddressAccount, len(factors))
		for i, f := range factors {
			level[i] = 0.9*level[i] + 0.05*r.NormFloat64()
			h := measure.NewHistogram()
			for range 40 {
				h.Record(int64(1e6 * f * math.Exp(level[i]) * r.ExpFloat64()))
			}
			iv.Addresses[i].Service, iv.Addresses[i].Done = h, 40
		}
		_ = taker.Interval(iv)
	}
	run := &record.Run{}
	for i := range factors {
		run.Targets = append(run.Targets, record.Target{Address: fmt.Sprintf("node%d", i)})
	}
	taker.Fill(run)
	for _, w := range run.Warnings {
		if w.ID == "slow-node" {
			warnings = append(warnings, w.Text.String())
		}
	}
	return warnings
}

// If all nodes are equal, none is named in any of 400 runs.
func TestNodesThatAreAlikeAreNotNamed(t *testing.T) {
	for seed := range uint64(400) {
		if w := peersRun(seed, 1, 1, 1); len(w) > 0 {
			t.Errorf("run %d: %s", seed, w)
		}
	}
}

// A node that takes 50 % longer is named, and no other.
func TestASlowNodeIsNamed(t *testing.T) {
	const runs = 100
	found := 0
	for seed := range uint64(runs) {
		w := peersRun(seed, 1, 1.5, 1)
		if len(w) > 1 || len(w) == 1 && !strings.Contains(w[0], "node1") {
			t.Errorf("run %d: %s", seed, w)
		}
		found += len(w)
	}
	if found < 90 {
		t.Errorf("the slow node was named in %d of %d runs", found, runs)
	}
}

// The result agrees with a test with other assumptions: Fisher's permutation test on the logarithms, over the 1024 ways
// to exchange a node and its peers in parts.
func TestSlowNodesAgreeWithPermutations(t *testing.T) {
	for _, factor := range []float64{1, 1.05, 1.5, 2} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, uint64(factor*100)))
			a, b := &sections{}, &sections{}
			var differences []float64
			for part := range parts {
				a.counts[part], b.counts[part] = 100, 100
				a.answers[part][0] = 1e6 * factor * math.Exp(0.05*r.NormFloat64())
				b.answers[part][0] = 1e6 * math.Exp(0.05*r.NormFloat64())
				differences = append(differences, math.Log(a.answers[part][0]/b.answers[part][0]/(1+peersMargin)))
			}
			run := &record.Run{Targets: []record.Target{{Address: "a"}, {Address: "b"}}}
			named := len(slowNodes(run, []*sections{a, b})) > 0
			if p := permuted(differences); named && p > 0.005 || !named && factor >= 1.5 && p <= 0.001 {
				t.Errorf("factor %g, run %d: named %v, and the permutations say p = %.4f", factor, seed, named, p)
			}
		}
	}
}

// permuted returns the fraction of sign patterns whose sum is at least that of the differences.
func permuted(differences []float64) float64 {
	sum := 0.0
	for _, d := range differences {
		sum += d
	}
	as := 0
	for pattern := range 1 << len(differences) {
		other := 0.0
		for i, d := range differences {
			if pattern>>i&1 == 1 {
				d = -d
			}
			other += d
		}
		if other >= sum-1e-12 {
			as++
		}
	}
	return float64(as) / float64(int(1)<<len(differences))
}
