package http

import (
	"testing"
	"time"

	"brunt/internal/protocol"
)

// The parts of a request's time are right in any order of net/http's reports: an answer may begin, and end, before the
// request is reported as written.
func TestPartsOfARequestThatIsAnsweredEarly(t *testing.T) {
	begun := time.Now().Add(-time.Second)
	after := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		name            string
		wrote, first    time.Time
		writeMs, waitMs int64
		answered        bool
	}{
		{"in order", after(110), after(130), 10, 20, true},
		{"written last", after(140), after(130), 30, 0, true},
		{"never written", time.Time{}, after(130), 30, 0, true},
		{"never answered", after(110), time.Time{}, 10, 0, false},
		{"broken at once", time.Time{}, time.Time{}, 0, 0, false},
	} {
		w := &tracing{connect: begun, write: after(100), wrote: c.wrote, first: c.first}
		p := protocol.Parts{BodyBytes: 7}
		w.end(&p)
		const ms = int64(time.Millisecond)
		if p.ConnectNs != 100*ms || p.WriteNs != c.writeMs*ms || p.WaitNs != c.waitMs*ms || p.BodyBytes != 7 ||
			(p.ReadNs >= 870*ms) != c.answered {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}
