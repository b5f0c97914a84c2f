package tank

import (
	"fmt"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// Intervals of workers become the seconds that autostop judges; short ones are added up.
func TestIntervalsBecomeSeconds(t *testing.T) {
	a := &afar{tags: []string{"a#1", "b"}}
	interval := func(lengthMs int64, ok, failed, refused int) *measure.Interval {
		iv := &measure.Interval{UnixNs: 7_200_000_000}
		iv.EndNs = lengthMs * 1_000_000
		iv.Pace.InFlightNs = float64(iv.EndNs) * 3
		iv.Operations = make([]measure.OperationAccount, 2)
		for i := range iv.Operations {
			o := &iv.Operations[i]
			o.Service, o.FailedResponse = measure.NewHistogram(), measure.NewHistogram()
			o.Service.RecordN(2_000_000, uint64(ok))
			o.FailedResponse.RecordN(9_000_000, uint64(failed+refused))
			o.Done = uint64(ok + failed + refused)
			o.Status[2], o.Status[5] = uint64(ok), uint64(failed)
			o.Errors[protocol.Server], o.Errors[protocol.Connect] = uint64(failed), uint64(refused)
		}
		return iv
	}
	if s := a.add(interval(500, 3, 0, 0)); s != nil {
		t.Fatal("half an interval is a second")
	}
	s := a.add(interval(500, 1, 2, 1))
	if s == nil {
		t.Fatal("two halves are no second")
	}
	if got := fmt.Sprint(s.ts, s.all.proto, s.all.net, len(s.all.realUs), s.instances); got !=
		"7 map[0:2 200:8 500:4] map[0:12 111:2] 14 3" {
		t.Errorf("all: %s", got)
	}
	f := s.of("a")
	if f == nil || len(f.realUs) != 7 || f.proto[500] != 2 {
		t.Errorf("tag a: %v", f)
	}
	if got := percentile(s.all.realUs, 50) / 1000; got < 1.99 || got > 2.01 {
		t.Errorf("the median is %g ms, want 2", got)
	}
	if a.end() != nil {
		t.Error("a second without requests")
	}
}

func TestMasksOfClasses(t *testing.T) {
	for text, want := range map[string]bool{"5xx": true, "xxx": true, "[45]xx": true, "xx": true, "0": true, "503": false,
		"50x": false, "x00": false} {
		c, err := parseCodes(text, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.coarse() == nil; got != want {
			t.Errorf("%s names whole classes: %v, want %v", text, got, want)
		}
	}
}
