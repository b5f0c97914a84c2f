//go:build !nok6

package session

import (
	"fmt"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// WarnServiceTime is the id of the warning that k6's executors drove the load: its times leave out what
// iterations waited before they began, or would have waited had they not been dropped.
const WarnServiceTime = "k6-service-time"

// WarnThrew is the id of the warning that iterations ended with exceptions.
const WarnThrew = "k6-exceptions"

// threwDefault is the share of iterations with exceptions from which on a run without thresholds fails, as it
// does of failed operations.
const threwDefault = 0.01

// droppedDefault is the share of iterations dropped from which on a run without thresholds fails.
const droppedDefault = 0.05

// Dropped counts iterations of a scenario that k6 gave up because no VU was free.
func (s *Session) Dropped(scenario string, n uint64) {
	operation := s.Operation(IterationName(scenario))
	s.dropped.Add(n)
	s.shards[0].Do(func(r *measure.Recorder) { r.GiveUp(operation, measure.UnsentNoSession, n) })
}

// Threw counts an iteration that ended with an exception.
func (s *Session) Threw() { s.threw.Add(1) }

// IterationName is the name of the operation that a scenario's iterations are, where they count as such.
func IterationName(scenario string) string { return "iteration " + scenario }

// judge adds to the verdict what only k6 knows.
func (s *Session) judge(run *record.Run) {
	v := &run.Verdict
	if dropped := s.dropped.Load(); dropped > 0 {
		all := dropped + s.iterations.Load()
		text := fmt.Sprintf("k6 dropped %s of %s iterations (%s), because all VUs that it may use were busy: the load was more than they could carry, and what would have waited longest was never sent",
			units.Count(dropped), units.Count(all), units.Percent(dropped, all))
		remedy := `raise maxVUs, lower the rate, or use the executor "brunt-open", which sends everything and counts the wait`
		run.Warnings = append([]record.Warning{{ID: verdict.WarnSaturated, Text: text, Remedy: remedy}}, run.Warnings...)
		if float64(dropped) > droppedDefault*float64(all) && len(run.Thresholds) == 0 {
			fail(v, text+"; "+remedy)
		}
	}
	if threw := s.threw.Load(); threw > 0 {
		all := max(threw, s.iterations.Load())
		text := fmt.Sprintf("%s of %s iterations (%s) ended with an exception, and what they left undone is missing", units.Count(threw), units.Count(all), units.Percent(threw, all))
		const remedy = "see the messages of k6"
		run.Warnings = append(run.Warnings, record.Warning{ID: WarnThrew, Text: text, Remedy: remedy})
		if float64(threw) >= threwDefault*float64(all) && len(run.Thresholds) == 0 {
			fail(v, text+"; "+remedy)
		}
		if threw == all && len(run.Thresholds) == 0 {
			v.Result = verdict.Fail // which no busy generator is the cause of
		}
	}
	if run.LoadModel != "open" {
		run.Warnings = append(run.Warnings, record.Warning{
			ID:     WarnServiceTime,
			Text:   "k6's executors drove the load: response times are service times, from the send on; what iterations waited for a VU isn't in them",
			Remedy: `use the executors "brunt-open" or "brunt-native" for times from the intended start`,
		})
	}
}

// fail makes a passed verdict a failed one, for a reason, which stands before those that others have found.
func fail(v *record.Verdict, why string) {
	if v.Result == verdict.Pass {
		v.Result, v.Reasons = verdict.Fail, nil
	}
	v.Reasons = append([]string{why}, v.Reasons...)
}
