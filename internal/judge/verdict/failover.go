package verdict

import (
	"time"

	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// unrecovered returns a failure for each incident after which the load didn't recover.
func (j *judge) unrecovered() (out []failure) {
	if j.run.Failover == nil {
		return nil
	}
	for i := range j.run.Failover.Incidents {
		if in := &j.run.Failover.Incidents[i]; in.Never {
			out = append(out, failure{servers: !in.Invalid, text: message.New("verdict.never-recovered",
				message.Nested("incident", incident(in)), message.Span("left", time.Duration(in.EndNs-in.DoneNs)))})
		}
	}
	return out
}

// noAccount returns the reason why there is no account of outages, if the user asked for one.
func (j *judge) noAccount() (out []message.Message) {
	if f := j.run.Failover; f != nil && f.Asked && !f.Refused.IsZero() {
		out = append(out, message.New("verdict.no-account", message.Nested("why", f.Refused)))
	}
	return out
}

// notDone returns a reason for the first fault that was not done although it had to be: as the plan says, or by default
// if the run has thresholds, which hold for a load that was not disturbed. Runs that were stopped earlier had no time.
func (j *judge) notDone() []message.Message {
	if j.run.Interrupted || !j.run.Aborted.IsZero() {
		return nil
	}
	for i := range j.run.Faults {
		f := &j.run.Faults[i]
		if must := f.Must == plan.MustHappen || f.Must == "" && len(j.run.Thresholds) > 0; must && f.Error != "" {
			return []message.Message{message.New("verdict.fault-not-done", message.Text("fault", f.Name),
				message.Count("n", f.Number), message.Text("error", f.Error))}
		}
	}
	return nil
}

// incident returns the name of an incident: its fault, or an outage without one, and when it began.
func incident(in *record.Incident) message.Message {
	at := message.Span("at", time.Duration(in.BeginNs).Round(time.Millisecond))
	switch {
	case in.Fault == "":
		return message.New("incident.outage", at)
	case in.Healing:
		return message.New("incident.healing", message.Text("fault", in.Fault), at)
	}
	return message.New("incident.fault", message.Text("fault", in.Fault), at)
}

// The ids of warnings about the account of outages.
const (
	WarnNoAccount   = "failover-refused"
	WarnUnconfirmed = "failover-unconfirmed"
	WarnOutageOwn   = "failover-invalid"
)

// assessFailover warns about the gaps in the account of outages.
func assessFailover(run *record.Run) (out []record.Warning) {
	f := run.Failover
	if f == nil {
		return nil
	}
	if !f.Refused.IsZero() && !f.Asked {
		out = append(out, record.NewWarning(WarnNoAccount, message.Nested("why", f.Refused)))
	}
	unconfirmed, invalid := 0, 0
	for i := range f.Incidents {
		if in := &f.Incidents[i]; in.Unconfirmed && in.Affected && !in.Cut {
			unconfirmed++
		}
		if f.Incidents[i].Invalid {
			invalid++
		}
	}
	if unconfirmed > 0 {
		out = append(out, record.NewWarning(WarnUnconfirmed, message.Count("n", unconfirmed),
			message.Span("hold", time.Duration(f.HoldNs))))
	}
	if invalid > 0 {
		out = append(out, record.NewWarning(WarnOutageOwn, message.Count("n", invalid)))
	}
	return out
}
