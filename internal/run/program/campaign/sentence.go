package campaign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// Seen is the summary of a database's inspection during a load.
type Seen struct {
	Connections int     `json:"connections"`     // largest number, of clients other than brunt
	Active      float64 `json:"active"`          // of these, active on average
	Limit       int     `json:"limit,omitempty"` // how many the server allows; 0 if unknown
	// All is the number of all connections, brunt's among them, on servers that don't say whose they are; 0 if unknown.
	All      int              `json:"all,omitempty"`
	Unnamed  bool             `json:"unnamed,omitempty"` // the server doesn't say whose connections it has
	Counted  bool             `json:"counted,omitempty"` // it doesn't say what they do: Active isn't known
	Findings int              `json:"findings"`          // number of findings
	Gravest  []record.Finding `json:"gravest,omitempty"` // at most one
}

// seenOf returns the summary of a run's inspection, or nil if there was none.
func seenOf(run *record.Run) *Seen {
	if len(run.Inspections) == 0 {
		return nil
	}
	in := &run.Inspections[0]
	s := &Seen{Findings: len(in.Findings), Gravest: in.Findings[:min(len(in.Findings), 1)]}
	for _, c := range in.Activity.Clients {
		if !c.Generator {
			s.Connections, s.Active = s.Connections+c.Max, s.Active+c.ActiveMean
		}
	}
	s.Counted = !in.SeesWork()
	if s.Unnamed = len(in.Activity.Clients) == 0; s.Unnamed {
		s.All = allConnections(in)
	}
	if in.Product == "PostgreSQL" {
		s.Limit = 100 // the default: settings lists only those that differ
	}
	for _, setting := range in.Settings {
		if setting.Name == "max_connections" {
			s.Limit, _ = strconv.Atoi(setting.Value)
		}
	}
	return s
}

// allConnections returns the number of connections by a server's own counters, as Redis and Tarantool name them; 0 if
// it has none.
func allConnections(in *record.Inspection) int {
	sum := 0.0
	if len(in.Windows) == 0 {
		return 0
	}
	for _, c := range in.Windows[0].Counters {
		for name, v := range c.Values {
			if name == "connected_clients" || strings.HasSuffix(name, "CONNECTIONS.current") {
				sum += v
			}
		}
	}
	return int(sum + 0.5)
}

// Sentence returns the result of the step in one sentence.
func (r *Result) Sentence(l units.Language) string {
	w := wording{l}
	switch {
	case r.Search != nil:
		return w.search(r.Search)
	case r.confirms():
		return w.confirmed(r)
	case r.Trial != nil:
		return w.held(r)
	case r.Matrix != nil:
		return w.matrix(r.Matrix)
	case r.Experiment != nil:
		return w.tried(r.Experiment)
	case r.Fix != nil:
		kept, proofs := 0, r.Fix.proofs()
		for i := range proofs {
			if proofs[i].Kept {
				kept++
			}
		}
		return w.say("Of %d proposed indexes %d proved to pay and stay", len(proofs), kept) + "; " +
			message.Plural(l, len(r.Fix.Files)+len(r.Fix.Commands),
				"file or command applied", "files and commands applied") + "."
	}
	return w.say("Done.")
}

// wording builds sentences in a language.
type wording struct{ l units.Language }

func (w wording) say(text string, args ...any) string { return message.Label(w.l, text, args...) }

// load formats a load as N and as operations a second.
func (w wording) load(n, perS float64) string {
	return fmt.Sprintf("N = %s (%s/%s)", w.l.Figure(program.Scale(n)), w.l.Figure(units.Rate(perS)), w.say("s"))
}

func (w wording) span(ns int64) string { return w.l.Figure(units.Span(time.Duration(ns))) }

func (w wording) search(s *program.SearchLog) string {
	b := &s.Bracket
	lasts := int64(0)
	for i := range s.Trials {
		if t := &s.Trials[i]; t.N == b.Lower {
			lasts = max(lasts, t.LastsNs)
		}
	}
	switch {
	case b.Lower > 0 && b.Upper > 0 && lasts > 0:
		return w.say("In trials of %s the service sustains %s and doesn't sustain %s: %s.", w.span(lasts),
			w.load(b.Lower, s.PerS(b.Lower)), w.load(b.Upper, b.UpperPerS), w.say(b.End))
	case b.Lower > 0 && b.Upper > 0:
		return w.say("The service sustains %s and doesn't sustain %s: %s.", w.load(b.Lower, s.PerS(b.Lower)),
			w.load(b.Upper, b.UpperPerS), w.say(b.End))
	case b.Lower > 0:
		return w.say("The service sustains %s; its maximum isn't known: %s.", w.load(b.Lower, s.PerS(b.Lower)),
			w.say(b.End))
	}
	return w.say("No load was found that the service sustains: %s.", w.say(b.End))
}

