package advise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/judge/result"
	"brunt/internal/record"
)

// shop is a simulated database whose response times depend on its indexes.
type shop struct {
	indexes []string
	done    []string
	broken  string // statements with this prefix fail
	nsOf    func(indexes []string) float64
	runs    int
	counts  func(indexes []string, run int) record.ServerWindow // the server's counts of statements; nil: none
}

func (s *shop) Propose(context.Context, []record.Inspection) (list []record.Proposal, err error) {
	for _, name := range []string{"a", "b"} {
		list = append(list, record.Proposal{Name: name, DDL: "create " + name, Drop: "drop " + name})
	}
	return list, nil
}

func (s *shop) Exec(_ context.Context, script string, _ inspect.Progress) error {
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

func (s *shop) Settle(_ context.Context, p *record.Proposal) (bool, error) {
	return slices.Contains(s.indexes, p.Name), nil
}

func (s *shop) run(context.Context, string) (*result.Result, []record.Inspection, error) {
	s.runs++
	r := &result.Result{Program: "brunt", ID: fmt.Sprint(s.runs), Name: "x", LoadModel: "open", Verdict: "pass"}
	ns := s.nsOf(s.indexes) * (1 + 0.004*float64(s.runs*7%5))
	for _, name := range []string{"response.avg", "response.p(50)", "response.p(95)", "response.p(99)"} {
		r.Add(name, "", ns)
	}
	r.Add("rate", "", 100)
	if s.counts == nil {
		return r, nil, nil
	}
	return r, []record.Inspection{{Windows: []record.ServerWindow{s.counts(s.indexes, s.runs)}}}, nil
}

func (s *shop) prove(t *testing.T) ([]record.Proof, error) {
	t.Helper()
	list, err := s.Propose(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return (&Trial{Database: s, Run: s.run, Times: 5, Say: func(string) {}}).Prove(t.Context(), list)
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
	if a, b := proofs[0], proofs[1]; !a.Kept || !a.Built || !strings.Contains(a.Why.String(), "−98.0 %") || b.Kept ||
		!strings.HasPrefix(b.Why.String(), "nothing is better for sure") || a.Order != "ABBAABBAAB" || a.Change.High >= 0 {
		t.Errorf("%+v", proofs)
	}
	if !slices.Equal(s.indexes, []string{"a"}) {
		t.Errorf("left: %q", s.indexes)
	}
}

func TestWhatMakesItWorseIsDropped(t *testing.T) {
	s := &shop{nsOf: func(indexes []string) float64 { return 1e6 * float64(1+len(indexes)) }}
	proofs, err := s.prove(t)
	if err != nil || proofs[0].Kept || !strings.Contains(proofs[0].Why.String(),
		"it is worse with it: the mean response time changes by") || len(s.indexes) > 0 {
		t.Errorf("%+v, %v, left %q", proofs, err, s.indexes)
	}
}

func TestIndexThatCantBeBuilt(t *testing.T) {
	s := &shop{broken: "create a", nsOf: func([]string) float64 { return 1e6 }}
	proofs, err := s.prove(t)
	if err != nil || proofs[0].Built || !strings.Contains(proofs[0].Why.String(), "no room") ||
		!slices.Equal(s.done[:2], []string{"create a", "create b"}) {
		t.Errorf("%+v, %v, %q", proofs, err, s.done)
	}
}

func TestIndexThatCantBeDropped(t *testing.T) {
	s := &shop{broken: "drop", nsOf: func([]string) float64 { return 1e6 }}
	if _, err := s.prove(t); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Error(err)
	}
}

// A large index is built once, after the runs without it.
func TestLargeIndexIsBuiltOnce(t *testing.T) {
	s := &shop{nsOf: func(indexes []string) float64 { return 50e6 / float64(1+len(indexes)) }}
	list := []record.Proposal{{Name: "a", DDL: "create a", Drop: "drop a", SizeB: 1 << 30}}
	proofs, err := (&Trial{Database: s, Run: s.run, Times: 3, Say: func(string) {}}).Prove(t.Context(), list)
	if err != nil || !proofs[0].Kept || proofs[0].Order != "AAABBB" || !slices.Equal(s.done, []string{"create a"}) {
		t.Errorf("%+v, %v, %q", proofs, err, s.done)
	}
}

// After an interrupt no unproven index remains.
func TestInterruptedProofLeavesNothing(t *testing.T) {
	s := &shop{nsOf: func([]string) float64 { return 1e6 }}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	trial := &Trial{Database: s, Times: 3, Say: func(string) {},
		Run: func(ctx context.Context, name string) (*result.Result, []record.Inspection, error) {
			if calls++; calls == 2 {
				cancel()
				return nil, nil, ctx.Err()
			}
			return s.run(ctx, name)
		}}
	list, _ := s.Propose(ctx, nil)
	proofs, err := trial.Prove(ctx, list)
	if !errors.Is(err, context.Canceled) || len(proofs) != 1 || len(s.indexes) > 0 || s.done[len(s.done)-1] != "drop a" {
		t.Errorf("%+v, %v, %q", proofs, err, s.done)
	}
}

// Runs that a killed attempt has completed are not repeated. Its index is used, or built or dropped for the missing
// runs only.
func TestProofGoesOn(t *testing.T) {
	for _, left := range [][]string{nil, {"a"}} {
		s := &shop{indexes: left, nsOf: func(indexes []string) float64 { return 50e6 / float64(1+len(indexes)) }}
		// Of A B B A A B, the first three and the fifth exist.
		kept := map[string]float64{"index-1-01-A": 50e6, "index-1-02-B": 25e6, "index-1-03-B": 25.1e6,
			"index-1-05-A": 50.1e6}
		trial := &Trial{Database: s, Times: 3, Say: func(string) {}, Kept: func(name string) bool { return kept[name] > 0 }}
		trial.Run = func(ctx context.Context, name string) (*result.Result, []record.Inspection, error) {
			if ns := kept[name]; ns > 0 {
				one := &shop{runs: 100 + len(name) + int(name[len("index-1-0")]), nsOf: func([]string) float64 { return ns }}
				return one.run(ctx, name)
			}
			if with := strings.HasSuffix(name, "B"); with != slices.Contains(s.indexes, "a") {
				t.Errorf("%s runs with %q", name, s.indexes)
			}
			return s.run(ctx, name)
		}
		list, _ := s.Propose(t.Context(), nil)
		proofs, err := trial.Prove(t.Context(), list[:1])
		want := []string{"create a"}
		if left != nil {
			want = []string{"drop a", "create a"}
		}
		if err != nil || !proofs[0].Kept || !proofs[0].Built || proofs[0].Order != "ABBAAB" || !slices.Equal(s.done,
			want) ||
			!slices.Equal(s.indexes, []string{"a"}) {
			t.Errorf("left %q: %+v, %v, done %q, there %q", left, proofs, err, s.done, s.indexes)
		}
	}
}

// A run that the generator spoiled before the attempt was killed is repeated with the index.
func TestProofGoesOnAfterASpoiledRun(t *testing.T) {
	s := &shop{nsOf: func(indexes []string) float64 { return 50e6 / float64(1+len(indexes)) }}
	const spoiled = "index-1-02-B"
	var again []bool
	trial := &Trial{Database: s, Times: 3, Say: func(string) {}, Kept: func(name string) bool { return name == spoiled }}
	trial.Run = func(ctx context.Context, name string) (*result.Result, []record.Inspection, error) {
		r, seen, err := s.run(ctx, name)
		switch name {
		case spoiled:
			r.Verdict = "invalid"
		case spoiled + "-again":
			again = append(again, slices.Contains(s.indexes, "a"))
		}
		return r, seen, err
	}
	list, _ := s.Propose(t.Context(), nil)
	if _, err := trial.Prove(t.Context(), list[:1]); err != nil || !slices.Equal(again, []bool{true}) {
		t.Errorf("%v; with the index: %v", err, again)
	}
}

// busy returns a shop whose response times don't depend on indexes. Its server counts a read that index a makes faster
// by the given factor, a write that it makes slower, and a statement that it doesn't affect.
func busy(factor float64) *shop {
	noisy := []float64{40, 15, 10, 23, 15, 17, 25, 38}
	s := &shop{}
	s.nsOf = func([]string) float64 { return 1e6 * noisy[s.runs%len(noisy)] }
	s.counts = func(indexes []string, run int) record.ServerWindow {
		ns, write := 10e6, 1e6
		if slices.Contains(indexes, "a") {
			ns, write = ns*factor, 2*write
		}
		calls, jitter := 100+float64(run%3), 1+0.1*float64(run*5%4)
		return record.ServerWindow{Statements: []record.Statement{
			{ID: "other", Calls: 1, TotalNs: 1e9 * noisy[run%len(noisy)]},
			{ID: "read", Calls: calls, TotalNs: calls * ns * jitter},
			{ID: "write", Calls: calls, TotalNs: calls * write * jitter},
		}}
	}
	return s
}

func (s *shop) proveOne(t *testing.T) record.Proof {
	t.Helper()
	list := []record.Proposal{{Name: "a", DDL: "create a", Drop: "drop a", Table: "book",
		Names: []string{"book", "fill_book"}, Gains: []record.Effect{{Statement: "read"}},
		Pays: []record.Effect{{Statement: "write"}}}}
	proofs, err := (&Trial{Database: s, Run: s.run, Times: 4, Say: func(string) {}}).Prove(t.Context(), list)
	if err != nil || len(proofs) != 1 {
		t.Fatalf("%+v, %v", proofs, err)
	}
	return proofs[0]
}

// If the server counts its time for the affected statements, that time decides, and response times don't.
func TestServerTimeDecides(t *testing.T) {
	p := busy(0.1).proveOne(t)
	if !p.Kept || p.Change == nil || p.Change.Metric != record.ServerTime || math.Abs(p.Change.Value-(0.1-1)) > 0.05 {
		t.Errorf("%+v, %+v", p, p.Change)
	}
	if p.Response == nil || p.Response.Low > 0 || p.Response.High < 0 ||
		!strings.Contains(p.Why.String(), ", the mean response time by ") {
		t.Errorf("beside it: %+v: %s", p.Response, p.Why)
	}
	if p.Others == nil || p.Others.Value < 0.8 || len(p.Statements) != 1 || p.Statements[0].Change.High >= 0 {
		t.Errorf("%+v, %+v", p.Others, p.Statements)
	}
	if p = busy(1).proveOne(t); p.Kept || p.Change.Metric != record.ServerTime {
		t.Errorf("an index that only costs: %+v, %+v", p, p.Change)
	}
}

// Response times decide if an affected statement may be among those that a record leaves out.
func TestStatementLeftOut(t *testing.T) {
	s := busy(0.1)
	whole := s.counts
	s.counts = func(indexes []string, run int) record.ServerWindow {
		w := whole(indexes, run)
		if len(indexes) > 0 {
			w.Statements, w.Omitted = append(w.Statements[:1:1], w.Statements[2]), 1
		}
		return w
	}
	if p := s.proveOne(t); p.Kept || p.Change == nil || p.Change.Metric != record.ResponseTime {
		t.Errorf("%+v, %+v", p, p.Change)
	}
}

// If the database becomes unavailable, the error is one line.
func TestDatabaseGoesAwayDuringProof(t *testing.T) {
	s := &shop{nsOf: func([]string) float64 { return 1e6 }}
	trial := &Trial{Database: s, Times: 3, Say: func(string) {},
		Run: func(ctx context.Context, name string) (*result.Result, []record.Inspection, error) {
			if s.runs == 1 {
				s.broken = "drop"
				return nil, nil, errors.New("the server is gone")
			}
			return s.run(ctx, name)
		}}
	list, _ := s.Propose(t.Context(), nil)
	_, err := trial.Prove(t.Context(), list)
	if err == nil || err.Error() != "the server is gone; the index may be there still: drop it by hand (drop a)" {
		t.Errorf("%v", err)
	}
}

// A statement that only some of the runs executed can't be compared. If it may write and took a relevant time, there is
// no verdict; otherwise it is ignored. Statements that are not part of the load, such as VACUUM, never count.
func TestRareStatements(t *testing.T) {
	for _, c := range []struct {
		text string
		ns   float64
		kept bool
	}{
		{"insert into book select * from news", 5e9, false},
		{"insert into book select * from news", 1e6, true},
		{"insert into author select * from news", 5e9, true},
		{"vacuum book", 5e9, true},
		{"select count(*) from book", 5e9, true},
		{"select fill_book($1)", 5e9, false},
	} {
		t.Run(fmt.Sprint(c.text, " ", c.ns), func(t *testing.T) {
			s := busy(0.1)
			usual := s.counts
			s.counts = func(indexes []string, run int) record.ServerWindow {
				w := usual(indexes, run)
				if run == 3 {
					w.Statements = append(w.Statements, record.Statement{ID: "rare", Text: c.text, Calls: 1, TotalNs: c.ns})
				}
				return w
			}
			p := s.proveOne(t)
			if p.Kept != c.kept || !c.kept && !strings.HasPrefix(p.Why.String(),
				"no verdict: statements that write to book") {
				t.Errorf("kept %v: %s", p.Kept, p.Why)
			}
		})
	}
}

// Other statements of the table don't hide what the index does for those whose plans it changes, however much their
// times vary. If they certainly pay more than those save, the index is dropped.
func TestOthersDontHideTheGain(t *testing.T) {
	for _, c := range []struct {
		name, text string
		slower     float64
		noise      bool
		kept       bool
	}{
		{"noise", "select sum(price) from book", 1, true, true},
		{"harm", "select sum(price) from book", 3, false, false},
		{"writer", "insert into book select * from news", 3, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := busy(0.1)
			usual := s.counts
			s.counts = func(indexes []string, run int) record.ServerWindow {
				w, ns := usual(indexes, run), 20e6
				if len(indexes) > 0 {
					ns *= c.slower
				}
				if c.noise {
					ns *= []float64{1, 9, 2, 0.3, 7}[run%5]
				}
				w.Statements = append(w.Statements, record.Statement{ID: "sum", Text: c.text, Calls: 100,
					TotalNs: 100 * ns * (1 + 0.01*float64(run%3))})
				return w
			}
			p := s.proveOne(t)
			if p.Kept != c.kept || p.Change.High >= 0 || !c.kept && !strings.HasPrefix(p.Why.String(),
				"other statements of book pay") {
				t.Errorf("kept %v: %s", p.Kept, p.Why)
			}
		})
	}
}

