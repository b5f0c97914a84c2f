// Package advise tests proposed indexes: it builds each one, measures the load without and with it, and drops it
// again if it doesn't help.
package advise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/base/stats"
	"brunt/internal/inspect"
	"brunt/internal/judge/compare"
	"brunt/internal/judge/result"
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
	Times  int               // number of runs without, and with, the index; at least Fewest
	Say    func(text string) // called with each statement before it is executed
	Anyway bool              // compare runs that aren't comparable; see compare.Options
}

// Prove measures and judges the proposals in order. Indexes that were kept remain in place for the next proposals.
// If an index is small, runs without it (A) and with it (B) alternate: A B B A …. Otherwise it is built once, after
// the runs without it. An index is kept if the deciding metric is significantly lower with it. It is dropped if the
// proof fails for any reason, so that only proven indexes stay. The proofs so far are returned together with an
// error. An existing index with a proposal's name is assumed to come from an earlier attempt; it is used if it is
// valid.
func (t *Trial) Prove(ctx context.Context, proposals []record.Proposal) ([]record.Proof, error) {
	var proofs []record.Proof
	for k := range proposals {
		p := &attempt{trial: t, proof: record.Proof{Proposal: proposals[k]}, number: k + 1}
		err := p.measure(ctx)
		if err == nil && p.proof.Why.IsZero() {
			p.judge()
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
				err = fmt.Errorf("%w; the index may be there still: drop it by hand (%s)", err, p.proof.Drop)
			}
		}
		proofs = append(proofs, p.proof)
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
	there         *bool // whether the index exists; nil if unknown
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
		name := fmt.Sprintf("index-%d-%02d-%s", a.number, i+1, letter)
		if a.trial.Kept == nil || !a.trial.Kept(name) {
			if err := a.with(ctx, with); err != nil {
				if ctx.Err() == nil && with {
					a.proof.Why = message.New("proof.unbuilt", message.Text("error", err.Error()))
					return nil
				}
				return err
			}
		}
		a.proof.Order += letter
		a.proof.Built = a.proof.Built || with
		r, seen, err := a.trial.Run(ctx, name)
		if err != nil {
			a.proof.Why = message.New("proof.unmeasured")
			return err
		}
		side.results, side.seen = append(side.results, r), append(side.seen, seen)
	}
	return nil
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
		if !wanted {
			return fmt.Errorf("%s: %w; drop it by hand", script, err)
		}
		return err
	}
	a.there = &wanted
	return nil
}

// judge decides whether the index is kept: if the deciding metric is lower with confidence.
func (a *attempt) judge() {
	p := &a.proof
	c, err := compare.Runs(a.base.results, a.indexed.results,
		compare.Options{Anyway: a.trial.Anyway, Confidence: confidence})
	if err != nil {
		p.Why = message.New("proof.incomparable", message.Nested("why", message.OfError(err)))
		return
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		switch {
		case r.Metric != record.ResponseTime:
		case r.Operation == "" && !math.IsNaN(r.Change.High):
			p.Response = &record.ProofChange{Metric: r.Metric, Value: r.Change.Value, Low: r.Change.Low, High: r.Change.High}
		case r.Operation != "" && r.Verdict == compare.Regression:
			p.Worse = append(p.Worse, r.Operation)
		}
	}
	if p.Change, p.Why = a.serverTime(); !p.Why.IsZero() {
		return
	}
	p.Change = cmp.Or(p.Change, p.Response)
	ch := p.Change
	if ch == nil {
		p.Why = message.New("proof.no-mean")
		return
	}
	args := changeArgs(ch, p.Order)
	figures := message.New("proof.response", args...)
	if ch.Metric == record.ServerTime {
		figures = message.New("proof.server-time", args...)
		if p.Response != nil {
			figures = message.List(figures, message.New("proof.and-response", changeArgs(p.Response, "")...))
		}
	}
	switch p.Kept = ch.High < 0; {
	case p.Kept:
		p.Why = figures
	case ch.Low > 0:
		p.Why = message.New("proof.worse", message.Nested("figures", figures))
	default:
		p.Why = message.New("proof.unsure", message.Nested("figures", figures))
	}
	if len(p.Worse) > 0 {
		p.Why = message.Sentences(p.Why, message.New("proof.slower", message.Text("operations", strings.Join(p.Worse, ", "))))
	}
}

// serverTime returns the change of record.ServerTime, or nil if the server didn't count the statements in every
// run. If the figure may miss statements that are slowed down by the index, it returns nil and the reason.
func (a *attempt) serverTime() (change *record.ProofChange, why message.Message) {
	runs := slices.Concat(a.base.seen, a.indexed.seen)
	if why = a.unknownWriters(runs); !why.IsZero() {
		return nil, why
	}
	perRun := make([]float64, len(runs))
	compared, rare := 0.0, 0.0 // total times of statements
	proposed, writers := a.proposedFor(), a.writers(runs)
	for _, id := range a.concerned(runs) {
		calls, total, means, everywhere := 0.0, 0.0, make([]float64, len(runs)), true
		for i, seen := range runs {
			n, totalNs, known := counted(seen, id)
			if !known && slices.Contains(proposed, id) {
				return nil, message.Message{}
			}
			if everywhere = everywhere && n > 0; n > 0 {
				means[i] = totalNs / n
			}
			calls, total = calls+n, total+totalNs
		}
		if !everywhere { // no figure of some run to compare
			if writers[id] {
				rare += total
			}
			continue
		}
		compared += total
		for i := range runs {
			perRun[i] += calls * means[i]
		}
	}
	if rare > mostRare*(compared+rare) {
		return nil, message.New("proof.rare", message.Text("table", a.proof.Table),
			message.Part("share", rare, compared+rare))
	}
	n := len(a.base.seen)
	c, err := stats.Welch(perRun[:n], perRun[n:], confidence)
	if err != nil { // there are no statements: all figures are 0
		return nil, message.Message{}
	}
	return &record.ProofChange{Metric: record.ServerTime, Value: c.Ratio.Value - 1, Low: c.Ratio.Low - 1,
		High: c.Ratio.High - 1}, message.Message{}
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
				if c.Kind == "table" && (c.Name == a.proof.Table || c.Name == "public."+a.proof.Table) {
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

// changeArgs returns the figures of a change as arguments of a message.
func changeArgs(c *record.ProofChange, order string) []message.Arg {
	return []message.Arg{message.Change("value", c.Value), message.Change("low", c.Low), message.Change("high", c.High),
		message.Text("order", order)}
}
