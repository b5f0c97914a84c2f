package main

import (
	"strings"
	"testing"
	"time"
)

func TestFlatness(t *testing.T) {
	for _, c := range []struct {
		seen   []uint64
		run    time.Duration
		swings bool
		want   string
	}{
		{[]uint64{1000, 1050, 1010}, 3 * time.Minute, false, "most 1050 kB since: +5.0 %; within 5 %: yes"},
		{[]uint64{1000, 1051, 1010}, 3 * time.Minute, false, "+5.1 %; within 5 %: no"},
		{[]uint64{1000}, 50 * time.Second, false, "too short to tell"},
		{[]uint64{1000, 1200, 1000, 1200}, 3 * time.Minute, true,
			"from 1000 to 1200 kB, on average 1100 kB in the earlier half and 1100 in the later: +0.0 %; within 5 %: yes"},
		{[]uint64{1000, 1000, 1060, 1060}, 3 * time.Minute, true, "+6.0 %; within 5 %: no"},
	} {
		if got := flatness(c.seen, int64(c.run), c.swings); !strings.Contains(got, c.want) {
			t.Errorf("%v over %v: %q, want %q", c.seen, c.run, got, c.want)
		}
	}
}
