// Package advise proves advice: it builds what a database's costs speak for, measures the load before
// and after, and takes away again what doesn't pay.
package advise

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/compare"
	"brunt/internal/inspect"
	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/result"
	"brunt/internal/sqltext"
	"brunt/internal/stats"
)

const (
	// Fewest is how many runs on each side an interval needs.
	Fewest = 3
	// confidence of the intervals.
	confidence = 0.95
	// smallB is up to which size an index is built again and again, so that runs with and without it alternate.
	smallB = 256 << 20
	// mostRare is the most of the time of a table's statements that may be of writers that not every run executed.
	mostRare = 0.05
	// leastUnknown and mostUnknown are from how many rows on, and from which share of those written on, writers that
	// aren't known forbid a verdict. The server counts rows up to seconds after statements.
	leastUnknown = 100
	mostUnknown  = 0.2
)

// Trial proves a database's proposals one after the other.
type Trial struct {
	Database inspect.Database
	// Run carries out the load once, always at the same rates, and returns what the server said of it, too.
	Run func(ctx context.Context, name string) (*result.Result, []record.Inspection, error)
	// Kept reports whether Run has the run of that name from an attempt that was killed, so that nothing must be
	// built for it. Nil: never.
	Kept   func(name string) bool
	Times  int               // runs on each side, at least Fewest
	Told   func(text string) // what is being done
	Anyway bool              // compare runs that shouldn't be compared: see compare.Options
}

// Prove builds, measures and judges each proposal, those that were kept with it. Runs with the index and
// without it alternate (A B B A …) if it is small; otherwise it is built once, after the runs without it.
// It stays if what decides is lower for sure. When something fails, the index is dropped: only
// proven ones stay. The proofs so far are returned with every error. An index of a proposal's name that is
// there already is taken for one that an earlier attempt left: it is taken up if it is whole.
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
			// What isn't proven goes, also when the user has ended it all, and when a build left an invalid index.
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

// attempt is a proposal on trial.
type attempt struct {
	trial         *Trial
	proof         record.Proof
	number        int
	there         *bool // whether the index is there; nil: not known
	base, indexed side
}

// side is the runs without the index, or those with it.
type side struct {
	results []*result.Result
	seen    [][]record.Inspection
}

// order is the sides of the runs.
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

// measure runs the load on both sides.
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

// with builds the index or drops it, unless it is or isn't there already.
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
	a.trial.Told(script)
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

// judge keeps an index if what decides is lower with it for sure.
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
	if p.Change == nil {
		p.Change = p.Response
	}
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

// serverTime is the change of record.ServerTime, nil if the server didn't count it in every run. Where it may miss
// statements that pay for the index, why says so, and there is no change.
func (a *attempt) serverTime() (change *record.ProofChange, why message.Message) {
	runs := slices.Concat(a.base.seen, a.indexed.seen)
	if why = a.unknownWriters(runs); !why.IsZero() {
		return nil, why
	}
	perRun := make([]float64, len(runs))
	compared, rare := 0.0, 0.0 // time of statements
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
		if !everywhere { // nothing to compare it with
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
	if err != nil { // no statement: all are 0
		return nil, message.Message{}
	}
	return &record.ProofChange{Metric: record.ServerTime, Value: c.Ratio.Value - 1, Low: c.Ratio.Low - 1,
		High: c.Ratio.High - 1}, message.Message{}
}

// proposedFor are the statements that the proposal names.
func (a *attempt) proposedFor() (ids []string) {
	for _, e := range slices.Concat(a.proof.Gains, a.proof.Pays) {
		if !slices.Contains(ids, e.Statement) {
			ids = append(ids, e.Statement)
		}
	}
	return ids
}

// maintenance are the first words of statements that are no part of a load.
var maintenance = []string{"VACUUM", "ANALYZE", "CREATE", "DROP", "ALTER", "REINDEX", "CLUSTER", "EXPLAIN", "TRUNCATE"}

// concerned are the statements that the index is for, those that have to write to it, and all others that touch the
// table, by their plans or by their texts.
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

// writers are the statements that may have to write to the index, by their texts: a statement that only reads or
// deletes can't be harmed, unless it writes through a function or a trigger.
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

// loads are the statements of runs without their warm-ups.
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

// unknownWriters says why the server's time can't be judged: more rows were written to the table than the statements
// known to write to it account for. Statements that write through a function, a view or a trigger hide how many, but
// not their time.
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

// counted is how often a statement was executed in a run without its warm-up, and for how long in all. It isn't
// known if the server counts no statements, or if the statement may be among those that were left out.
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

// changeArgs are the figures of a change.
func changeArgs(c *record.ProofChange, order string) []message.Arg {
	return []message.Arg{message.Change("value", c.Value), message.Change("low", c.Low), message.Change("high", c.High),
		message.Text("order", order)}
}
