package advise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/result"
)

// shop is a database whose response times depend on its indexes.
type shop struct {
	indexes []string
	done    []string
	broken  string // fails to execute what begins so
	nsOf    func(indexes []string) float64
	runs    int
}

func (s *shop) Propose(context.Context, []record.Inspection) (list []inspect.Proposal, err error) {
	for _, name := range []string{"a", "b"} {
		list = append(list, inspect.Proposal{Name: name, DDL: "create " + name, Drop: "drop " + name})
	}
	return list, nil
}

func (s *shop) Exec(_ context.Context, script string) error {
	s.done = append(s.done, script)
	if s.broken != "" && strings.HasPrefix(script, s.broken) {
		return errors.New("no room")
	}
	if name, ok := strings.CutPrefix(script, "create "); ok {
		s.indexes = append(s.indexes, name)
	}
	if name, ok := strings.CutPrefix(script, "drop "); ok {
		s.indexes = slices.DeleteFunc(s.indexes, func(i string) bool { return i == name })
	}
	return nil
}

func (s *shop) Close() error { return nil }

func (s *shop) measure(context.Context, string) (*Runs, error) {
	out := &Runs{}
	for k := range 5 {
		s.runs++
		r := &result.Result{Program: "brunt", ID: fmt.Sprint(s.runs), Name: "x", LoadModel: "open", Verdict: "pass"}
		ns := s.nsOf(s.indexes) * (1 + 0.004*float64(k))
		for _, name := range []string{"response.avg", "response.p(50)", "response.p(95)", "response.p(99)"} {
			r.Add(name, "", ns)
		}
		r.Add("rate", "", 100)
		out.Results = append(out.Results, r)
	}
	return out, nil
}

func (s *shop) prove(t *testing.T) ([]Proof, error) {
	t.Helper()
	return (&Trial{Database: s, Measure: s.measure, Told: func(string) {}}).Prove(t.Context())
}

func TestOnlyWhatPaysStays(t *testing.T) {
	s := &shop{nsOf: func(indexes []string) float64 {
		if slices.Contains(indexes, "a") {
			return 1e6
		}
		return 50e6
	}}
	proofs, err := s.prove(t)
	if err != nil || len(proofs) != 2 {
		t.Fatalf("%+v, %v", proofs, err)
	}
	if a, b := proofs[0], proofs[1]; !a.Kept || !a.Built || !strings.Contains(a.Why, "-98.0 %") || b.Kept || b.Why != "nothing is better for sure" {
		t.Errorf("%+v", proofs)
	}
	if !slices.Equal(s.indexes, []string{"a"}) {
		t.Errorf("left: %q", s.indexes)
	}
}

func TestWhatMakesItWorseIsDropped(t *testing.T) {
	s := &shop{nsOf: func(indexes []string) float64 { return 1e6 * float64(1+len(indexes)) }}
	proofs, err := s.prove(t)
	if err != nil || proofs[0].Kept || !strings.Contains(proofs[0].Why, "worse by 100.0 %") || len(s.indexes) > 0 {
		t.Errorf("%+v, %v, left %q", proofs, err, s.indexes)
	}
}

func TestIndexThatCantBeBuilt(t *testing.T) {
	s := &shop{broken: "create a", nsOf: func([]string) float64 { return 1e6 }}
	proofs, err := s.prove(t)
	if err != nil || proofs[0].Built || !strings.Contains(proofs[0].Why, "no room") || s.done[1] != "drop a" {
		t.Errorf("%+v, %v, %q", proofs, err, s.done)
	}
}

func TestIndexThatCantBeDropped(t *testing.T) {
	s := &shop{broken: "drop", nsOf: func([]string) float64 { return 1e6 }}
	if _, err := s.prove(t); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Error(err)
	}
}

// Whoever ends it finds no unproven index.
func TestInterruptedProofLeavesNothing(t *testing.T) {
	s := &shop{nsOf: func([]string) float64 { return 1e6 }}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	trial := &Trial{Database: s, Told: func(string) {}, Measure: func(ctx context.Context, name string) (*Runs, error) {
		if calls++; calls == 2 {
			cancel()
			return nil, ctx.Err()
		}
		return s.measure(ctx, name)
	}}
	proofs, err := trial.Prove(ctx)
	if !errors.Is(err, context.Canceled) || len(proofs) != 1 || len(s.indexes) > 0 || s.done[len(s.done)-1] != "drop a" {
		t.Errorf("%+v, %v, %q", proofs, err, s.done)
	}
}