// A run that the generator spoiled is repeated, unless the server counted the statements: its own times don't depend on
// the generator. Each proof is told as soon as it is complete.
func TestSpoiledRuns(t *testing.T) {
	for _, counts := range []bool{true, false} {
		s := busy(0.1)
		if !counts {
			s.counts = nil
			s.nsOf = func(indexes []string) float64 { return 50e6 / float64(1+len(indexes)) }
		}
		var names []string
		trial := &Trial{Database: s, Times: 4, Say: func(string) {}}
		trial.Run = func(ctx context.Context, name string) (*result.Result, []record.Inspection, error) {
			names = append(names, name)
			r, seen, err := s.run(ctx, name)
			if counts || name == "index-1-03-B" {
				r.Verdict = "invalid"
			}
			return r, seen, err
		}
		told := 0
		trial.Judged = func(p record.Proof) { told++ }
		list := []record.Proposal{{Name: "a", DDL: "create a", Drop: "drop a", Gains: []record.Effect{{Statement: "read"}}}}
		proofs, err := trial.Prove(t.Context(), list)
		again := slices.Contains(names, "index-1-03-B-again")
		if err != nil || !proofs[0].Kept || again == counts || told != 1 {
			t.Errorf("counted %v: %v, %+v, runs %q, told %d", counts, err, proofs, names, told)
		}
	}
}
