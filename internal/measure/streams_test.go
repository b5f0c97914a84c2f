package measure

import (
	"math/rand/v2"
	"testing"

	"brunt/internal/protocol"
)

// The times of streams' messages are those of a histogram that has them one by one, in the interval and in the total.
// Operations without streams have none.
func TestTimesOfStreams(t *testing.T) {
	c := NewCollector(2, 1)
	recorders := []*Recorder{c.NewRecorder(), c.NewRecorder()}
	polling(c, recorders...)
	r := rand.New(rand.NewPCG(1, 2))
	first, between := NewHistogram(), NewHistogram()
	var all uint64
	for i := range 200 {
		reply := &protocol.Reply{}
		for k := range 1 + i%7 {
			ns := int64(r.ExpFloat64() * 1e6)
			if reply.StreamMessage(ns); k == 0 {
				first.Record(ns)
			} else {
				between.Record(ns)
			}
			all++
		}
		sent := int64(i) * 1000
		s := &Sample{Sent: sent, Intended: sent, End: sent + 500, Facts: protocol.Facts{Stream: reply.Stream}}
		recorders[i%2].Record(s)
		s.Operation, s.Facts = 1, protocol.Facts{}
		recorders[i%2].Record(s)
	}
	iv := c.Cut(1e6, Meta{Kind: KindClosed})
	for _, a := range []*Account{&iv.Account, c.Total()} {
		o, none := &a.Operations[0], &a.Operations[1]
		mustEqual(t, o.StreamFirst, first)
		mustEqual(t, o.StreamBetween, between)
		if o.Streams != 200 || o.StreamMessages != all || float64(o.StreamFirstNs) != first.Sum() ||
			float64(o.StreamBetweenNs) != between.Sum() {
			t.Errorf("counted %+v", o.Counts)
		}
		if none.StreamFirst != nil || none.StreamBetween != nil || none.Streams != 0 {
			t.Errorf("an operation without streams has times of their messages")
		}
	}
	if iv := c.Cut(2e6, Meta{Kind: KindClosed}); iv.Operations[0].StreamFirst.Count() != 0 ||
		iv.Operations[0].StreamBetween.Count() != 0 {
		t.Error("the next interval has the times of the last one")
	}
}
