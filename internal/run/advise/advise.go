// Package advise tests proposed indexes: it builds each one, measures the load without and with it, and drops it
// again if it doesn't help.
package advise

import (
	"context"
	"fmt"
	"slices"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/judge/compare"
	"brunt/internal/judge/result"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	// Fewest is the least number of runs without and with an index that a confidence interval needs.
	Fewest = 3
	// confidence is the level of the confidence intervals.
	confidence = 0.95
	// smallB is the largest size, in bytes, of an index that is built repeatedly, so that runs with and without it
	// alternate.
	smallB = 256 << 20
	// mostRare is the largest share of the time of a table's statements that may belong to writing statements which
	// some runs didn't execute.
	mostRare = 0.05
	// leastUnknown and mostUnknown are the number of rows, and the share of all written rows, from which rows
	// written by unknown statements rule out a verdict. The number needs a margin: the server counts rows up to
	// seconds after the statements.
	leastUnknown = 100
	mostUnknown  = 0.2
)

// Trial tests the proposals of a database one after the other.
type Trial struct {
	Database inspect.Database
	// Run runs the load once, at the same rates each time, and returns the result and the inspections.
	Run func(ctx context.Context, name string) (*result.Result, []record.Inspection, error)
	// Kept reports whether the run with a name was completed by an attempt that was killed, so that the index
	// needn't be built for it. nil means that there are no such runs.
	Kept   func(name string) bool
	Times  int                // number of runs without, and with, the index; at least Fewest
	Say    func(text string)  // called with each statement before it is executed
	Judged func(record.Proof) // called with each proof as soon as it is complete; nil: not called
	Anyway bool               // compare runs that aren't comparable; see compare.Options
	// Writers are the names of the operations that may write. Settings don't pay if one of them is slower.
	Writers []string
}

// Prove measures and judges the proposals in order. Indexes that were kept remain in place for the next proposals.
// If an index is small, runs without it (A) and with it (B) alternate: A B B A …. Otherwise it is built once, after
// the runs without it. An index is kept if the deciding metric is significantly lower with it, and the other statements
// of its table don't pay more than that. It is dropped if the proof fails for any reason, so that only proven indexes
// stay. The proofs so far are returned together with an error. An existing index with a proposal's name is assumed to
// come from an earlier attempt; it is used if it is valid.
func (t *Trial) Prove(ctx context.Context, proposals []record.Proposal) ([]record.Proof, error) {
	var proofs []record.Proof
	for k := range proposals {
		p := &attempt{trial: t, proof: record.Proof{Proposal: proposals[k]}, number: k + 1}
		err := p.measure(ctx)
		if err == nil && p.proof.Why.IsZero() {
			if p.isSetting() {
				p.judgeSetting()
			} else {
				p.judge()
			}
		}
		if err == nil && p.proof.Kept {
			err = p.with(ctx, true)
		}
		if err != nil || !p.proof.Kept {
			p.proof.Kept = false
			// An unproven index is dropped, even if the user has cancelled or if a build has left an invalid index.
			switch left := p.with(context.WithoutCancel(ctx), false); {
			case err == nil:
				err = left
			case left != nil:
				err = p.left(err)
			}
		}
		proofs = append(proofs, p.proof)
		if t.Judged != nil {
			t.Judged(p.proof)
		}
		if err != nil {
			return proofs, err
		}
	}
	return proofs, nil
}

// attempt is the test of one proposal.
type attempt struct {
	trial         *Trial
	proof         record.Proof
	number        int
	there         *bool // whether the index exists, or the settings are set; nil if unknown
	rows          []compare.Row
	base, indexed side
}

// side holds the runs without the index, or those with it.
type side struct {
	results []*result.Result
	seen    [][]record.Inspection
}

// order returns for each run whether it is made with the index.
func (a *attempt) order() []bool {
	n := a.trial.Times
	order := make([]bool, 2*n)
	for i := range order {
		if a.proof.SizeB > smallB {
			order[i] = i >= n
		} else {
			order[i] = i%4 == 1 || i%4 == 2
		}
	}
	return order
}

// measure makes all runs of a proposal.
func (a *attempt) measure(ctx context.Context) error {
	for i, with := range a.order() {
		letter, side := "A", &a.base
		if with {
			letter, side = "B", &a.indexed
		}
		r, seen, err := a.run(ctx, fmt.Sprintf("%s-%d-%02d-%s", a.kind(), a.number, i+1, letter), with)
		if err != nil || !a.proof.Why.IsZero() {
			return err
		}
		a.proof.Order += letter
		side.results, side.seen = append(side.results, r), append(side.seen, seen)
	}
	return nil
}

// invalidTries is how often a run is made that the generator spoiled each time.
const invalidTries = 3

// run makes one run, with the index or without it. It repeats a run that the generator spoiled, unless the server
// counted the statements that decide: the server's own times don't depend on when the generator sent its requests.
// If no run is made, the proof says why.
func (a *attempt) run(ctx context.Context, name string, with bool) (*result.Result, []record.Inspection, error) {
	for try := 1; ; try++ {
		if a.trial.Kept == nil || !a.trial.Kept(name) {
			if err := a.with(ctx, with); err != nil {
				if ctx.Err() == nil && with {
					a.proof.Why = a.failed(err)
					return nil, nil, nil
				}
				return nil, nil, err
			}
		}
		a.proof.Built = a.proof.Built || with
		r, seen, err := a.trial.Run(ctx, name)
		if err != nil {
			a.proof.Why = message.New("proof.unmeasured")
		}
		if err != nil || r.Verdict != verdict.Invalid || try == invalidTries || a.counts(seen) {
			return r, seen, err
		}
		name += "-again"
	}
}

