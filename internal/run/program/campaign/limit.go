package campaign

import (
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

// findings returns the findings of the run at the limit, then those of the last analysis about other subjects, without
// those about statements that a kept index has changed since.
func (d *document) findings(most int) (out []record.Finding) {
	add := func(run *record.Run) {
		for i := range run.Inspections {
			for _, f := range run.Inspections[i].Findings {
				if len(out) < most && !slices.ContainsFunc(out, func(o record.Finding) bool {
					return o.ID == f.ID && o.Subject == f.Subject
				}) {
					out = append(out, f)
				}
			}
		}
	}
	if l := d.limit(); l != nil {
		add(l.run)
	}
	if analysis := d.lastOf(campaignfile.StepAnalyse); analysis != nil {
		if run := d.inspected(analysis); run != nil {
			add(run)
		}
	}
	rank := []string{record.Critical, record.Serious, record.Minor}
	slices.SortStableFunc(out, func(a, b record.Finding) int {
		return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity)
	})
	return out
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
	slices.SortStableFunc(order, func(a, b string) int {
		switch {
		case classes[a] > classes[b]:
			return -1
		case classes[a] < classes[b]:
			return 1
		}
		return 0
	})
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
