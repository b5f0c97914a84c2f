package campaign

import (
	"cmp"
	"slices"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// atLimit is a run at the load that the target doesn't sustain: what limits it shows there, and not at an earlier load.
type atLimit struct {
	of    *Result
	trial *program.Result
	run   *record.Run
}

// limit returns the run at the limit: the hold that failed at the lowest load above the one that was held, or the last
// trial that failed at the upper end of the last search, or the last trial. It returns nil if there is none.
func (d *document) limit() *atLimit {
	search, confirm := d.lastOf(campaignfile.StepSearch), d.lastOf(campaignfile.StepConfirm)
	if confirm != nil && (search == nil || confirm.Number > search.Number) {
		if t := confirm.failedHold(); t != nil {
			return d.atLimit(confirm, t)
		}
	}
	if search == nil || len(search.Search.Trials) == 0 {
		return nil
	}
	all := search.Search.Trials
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Verdict == verdict.Fail && all[i].N == search.Search.Bracket.Upper {
			return d.atLimit(search, &all[i])
		}
	}
	return d.atLimit(search, &all[len(all)-1])
}

// failedHold returns the hold that failed at the lowest load, or nil if none failed.
func (r *Result) failedHold() (worst *program.Result) {
	holds := r.Holds
	if len(holds) == 0 && r.Trial != nil {
		holds = []program.Result{*r.Trial}
	}
	for i := range holds {
		if h := &holds[i]; h.Verdict == verdict.Fail && (worst == nil || h.N < worst.N) {
			worst = h
		}
	}
	return worst
}

func (d *document) atLimit(r *Result, t *program.Result) *atLimit {
	l := &atLimit{of: r, trial: t, run: &record.Run{}}
	if t.Dir != "" {
		if b := d.open(r, t.Dir); b != nil {
			l.run = b.Run
		}
	}
	return l
}

// found is a finding of a step.
type found struct {
	record.Finding
	text string // of its statement
}

// findings returns the gravest findings of the run at the limit and of the last analysis, in this order if they are
// equally grave.
func (d *document) findings(most int) (all []found) {
	if l := d.limit(); l != nil {
		all = d.found(all, l.of, l.run)
	}
	if analysis := d.lastOf(campaignfile.StepAnalyse); analysis != nil {
		if run := d.inspected(analysis); run != nil {
			all = d.found(all, analysis, run)
		}
	}
	rank := []string{record.Critical, record.Serious, record.Minor}
	slices.SortStableFunc(all, func(a, b found) int {
		return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity)
	})
	return all[:min(len(all), most)]
}

// found adds the findings of a step's run about other subjects, without those about statements that a kept index has
// changed since.
func (d *document) found(all []found, r *Result, run *record.Run) []found {
	for i := range run.Inspections {
		in := &run.Inspections[i]
		for k := range in.Findings {
			f := &in.Findings[k]
			if !d.helpedSince(r, f) && !slices.ContainsFunc(all, func(o found) bool {
				return o.ID == f.ID && o.Subject == f.Subject
			}) {
				all = append(all, found{*f, textOf(in, f)})
			}
		}
	}
	return all
}

// helpedSince reports whether an index that was kept after a step is for the statement of a finding.
func (d *document) helpedSince(r *Result, f *record.Finding) bool {
	for _, fix := range d.ofKind(campaignfile.StepFix) {
		if f.Statement != "" && fix.Number > r.Number && slices.ContainsFunc(fix.Fix.proofs(), func(p record.Proof) bool {
			return p.Kept && slices.ContainsFunc(p.Gains, func(e record.Effect) bool { return e.Statement == f.Statement })
		}) {
			return true
		}
	}
	return false
}

// textOf returns the text of the statement that a finding of an inspection is about, or the finding's subject.
func textOf(in *record.Inspection, f *record.Finding) string {
	for _, w := range in.Windows {
		for i := range w.Statements {
			if s := &w.Statements[i]; s.ID == f.Statement && s.Text != "" {
				return s.Text
			}
		}
	}
	return f.Subject
}

// limits lists what limits the target: why the run at the limit failed, what its sessions waited for, what stood still
// periodically, and the gravest findings.
func (d *document) limits() (out []string) {
	l := d.limit()
	if l == nil {
		return nil
	}
	if l.trial.Verdict == verdict.Fail {
		out = append(out, d.say("At %s: %s.", wording{d.l}.load(l.trial.N, l.trial.LoadPerS()), wording{d.l}.why(l.trial)))
	}
	for i := range l.run.Inspections {
		if text := d.waiting(&l.run.Inspections[i]); text != "" {
			out = append(out, text)
		}
	}
	for i := range l.run.Hints {
		if h := &l.run.Hints[i]; h.Kind == "periodic" {
			out = append(out, report.HintText(h, d.l)+".")
		}
	}
	return out
}

// waiting says what the active sessions of a database waited for, if they did so for a relevant part of the time.
func (d *document) waiting(in *record.Inspection) string {
	const leastShare, leastMean = 0.1, 0.2
	classes, order := map[string]float64{}, []string{}
	share := map[string]float64{}
	for _, w := range in.Activity.Waits {
		if _, ok := classes[w.Class]; !ok {
			order = append(order, w.Class)
		}
		classes[w.Class], share[w.Class] = classes[w.Class]+w.Mean, share[w.Class]+w.Share
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(classes[b], classes[a]) })
	var parts []string
	for _, class := range order {
		if share[class] < leastShare || classes[class] < leastMean {
			continue
		}
		name := class
		if class == "CPU" {
			name = d.say("nothing (they computed)")
		}
		parts = append(parts, d.say("%s %s", name, d.figure(share[class], "share")))
	}
	if len(parts) == 0 {
		return ""
	}
	return d.say("What the database's active sessions waited for at this load: %s.", join(parts))
}
