package verdict

import (
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// wrongWrites returns a failure for each kind of wrong write that reading back found: lost, duplicated, resurrected and
// unexpected ones.
func (j *judge) wrongWrites() (out []failure) {
	v := j.run.Verified
	if v == nil {
		return nil
	}
	sum := v.Sum()
	for i := range v.Divisions {
		d := &v.Divisions[i]
		out = append(out, failure{certain: true, text: message.New("verdict.split-brain", message.Text("a", d.A),
			message.Text("b", d.B), message.Count("onlya", d.OnlyA), message.Count("onlyb", d.OnlyB),
			message.Span("since", time.Duration(d.SinceNs).Round(time.Millisecond)))})
	}
	if sum.Lost > 0 {
		out = append(out, failure{certain: true, text: message.New("verdict.lost-writes", message.Count("n", sum.Lost),
			message.Nested("first", firstLost(v.Bad)))})
	}
	if v.LostMeanwhile > 0 {
		first := message.Message{}
		for i := range v.AfterFaults {
			if a := &v.AfterFaults[i]; first.IsZero() && a.Lost() {
				first = firstLost(a.Bad)
			}
		}
		out = append(out, failure{certain: true, text: message.New("verdict.lost-meanwhile",
			message.Count("n", v.LostMeanwhile), message.Nested("first", first))})
	}
	if sum.Stale > 0 {
		out = append(out, failure{certain: true, text: message.New("verdict.stale-writes", message.Count("n", sum.Stale))})
	}
	if others := wrong(&sum); len(others) > 0 {
		return append(out, failure{certain: true, text: message.New("verdict.wrong-writes",
			message.Nested("what", message.List(others...)))})
	}
	for i := range v.AfterFaults {
		a := &v.AfterFaults[i]
		of := a.Sum()
		if others := wrong(&of); len(others) > 0 {
			text := message.New("verdict.wrong-after-fault", message.Text("fault", a.Fault), message.Count("number", a.Number),
				message.Nested("what", message.List(others...)))
			return append(out, failure{certain: true, text: text})
		}
	}
	return out
}

// firstLost returns the description of the first lost write in the list; the zero message if there is none.
func firstLost(all []record.BadWrite) message.Message {
	for i := range all {
		if all[i].Fate == "lost" {
			return badWrite(&all[i])
		}
	}
	return message.Message{}
}

// wrong returns the wrong writes other than losses, counted by kind.
func wrong(o *record.VerifiedOperation) (out []message.Message) {
	if o.Duplicated > 0 {
		out = append(out, message.New("writes.duplicated", message.Count("n", o.Duplicated)))
	}
	if n := o.Resurrected + o.FailedThere; n > 0 {
		out = append(out, message.New("writes.resurrected", message.Count("n", n)))
	}
	if o.Unexpected > 0 {
		out = append(out, message.New("writes.unexpected", message.Count("n", o.Unexpected)))
	}
	return out
}

// violated returns a failure if the history of a register can't be explained.
func (j *judge) violated() []failure {
	if r := j.run.Registers; r != nil && r.Violated > 0 {
		return []failure{{certain: true, text: message.New("verdict.violated", message.Count("n", r.Violated),
			message.Count("of", r.Registers))}}
	}
	return nil
}

// badWrite returns the description of a write.
func badWrite(w *record.BadWrite) message.Message {
	fault := message.Message{}
	ahead := message.Span("ahead", time.Duration(w.AheadNs).Round(time.Millisecond))
	switch {
	case w.Fault == "":
	case w.AheadNs > 0:
		fault = message.New("writes.before-fault", message.Text("fault", w.Fault), ahead)
	default:
		fault = message.New("writes.during-fault", message.Text("fault", w.Fault))
	}
	return message.New("writes.first", message.Text("operation", w.Operation), message.Text("key", w.Key),
		message.Text("address", w.Address), message.Span("at", time.Duration(w.EndNs).Round(time.Millisecond)),
		message.Nested("fault", fault))
}

// unverified returns the reason why no write was verified although the run was to read its writes back.
func (j *judge) unverified() (out []message.Message) {
	v := j.run.Verified
	if v == nil || j.run.Interrupted {
		return nil
	}
	sum := v.Sum()
	switch unchecked := sum.Unchecked(); {
	case sum.Acknowledged == 0 && v.Reason.IsZero():
		out = append(out, message.New("verdict.no-writes"))
	case sum.Acknowledged == unchecked:
		out = append(out, message.New("verdict.nothing-verified", message.Count("n", unchecked),
			message.Nested("why", v.Reason)))
	}
	return out
}

// undecided returns the reason why no register was decided although the registers were to be checked.
func (j *judge) undecided() []message.Message {
	r := j.run.Registers
	if r == nil || j.run.Interrupted || r.Linearizable+r.Violated > 0 {
		return nil
	}
	return []message.Message{message.New("verdict.no-registers", message.Nested("why", r.Reason))}
}

// The ids of warnings about writes that were read back.
const (
	WarnUnchecked = "writes-unchecked"
	WarnUnread    = "writes-unread"
	WarnUndecided = "registers-undecided"
	// The ids of warnings about reading back after faults.
	WarnFaultUnchecked = "writes-unchecked-after-fault"
	WarnReturned       = "writes-returned"
)

// assessVerified warns about the gaps in what reading back has verified.
func assessVerified(run *record.Run) (out []record.Warning) {
	if r := run.Registers; r != nil && r.Undecided > 0 {
		out = append(out, record.NewWarning(WarnUndecided, message.Count("n", r.Undecided),
			message.Count("of", r.Registers)))
	}
	v := run.Verified
	if v == nil {
		return out
	}
	sum := v.Sum()
	if n := sum.Unchecked() + v.Unrecorded; n > 0 {
		out = append(out, record.NewWarning(WarnUnchecked, message.Count("n", n), message.Nested("why", v.Reason)))
	}
	out = append(out, assessReadings(v)...)
	for _, n := range v.Nodes {
		if n.Unread > 0 && n.Error != "" {
			out = append(out, record.NewWarning(WarnUnread, message.Text("address", n.Address), message.Count("n", n.Unread),
				message.Text("error", n.Error)))
		}
	}
	return out
}

// assessReadings warns about the gaps in what reading back after faults has verified.
func assessReadings(v *record.Verified) (out []record.Warning) {
	short, unread, returned, why := 0, uint64(0), uint64(0), message.Message{}
	for i := range v.AfterFaults {
		a := &v.AfterFaults[i]
		returned += a.Returned
		sum := a.Sum()
		left := sum.Unchecked() + a.Unrecorded
		if left == 0 && len(a.Operations) > 0 || a.Reason.ID == "verify.load-over" { // the last reading reads all
			continue
		}
		short++
		unread += left
		if why.IsZero() && !a.Reason.IsZero() {
			why = message.New("writes.why", message.Nested("why", a.Reason))
		}
	}
	if short > 0 {
		out = append(out, record.NewWarning(WarnFaultUnchecked, message.Count("n", short),
			message.Count("of", len(v.AfterFaults)), message.Count("writes", unread), message.Nested("why", why)))
	}
	if returned > 0 {
		out = append(out, record.NewWarning(WarnReturned, message.Count("n", returned)))
	}
	return out
}

// ExitCodeOfWrites returns the exit code of the program after reading writes back: 99 if a write is lost or wrong, or
// if addresses don't agree, 98 if none could be read, and 0 otherwise.
func ExitCodeOfWrites(v *record.Verified) int {
	sum := v.Sum()
	switch {
	case sum.Wrong()+sum.Stale+v.LostMeanwhile > 0, len(v.Divisions) > 0:
		return exitcode.Threshold
	case sum.Acknowledged == sum.Unchecked():
		return exitcode.Invalid
	}
	return exitcode.Pass
}
