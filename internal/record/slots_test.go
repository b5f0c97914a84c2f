package record

import (
	"reflect"
	"testing"

	"brunt/internal/measure"
)

func TestSlotsComeBack(t *testing.T) {
	want := measure.ArrivalSlots{Operation: 1, Address: measure.NoAddress, Slots: []measure.Slot{
		{Index: 0, Good: 1},
		{Index: 1, Bad: 4, Failed: 2, Unknown: 1, Waited: 1, Retried: 3, WaitNs: 1 << 40, SeenNs: 1<<21 + 5},
		{Index: 700, Good: 1<<32 - 1, Retried: 1},
		{Index: 701, Own: 7},
		{Index: 900, Good: 1, Own: 1, LastGood: 1 << 21},
		{Index: 950, Good: 2, Bad: 1, SeenNs: 951 << 21, LastGood: 1, LastBad: 900},
	}}
	lines := arrivalLines([]measure.ArrivalSlots{want})
	got, err := lines[0].decode(2, 0)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzSlots(f *testing.F) {
	f.Add(appendSlots(nil, []measure.Slot{{Index: 3, Good: 1}, {Index: 9, Bad: 2, Failed: 1, WaitNs: 7, SeenNs: 9 << 22}}))
	f.Add([]byte{2, 1, 1, 2, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		line := arrivalLine{Slots: data, Own: data[len(data)/2:], Last: data[len(data)/3:]}
		got, err := line.decode(1, 1)
		if err != nil {
			return
		}
		line.Slots, line.Own, line.Last = appendSlots(nil, got.Slots), appendOwn(nil, got.Slots), appendLast(nil, got.Slots)
		again, err := line.decode(1, 1)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%+v became %+v, %v", got, again, err)
		}
	})
}
