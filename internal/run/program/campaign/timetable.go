package campaign

import (
	"cmp"
	"fmt"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// The least durations after shortening by the time scale.
const (
	leastLoad   = 2 * time.Second
	leastWarmUp = 300 * time.Millisecond
)

// Estimate is an estimate of a step's duration and of the size of its bundles.
type Estimate struct {
	Runs  int
	Lasts time.Duration // duration of its loads; a search may take less
	Bytes uint64
}

const (
	betweenRuns   = 2 * time.Second // connecting, finishing the record, pauses
	bytesPerRun   = 64 << 10
	bytesPerSlice = 700 // of an interval, and in addition for each operation
)

// Estimate estimates a step.
func (p *Program) Estimate(s *Step) Estimate {
	e := Estimate{}
	one := p.loadTime(s)
	switch s.Kind {
	case campaignfile.StepSearch:
		e.Runs = s.Trials
	case campaignfile.StepMatrix:
		e.Runs = len(cells(s)) * s.Repetitions
	case campaignfile.StepFix:
		const likely = 3 // indexes
		if s.Advisor {
			e.Runs = likely * 2 * s.Repetitions
		}
	case campaignfile.StepExperiment:
		e.Runs = 2 * s.Repetitions
	case campaignfile.StepConfirm, campaignfile.StepReliability, campaignfile.StepAnalyse, campaignfile.StepConnections:
		e.Runs = 1
	}
	if e.Runs == 0 {
		return e
	}
	e.Lasts = time.Duration(e.Runs) * (one + betweenRuns)
	operations := 1
	if s.Load != nil {
		operations += len(s.Load.Operations)
	}
	slices := uint64(one/time.Second) + 30
	e.Bytes = uint64(e.Runs) * (bytesPerRun + slices*bytesPerSlice*uint64(operations))
	return e
}

// loadTime returns the duration of the load in one run of a step.
func (p *Program) loadTime(s *Step) time.Duration {
	if s.Kind == campaignfile.StepSearch {
		return p.scaled(s.WarmUp, leastWarmUp) + p.scaled(s.Trial, p.least)
	}
	return p.scaled(s.WarmUp, leastWarmUp) + p.scaled(s.Ramp, leastWarmUp) + p.lasting(s, s.N)
}

// Bytes estimates the disk space of all steps.
func (p *Program) Bytes() (sum uint64) {
	for i := range p.Steps {
		sum += p.Estimate(&p.Steps[i]).Bytes
	}
	return sum
}

// CheckDisk returns an error if free bytes are too few for the campaign.
func (p *Program) CheckDisk(free uint64) error {
	if need := p.Bytes(); need > free {
		return fmt.Errorf(
			"the campaign's bundles take about %s, and %s are free; free more, or choose another folder (--results)",
			units.Size(need), units.Size(free))
	}
	return nil
}

// Timetable returns a table of the campaign's steps if it begins at the given time.
func (p *Program) Timetable(l units.Language, begin time.Time) cell.Table {
	say := func(text string, args ...any) string { return message.Label(l, text, args...) }
	t := cell.Table{ID: "timetable", Title: say("TIMETABLE"), Note: p.Name, Columns: []cell.Column{
		{Head: "#"}, {Head: say("step"), Left: true}, {Head: say("does"), Left: true, Wrap: true}, {Head: say("runs")},
		{Head: say("lasts")}, {Head: say("begins")}, {Head: say("disk")},
	}}
	at := begin
	for i := range p.Steps {
		s := &p.Steps[i]
		e := p.Estimate(s)
		row := []cell.Cell{cell.Count(s.Number), cell.Text(cmp.Or(s.Name, s.Kind)), cell.Text(p.does(l, s))}
		if e.Runs == 0 {
			row = append(row, cell.None(), cell.None(), cell.Text(at.Format("15:04:05")), cell.None())
		} else {
			lasts := cell.Text(l.Figure(units.Span(e.Lasts)))
			if s.Kind == campaignfile.StepSearch {
				lasts.Text = "≤ " + lasts.Text
			}
			row = append(row, cell.Count(e.Runs), lasts, cell.Text(at.Format("15:04:05")),
				cell.Figure(float64(e.Bytes), "bytes"))
		}
		t.Add(row...)
		at = at.Add(e.Lasts)
	}
	t.Foot = append(t.Foot, say("ends about %s, without what commands take; bundles take about %s",
		at.Format("2006-01-02 15:04:05"), l.Figure(units.Size(p.Bytes()))))
	for i := range p.Steps {
		if text := p.fewRequests(l, &p.Steps[i]); text != "" {
			t.Foot = append(t.Foot, text)
		}
	}
	if !p.Note().IsZero() {
		t.Foot = append(t.Foot, say("a rehearsal: all durations are shortened to %s of what the campaign asks for",
			l.Figure(fmt.Sprintf("%g", p.Scale))))
	}
	return t
}

// fewRequests warns of a step whose runs have too few requests to judge the plan's quantiles, or returns "". A search
// tries lower loads than the one where it starts, at which there are even fewer.
func (p *Program) fewRequests(l units.Language, s *Step) string {
	if s.Load == nil || !s.sends() {
		return ""
	}
	n, length := s.N, p.lasting(s, s.N)
	if s.Kind == campaignfile.StepSearch {
		n = s.Start
		length = max(p.scaled(s.Trial, p.least), min(s.Trial, program.Enough(s.Load, n)))
	}
	rate, err := program.ProfileRate(s.Load)
	if err != nil || n == 0 {
		return ""
	}
	enough := program.Enough(s.Load, n)
	if enough <= length {
		return ""
	}
	requests := func(d time.Duration) string {
		return l.Figure(units.Count(uint64(rate*n*d.Seconds() + 0.5)))
	}
	return message.Label(l,
		"step %d: each run has about %s requests at N %s; the thresholds' quantiles need %s, so let a run take %s or more",
		s.Number, requests(length), l.Figure(program.Scale(n)), requests(enough),
		l.Figure(units.Span(enough.Round(time.Second))))
}

// does describes what a step does.
func (p *Program) does(l units.Language, s *Step) string {
	say := func(text string, args ...any) string { return message.Label(l, text, args...) }
	span := func(d time.Duration) string { return l.Figure(units.Span(d)) }
	at := say("the maximum")
	if s.N > 0 {
		at = say("%s of the profile", l.Figure(units.Fraction(s.N)))
	}
	switch s.Kind {
	case campaignfile.StepPrepare:
		return say("prepare the data")
	case campaignfile.StepSearch:
		return say("find the maximum by at most %d trials of %s", s.Trials, span(p.scaled(s.Trial, p.least)))
	case campaignfile.StepConfirm:
		return say("rise to %s, hold it for %s", at, span(p.lasting(s, s.N)))
	case campaignfile.StepReliability:
		return say("hold %s for %s, watch memory and connections", at, span(p.lasting(s, s.N)))
	case campaignfile.StepAnalyse:
		if s.Again > 0 && s.N == 0 {
			return say("look into the database at the load of step %d", s.Again)
		}
		return say("look into the database at %s", at)
	case campaignfile.StepFix:
		return say("apply the fix")
	case campaignfile.StepExperiment:
		return say("try %s of the database at %s, and restore it", inspect.SettingsText(p.wanted(s)), at)
	case campaignfile.StepConnections:
		return say("count connections at %s", at)
	case campaignfile.StepMatrix:
		return say("compare %d settings at %s, each measured %d times", len(cells(s)), at, s.Repetitions)
	}
	return say("write the document")
}
