package measure

import (
	"testing"

	"brunt/internal/protocol"
)

// Every arrival is counted in the slot of its intended start, for any fate and any recorder.
func TestArrivalsAreKeptByIntendedStart(t *testing.T) {
	const ms = 1_000_000
	c := NewCollector(2, 2)
	c.KeepArrivals(100 * ms)
	a, b := c.NewRecorder(), c.NewShared()
	c.SetWait(func(int) bool {
		a.Poll()
		return true
	})
	at := int64(5000 * ms)
	slot := at >> slotShift
	sample := Sample{Operation: 1, Address: 1, Open: true, Intended: at, Ready: 1, Sent: at, End: at + 100*ms, Attempts: 1}
	a.Record(&sample) // in time
	b.Record(&sample)
	sample.End, sample.Attempts = at+101*ms, 3 // late, and tried again
	a.Record(&sample)
	sample.Class, sample.End = protocol.UnknownOutcome, at+50*ms
	b.Record(&sample)
	a.UnfinishedAt(1, 1, at, at+200*ms)
	a.GiveUpAt(1, UnsentNoSession, at-2000*ms, at)
	a.UnfinishedAt(1, 1, never, at) // of a closed load, not sent

	iv := c.Cut(10_000*ms, Meta{Kind: KindOpen})
	if len(iv.Arrivals) != 2 {
		t.Fatalf("%+v", iv.Arrivals)
	}
	got := iv.Arrivals[0]
	want := Slot{Index: slot, Good: 2, Bad: 3, Failed: 1, Unknown: 1, Waited: 1, Retried: 2, WaitNs: 351 * ms,
		SeenNs: at + 50*ms, LastGood: uint32(at-slot<<slotShift) + 1, LastBad: uint32(at-slot<<slotShift) + 1}
	if got.Operation != 1 || got.Address != 1 || len(got.Slots) != 1 || got.Slots[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	unsent := iv.Arrivals[1]
	if unsent.Operation != 1 || unsent.Address != NoAddress || len(unsent.Slots) != 1 ||
		unsent.Slots[0].Index != (at-2000*ms)>>slotShift || unsent.Slots[0].Bad != 1 {
		t.Errorf("%+v", unsent)
	}
	if iv = c.Cut(11_000*ms, Meta{Kind: KindOpen}); len(iv.Arrivals) != 0 {
		t.Errorf("told twice: %+v", iv.Arrivals)
	}
}

// When the last arrivals of a slot were due is known for those before a silence, and at the end of an interval.
func TestLastArrivalsBeforeASilence(t *testing.T) {
	c := NewCollector(1, 1)
	c.KeepArrivals(1e6)
	r := c.NewShared()
	for _, slot := range []int64{3, 4, 4 + Silence, 4 + 2*Silence + 1} {
		for place, class := range map[int64]protocol.Class{5: protocol.OK, 7: protocol.OK, 9: protocol.Server} {
			at := slot<<slotShift + place
			r.Record(&Sample{Intended: at, Sent: at, End: at + 1, Attempts: 1, Class: class})
		}
	}
	all := c.Cut(1e9, Meta{Kind: KindClosed}).Arrivals[0].Slots
	for i, known := range []bool{false, false, true, true} {
		var good, bad uint32
		if known {
			good, bad = 8, 10
		}
		if s := &all[i]; s.Good != 2 || s.Bad != 1 || s.LastGood != good || s.LastBad != bad {
			t.Errorf("slot %d: %+v, want known %v", i, s, known)
		}
	}
}

// Arrivals for which there is no page are counted, such as those of an interval with more than a quarter of an hour of
// intended starts.
func TestArrivalsBeyondAllRoomAreCounted(t *testing.T) {
	c := NewCollector(1, 1)
	c.KeepArrivals(1)
	r := c.NewRecorder()
	c.SetWait(func(int) bool {
		r.Poll()
		return true
	})
	for page := range int64(mostPages + 7) {
		r.GiveUpAt(0, UnsentLoadOver, page*pageSlots*SlotNs, 0)
	}
	if iv := c.Cut(1e9, Meta{}); iv.ArrivalsLost != 7 || len(iv.Arrivals[0].Slots) != mostPages {
		t.Errorf("%d lost, %d kept", iv.ArrivalsLost, len(iv.Arrivals[0].Slots))
	}
	if iv := c.Cut(2e9, Meta{}); iv.ArrivalsLost != 0 {
		t.Errorf("lost twice: %d", iv.ArrivalsLost)
	}
}

// Arrivals of intervals that wait for space on the disk are not kept in memory, and the interval says that they are
// lost.
func TestExtendedIntervalsLoseArrivals(t *testing.T) {
	one := Interval{Phase: "a", Arrivals: []ArrivalSlots{{Slots: []Slot{{Index: 1, Good: 3, Bad: 2}}}}}
	one.Intervals = 1
	var sum Interval
	if !sum.Extend(&one) || sum.ArrivalsLost != 5 || sum.Arrivals != nil {
		t.Errorf("%d lost, kept %+v", sum.ArrivalsLost, sum.Arrivals)
	}
}

func TestAddArrivals(t *testing.T) {
	slots := func(all ...Slot) []Slot { return all }
	a := Interval{Arrivals: []ArrivalSlots{{0, 0, slots(Slot{Index: 1, Good: 1}, Slot{Index: 4, Bad: 1, SeenNs: 9})}}}
	b := Interval{Arrivals: []ArrivalSlots{
		{1, 0, slots(Slot{Index: 1, Good: 2}, Slot{Index: 2, Good: 5}, Slot{Index: 4, Bad: 1, SeenNs: 7})},
		{1, NoAddress, slots(Slot{Index: 1, Bad: 1})},
	}}
	a.AddArrivals(&b, []int{7, 0}, []int{0})
	if len(a.Arrivals) != 2 || a.Arrivals[1].Address != NoAddress || a.Arrivals[1].Operation != 0 {
		t.Fatalf("%+v", a.Arrivals)
	}
	got := a.Arrivals[0].Slots
	if len(got) != 3 || got[0].Good != 3 || got[1] != (Slot{Index: 2, Good: 5}) ||
		got[2] != (Slot{Index: 4, Bad: 2, SeenNs: 7}) {
		t.Errorf("%+v", got)
	}
}