// confirmed says which load was held and for how long, and which was not.
func (w wording) confirmed(r *Result) string {
	t := r.Trial
	if t.Verdict != verdict.Pass {
		if len(r.Holds) > 1 {
			return w.say("No load was held for %s, from %s down to %s: %s.", w.span(t.LastsNs),
				w.load(r.Holds[0].N, r.Holds[0].LoadPerS()), w.load(t.N, t.LoadPerS()), w.why(t))
		}
		return w.say("%s wasn't held for %s: %s.", w.load(t.N, t.LoadPerS()), w.span(t.LastsNs), w.why(t))
	}
	text := w.passed(t)
	if k := len(r.Holds) - 2; k >= 0 {
		over := &r.Holds[k]
		for i := range r.Holds[:k+1] {
			if h := &r.Holds[i]; h.N > t.N && h.N <= over.N {
				over = h
			}
		}
		if over.N > t.N {
			text += " " + w.say("%s wasn't: %s.", w.load(over.N, over.LoadPerS()), w.why(over))
		}
	}
	return text
}

// passed says that a load was held.
func (w wording) passed(t *program.Result) string {
	return w.say("%s was held for %s: p95 %s, %s of %s failed.", w.load(t.N, t.LoadPerS()), w.span(t.LastsNs),
		w.l.Figure(units.Latency(float64(t.P95Ns))), w.l.Figure(units.Fraction(t.Errors)),
		message.Plural(w.l, t.Offered, "request", "requests"))
}

// why returns the first reason of a trial that didn't pass.
func (w wording) why(t *program.Result) string {
	if len(t.Why) == 0 {
		return w.say(t.Verdict)
	}
	return program.Brief(t.Why[0].In(w.l))
}

// held describes the result of a hold, according to the kind of the step.
func (w wording) held(r *Result) string {
	t := r.Trial
	at := w.load(t.N, t.LoadPerS())
	var text string
	switch {
	case r.Kind == campaignfile.StepConnections && r.Seen != nil && r.Seen.All > 0:
		text = w.say("At %s the server had %d connections, brunt's among them; it doesn't say whose they are.", at, r.Seen.All)
	case r.Kind == campaignfile.StepConnections && r.Seen != nil && r.Seen.Unnamed:
		text = w.say("At %s: the server doesn't say who is connected.", at)
	case r.Kind == campaignfile.StepConnections && r.Seen != nil && r.Seen.Counted:
		text = w.say("At %s others than brunt had at most %d connections to the server.", at, r.Seen.Connections)
	case r.Kind == campaignfile.StepConnections && r.Seen != nil && r.Seen.Limit > 0:
		text = w.say("At %s the service had at most %d of the %d connections that the database allows, of which %s worked at a time.",
			at, r.Seen.Connections, r.Seen.Limit, w.l.Figure(units.Digits3(r.Seen.Active)))
	case r.Kind == campaignfile.StepConnections && r.Seen != nil:
		text = w.say("At %s the service had at most %d connections to the database, of which %s worked at a time.",
			at, r.Seen.Connections, w.l.Figure(units.Digits3(r.Seen.Active)))
	case r.Kind == campaignfile.StepAnalyse && r.Seen != nil && len(r.Seen.Gravest) > 0:
		f := &r.Seen.Gravest[0]
		text = w.say("At %s the database shows %s, the gravest about %s: %s.", at,
			message.Plural(w.l, r.Seen.Findings, "finding", "findings"), about(f),
			program.Brief(f.Evidence.In(w.l)))
	case r.Kind == campaignfile.StepAnalyse && r.Seen != nil:
		text = w.say("At %s the database shows no findings.", at)
	case t.Verdict == verdict.Pass && t.LastsNs > 0:
		return w.passed(t)
	case t.Verdict == verdict.Pass:
		return w.say("At %s no degradation was seen: p95 %s, %s failed.", at,
			w.l.Figure(units.Latency(float64(t.P95Ns))), w.l.Figure(units.Fraction(t.Errors)))
	default:
		return w.say("At %s: %s.", at, w.why(t))
	}
	if t.Verdict != verdict.Pass {
		text += " " + w.say("The load itself: %s.", w.why(t))
	}
	return text
}

func (w wording) matrix(m *program.MatrixLog) string {
	switch {
	case m.Best < 0:
		return w.say("No settings carry the load.")
	case m.Advised < 0:
		return w.say("No settings keep the thresholds in all of their runs.")
	case m.Best != m.Advised && !m.Passes(m.Best):
		return w.say("The best doesn't keep the thresholds in all of its runs. The smallest that does: %s.",
			m.Cells[m.Advised].Settings)
	case m.Alike && m.Failing() > 0:
		return w.say("%d of the settings fail; the others can't be told apart. The smallest that pass: %s.", m.Failing(),
			m.Cells[m.Advised].Settings)
	case m.Alike:
		return w.say("The settings can't be told apart. The smallest that pass: %s.", m.Cells[m.Advised].Settings)
	case m.Advised == m.Best:
		if smaller := m.Undecided(); len(smaller) > 0 {
			return w.say("Best: %s. Smaller ones that can't be told apart from it: %s.", m.Cells[m.Best].Settings,
				strings.Join(smaller, "; "))
		}
		return w.say("Best, and none smaller is as good: %s.", m.Cells[m.Best].Settings)
	}
	return w.say("Best: %s; as good to within %s, and the smallest: %s.", m.Cells[m.Best].Settings,
		w.l.Figure(units.Fraction(m.Options.Tolerance)), m.Cells[m.Advised].Settings)
}

// about returns what a finding is about. It is cut, because the full text is shown elsewhere.
func about(f *record.Finding) string { return cut(oneLine(f.Subject), 60) }
