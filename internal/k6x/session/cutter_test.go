package session

import "testing"

// A cut that fell due before the end may get the lock after it: then nothing is cut any more.
func TestNothingIsCutAfterTheEnd(t *testing.T) {
	s := begun(t, "closed")
	s.loadBegan(s.Now())
	s.Settled()
	c := &s.cutter
	<-c.stopped
	end := c.fromNs
	c.due(end + int64(interval))
	if c.fromNs != end {
		t.Errorf("an interval was cut up to %d ns, after the end at %d ns", c.fromNs, end)
	}
	if err := s.Close(Outcome{}); err != nil {
		t.Error(err)
	}
}
