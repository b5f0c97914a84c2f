package verdict

import (
	"fmt"

	"brunt/internal/record"
	"brunt/internal/units"
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

// JudgeIterations adds to the verdict of a run of k6, which Judge has judged, what its iterations say.
func JudgeIterations(run *record.Run) {
	v, n := &run.Verdict, run.Iterations
	if n == nil {
		return
	}
	if dropped := n.Dropped; dropped > 0 {
		all := dropped + n.Done
		text := fmt.Sprintf("k6 dropped %s of %s iterations (%s), because all VUs that it may use were busy: the load was more than they could carry, and what would have waited longest was never sent",
			units.Count(dropped), units.Count(all), units.Percent(dropped, all))
		remedy := `raise maxVUs, lower the rate, or use the executor "brunt-open", which sends everything and counts the wait`
		run.Warnings = append([]record.Warning{{ID: WarnSaturated, Text: text, Remedy: remedy}}, run.Warnings...)
		if float64(dropped) > droppedDefault*float64(all) && len(run.Thresholds) == 0 {
			brokenBy(v, text+"; "+remedy)
		}
	}
	if threw := n.Threw; threw > 0 {
		all := max(threw, n.Done)
		text := fmt.Sprintf("%s of %s iterations (%s) ended with an exception, and what they left undone is missing", units.Count(threw), units.Count(all), units.Percent(threw, all))
		const remedy = "see the messages of k6"
		run.Warnings = append(run.Warnings, record.Warning{ID: WarnThrew, Text: text, Remedy: remedy})
		if float64(threw) >= threwDefault*float64(all) && len(run.Thresholds) == 0 {
			brokenBy(v, text+"; "+remedy)
		}
		if threw == all && len(run.Thresholds) == 0 {
			v.Result = Fail // which no busy generator is the cause of
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

// brokenBy makes a passed verdict a failed one, for a reason, which stands before those that others have found.
func brokenBy(v *record.Verdict, why string) {
	if v.Result == Pass {
		v.Result, v.Reasons = Fail, nil
	}
	v.Reasons = append([]string{why}, v.Reasons...)
}