// counts reports whether the server counted the statements that the proposal is made for.
func (a *attempt) counts(seen []record.Inspection) bool {
	for _, id := range a.gaining() {
		if n, _, _ := counted(seen, id); n > 0 {
			return true
		}
	}
	return false
}

// with makes sure that the index exists (wanted) or doesn't.
func (a *attempt) with(ctx context.Context, wanted bool) error {
	if a.there == nil {
		there, err := a.trial.Database.Settle(ctx, &a.proof.Proposal)
		if err != nil {
			return fmt.Errorf("%s: whether it is there isn't known: %w", a.proof.Name, err)
		}
		a.there = &there
	}
	if *a.there == wanted {
		return nil
	}
	script := a.proof.Drop
	if wanted {
		script = a.proof.DDL
	}
	a.trial.Say(script)
	a.there = nil
	if err := a.trial.Database.Exec(ctx, script, inspect.Progress{}); err != nil {
		if !wanted && !a.isSetting() {
			return fmt.Errorf("%s: %w; drop it by hand", script, err)
		}
		return err
	}
	a.there = &wanted
	return nil
}

// proposedFor returns the IDs of the statements that the proposal names.
func (a *attempt) proposedFor() (ids []string) {
	for _, e := range slices.Concat(a.proof.Gains, a.proof.Pays) {
		if !slices.Contains(ids, e.Statement) {
			ids = append(ids, e.Statement)
		}
	}
	return ids
}

// gaining returns the IDs of the statements whose plans the index changes.
func (a *attempt) gaining() (ids []string) {
	for _, e := range a.proof.Gains {
		ids = append(ids, e.Statement)
	}
	return ids
}

// maintenance lists the first words of statements that aren't part of a load.
var maintenance = []string{"VACUUM", "ANALYZE", "CREATE", "DROP", "ALTER", "REINDEX", "CLUSTER", "EXPLAIN", "TRUNCATE"}

// concerned returns the IDs of the statements that the index is meant for, those that have to write to it, and all
// others that use the table, judged by their plans or their texts.
func (a *attempt) concerned(runs [][]record.Inspection) []string {
	ids := a.proposedFor()
	for _, s := range loads(runs) {
		if slices.Contains(ids, s.ID) || slices.Contains(maintenance, sqltext.FirstWord(s.Text)) {
			continue
		}
		if slices.Contains(a.proof.Touching, s.ID) || sqltext.Mentions(s.Text, a.proof.Names) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// writers returns the IDs of the statements that may have to write to the index, judged by their texts. Statements
// that only read or delete aren't slowed down by an index, unless they write through a function or a trigger.
func (a *attempt) writers(runs [][]record.Inspection) map[string]bool {
	out := map[string]bool{}
	for _, s := range loads(runs) {
		switch sqltext.FirstWord(s.Text) {
		case "SELECT", "VALUES", "TABLE", "DELETE":
			out[s.ID] = len(a.proof.Names) > 1 && sqltext.Mentions(s.Text, a.proof.Names[1:])
		default:
			out[s.ID] = true
		}
	}
	return out
}

// loads returns the statements of all runs, without the warm-ups.
func loads(runs [][]record.Inspection) (out []record.Statement) {
	for _, seen := range runs {
		for i := range seen {
			if len(seen[i].Windows) > 0 {
				out = append(out, seen[i].Windows[0].Statements...)
			}
		}
	}
	return out
}

// unknownWriters returns the reason why the server's time can't be judged, if there is one: more rows were written
// to the table than the statements known to write to it account for. A known statement that writes through a
// function, a view or a trigger rules this out: its number of rows is hidden, but its time is counted.
func (a *attempt) unknownWriters(runs [][]record.Inspection) message.Message {
	if len(a.proof.Names) == 0 {
		return message.Message{}
	}
	written, known := 0.0, 0.0
	for _, seen := range runs {
		for i := range seen {
			if len(seen[i].Windows) == 0 {
				continue
			}
			for _, c := range seen[i].Windows[0].Counters {
				if a.onTable(&c) {
					written += c.Values["n_tup_ins"] + c.Values["n_tup_upd"]
				}
			}
		}
	}
	for _, s := range loads(runs) {
		if !sqltext.Mentions(s.Text, a.proof.Names) {
			continue
		}
		switch sqltext.FirstWord(s.Text) {
		case "INSERT", "UPDATE", "MERGE", "COPY":
			known += s.Rows
		case "WITH", "CALL", "DO", "EXECUTE":
			return message.Message{}
		}
		if sqltext.Mentions(s.Text, a.proof.Names[1:]) {
			return message.Message{}
		}
	}
	unknown := written - known
	if unknown < leastUnknown || unknown < mostUnknown*written {
		return message.Message{}
	}
	return message.New("proof.unknown-writers", message.Text("table", a.proof.Table),
		message.Count("unknown", uint64(unknown)), message.Count("rows", uint64(written)))
}

// counted returns how often a statement was executed in a run, without the warm-up, and for how long in total.
// known is false if the server counts no statements, or if the statement may be among those omitted from the
// inspection.
func counted(seen []record.Inspection, id string) (calls, totalNs float64, known bool) {
	for i := range seen {
		if len(seen[i].Windows) == 0 {
			continue
		}
		w := &seen[i].Windows[0]
		known = known || len(w.Statements) > 0 && w.Omitted == 0
		for k := range w.Statements {
			if s := &w.Statements[k]; s.ID == id {
				calls, totalNs, known = calls+s.Calls, totalNs+s.TotalNs, true
			}
		}
	}
	return calls, totalNs, known
}
