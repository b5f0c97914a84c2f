package campaign

import (
	"cmp"
	"time"

	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// withDefaults sets the defaults of a step.
func withDefaults(s *campaignfile.Step) {
	switch s.Kind {
	case campaignfile.StepSearch:
		o := program.DefaultSearch()
		s.Start, s.Min, s.Max = cmp.Or(s.Start, o.Start), cmp.Or(s.Min, o.Min), cmp.Or(s.Max, o.Max)
		s.Width, s.Trials, s.MaxSessions = cmp.Or(s.Width, o.Width), cmp.Or(s.Trials, o.Trials),
			cmp.Or(s.MaxSessions, o.MaxSessions)
		s.Trial, s.WarmUp = cmp.Or(s.Trial, 30*time.Second), cmp.Or(s.WarmUp, 5*time.Second)
	case campaignfile.StepConfirm:
		s.Ramp, s.Duration = cmp.Or(s.Ramp, time.Minute), cmp.Or(s.Duration, time.Hour)
	case campaignfile.StepReliability:
		s.N, s.Ramp, s.Duration = cmp.Or(s.N, 1), cmp.Or(s.Ramp, time.Minute), cmp.Or(s.Duration, 6*time.Hour)
	case campaignfile.StepAnalyse:
		s.WarmUp, s.Duration = cmp.Or(s.WarmUp, 10*time.Second), cmp.Or(s.Duration, 2*time.Minute)
	case campaignfile.StepFix, campaignfile.StepExperiment:
		s.WarmUp, s.Duration, s.Repetitions = cmp.Or(s.WarmUp, 5*time.Second), cmp.Or(s.Duration, 30*time.Second),
			cmp.Or(s.Repetitions, 4)
	case campaignfile.StepConnections:
		s.N, s.WarmUp, s.Duration = cmp.Or(s.N, 1), cmp.Or(s.WarmUp, 5*time.Second), cmp.Or(s.Duration, time.Minute)
	case campaignfile.StepMatrix:
		s.WarmUp, s.Duration = cmp.Or(s.WarmUp, 10*time.Second), cmp.Or(s.Duration, time.Minute)
		s.Repetitions, s.Tolerance, s.By = cmp.Or(s.Repetitions, 3), cmp.Or(s.Tolerance, 0.05), cmp.Or(s.By,
			"response.p(95)")
	case campaignfile.StepDocument:
		if len(s.Languages) == 0 {
			s.Languages = []string{"en"}
		}
	}
	s.WarmUp, s.Ramp = max(s.WarmUp, 0), max(s.Ramp, 0) // campaignfile.None
	s.N = max(s.N, 0)                                   // campaignfile.Maximum: what was found
}
