package advise

import (
	"math"
	"slices"
	"strings"

	"brunt/internal/base/stats"
	"brunt/internal/judge/compare"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// judge decides whether the index is kept. The statements whose plans it changes must be faster with confidence. All
// other statements of its table are guarded against harm: they may not pay more than those save.
func (a *attempt) judge() {
	p := &a.proof
	incomparable := a.responses()
	times, why := a.serverTimes()
	if !why.IsZero() {
		p.Why = why
		return
	}
	harm := unharmed
	switch {
	case times != nil:
		p.Change, p.Statements, p.Others = times.change(), times.statements, times.others()
		perRow := rowNs
		if strings.Contains(p.DDL, " USING gin ") {
			perRow = ginRowNs
		}
		harm = times.guard(a.written(), perRow)
	case !incomparable.IsZero():
		p.Why = message.New("proof.incomparable", message.Nested("why", incomparable))
		return
	default:
		p.Change = p.Response
	}
	if p.Change == nil {
		p.Why = message.New("proof.no-mean")
		return
	}
	figures := figures(p)
	switch p.Kept = p.Change.High < 0 && harm == unharmed; {
	case p.Kept:
		p.Why = figures
	case harm == maybeHarmed && p.Change.High < 0:
		p.Why = message.New("proof.may-harm", message.Text("table", p.Table), message.Nested("figures", figures))
	case harm == harmed && p.Change.High < 0:
		p.Why = message.New("proof.harm", message.Text("table", p.Table), message.Nested("figures", figures))
	case p.Change.Low > 0:
		p.Why = message.New("proof.worse", message.Nested("figures", figures))
	default:
		p.Why = message.New("proof.unsure", message.Nested("figures", figures))
	}
	if len(p.Worse) > 0 {
		p.Why = message.Sentences(p.Why, message.New("proof.slower", message.Text("operations", strings.Join(p.Worse,
			", "))))
	}
}

// responses compares the response times of the runs. It returns the reason if they can't be compared.
func (a *attempt) responses() (why message.Message) {
	p := &a.proof
	c, err := compare.Runs(a.base.results, a.indexed.results,
		compare.Options{Anyway: a.trial.Anyway, Confidence: confidence})
	if err != nil {
		return message.OfError(err)
	}
	a.rows = c.Rows
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
	return message.Message{}
}

// figures returns the changes of a proof as a message.
func figures(p *record.Proof) message.Message {
	args := changeArgs(p.Change, p.Order)
	if p.Change.Metric != record.ServerTime {
		return message.New("proof.response", args...)
	}
	parts := []message.Message{message.New("proof.server-time", args...)}
	if p.Others != nil {
		parts = append(parts, message.New("proof.others", changeArgs(p.Others, "")...))
	}
	if p.Response != nil {
		parts = append(parts, message.New("proof.and-response", changeArgs(p.Response, "")...))
	}
	return message.List(parts...)
}

// serverTimes are the server's own times for statements, ns per run, with the same weights in all runs.
type serverTimes struct {
	n int // of the runs without the index, which come first
	// gains are the times of the statements whose plans the index changes, pays those of the statements that may have to
	// write to it, and rest those of the others that use its table.
	gains, pays, rest []float64
	statements        []record.ProofStatement // of gains
}

// serverTimes adds up the server's times. It returns nil if the server didn't count the statements that decide in every
// run. If the times may miss statements that are slowed down by the index, it returns the reason.
func (a *attempt) serverTimes() (out *serverTimes, why message.Message) {
	runs := slices.Concat(a.base.seen, a.indexed.seen)
	if why = a.unknownWriters(runs); !why.IsZero() {
		return nil, why
	}
	zeros := func() []float64 { return make([]float64, len(runs)) }
	out = &serverTimes{n: len(a.base.seen), gains: zeros(), pays: zeros(), rest: zeros()}
	compared, rare := 0.0, 0.0 // total times of statements
	gaining, proposed, writers := a.gaining(), a.proposedFor(), a.writers(runs)
	decided := false
	for _, id := range a.concerned(runs) {
		calls, total, means, everywhere := 0.0, 0.0, zeros(), true
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
		gains := slices.Contains(gaining, id)
		if !everywhere { // no figure of some run to compare
			if writers[id] && !gains {
				rare += total
			}
			continue
		}
		compared += total
		into := out.rest
		switch {
		case gains:
			into, decided = out.gains, true
			out.note(a.effect(id), means)
		case writers[id] || a.pays(id):
			into = out.pays
		}
		for i := range runs {
			into[i] += calls * means[i]
		}
	}
	if rare > mostRare*(compared+rare) {
		return nil, message.New("proof.rare", message.Text("table", a.proof.Table),
			message.Part("share", rare, compared+rare))
	}
	if !decided {
		return nil, message.Message{}
	}
	return out, message.Message{}
}

// effect returns the planner's effect of the index on a statement.
func (a *attempt) effect(id string) *record.Effect {
	k := slices.IndexFunc(a.proof.Gains, func(e record.Effect) bool { return e.Statement == id })
	return &a.proof.Gains[k]
}

// pays reports whether a statement has to maintain the index.
func (a *attempt) pays(id string) bool {
	return slices.ContainsFunc(a.proof.Pays, func(e record.Effect) bool { return e.Statement == id })
}

// note adds the times of a statement, ns per call in each run.
func (s *serverTimes) note(e *record.Effect, means []float64) {
	out := record.ProofStatement{Statement: e.Statement, Text: e.Text, BeforeNs: stats.Mean(means[:s.n]),
		AfterNs: stats.Mean(means[s.n:])}
	if c, err := stats.Welch(means[:s.n], means[s.n:], confidence); err == nil {
		out.Change = &record.ProofChange{Metric: record.ServerTime, Value: c.Ratio.Value - 1, Low: c.Ratio.Low - 1,
			High: c.Ratio.High - 1}
	}
	s.statements = append(s.statements, out)
}

// ratio returns the relative change of times with the index, or nil if there are none.
func (s *serverTimes) ratio(times []float64) *record.ProofChange {
	c, err := stats.Welch(times[:s.n], times[s.n:], confidence)
	if err != nil { // all are 0
		return nil
	}
	return &record.ProofChange{Metric: record.ServerTime, Value: c.Ratio.Value - 1, Low: c.Ratio.Low - 1,
		High: c.Ratio.High - 1}
}

// change returns the change of the statements that decide.
func (s *serverTimes) change() *record.ProofChange { return s.ratio(s.gains) }

// others returns the change of all other statements of the table, or nil if there are none.
func (s *serverTimes) others() *record.ProofChange {
	sum := make([]float64, len(s.pays))
	for i := range sum {
		sum[i] = s.pays[i] + s.rest[i]
	}
	return s.ratio(sum)
}

// The outcomes of the guard.
const (
	unharmed = iota
	maybeHarmed
	harmed
)

// rowNs and ginRowNs are upper bounds of what one more index costs for a row that is written, ns. Chosen: ten times
// what the largest cost in a B-tree and in a GIN index on an idle machine.
const (
	rowNs    = 100e3
	ginRowNs = 1e6
)

// guard decides whether the other statements pay for the index what it saves, or more. written is how many rows of the
// table a run wrote on average; NaN if unknown. Statements that write must pay less even at the upper end of the
// interval, as far as the rows that they write can cost so much at all. The plans of other statements don't change, so
// only a difference that is certain counts.
func (s *serverTimes) guard(written, perRowNs float64) int {
	saved := stats.Mean(s.gains[:s.n]) - stats.Mean(s.gains[s.n:])
	read := 0.0
	if c := s.ratio(s.rest); c != nil && c.Low > 0 {
		read = stats.Mean(s.rest[s.n:]) - stats.Mean(s.rest[:s.n])
	}
	c, err := stats.WelchDifference(s.pays[:s.n], s.pays[s.n:], confidence)
	if err != nil {
		return unharmed
	}
	paid, most := c.Difference.Value, c.Difference.High
	if !math.IsNaN(written) {
		most = min(most, written*perRowNs*float64(len(s.pays)))
		paid = min(paid, most)
	}
	switch {
	case max(paid, 0)+read >= saved:
		return harmed
	case max(most, 0)+read >= saved:
		return maybeHarmed
	}
	return unharmed
}

// written returns how many rows a run wrote to the proposal's table on average, or NaN if no run says.
func (a *attempt) written() float64 {
	sum, known, runs := 0.0, false, slices.Concat(a.base.seen, a.indexed.seen)
	for _, seen := range runs {
		for i := range seen {
			if len(seen[i].Windows) == 0 {
				continue
			}
			for _, c := range seen[i].Windows[0].Counters {
				if a.onTable(&c) {
					sum, known = sum+c.Values["n_tup_ins"]+c.Values["n_tup_upd"], true
				}
			}
		}
	}
	if !known {
		return math.NaN()
	}
	return sum / float64(len(runs))
}

// onTable reports whether a counter is that of the proposal's table.
func (a *attempt) onTable(c *record.Counters) bool {
	return c.Kind == "table" && (c.Name == a.proof.Table || c.Name == "public."+a.proof.Table)
}

// changeArgs returns the figures of a change as arguments of a message.
func changeArgs(c *record.ProofChange, order string) []message.Arg {
	return []message.Arg{message.Change("value", c.Value), message.Change("low", c.Low), message.Change("high", c.High),
		message.Text("order", order)}
}
