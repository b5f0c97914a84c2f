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

func TestFootprint(t *testing.T) {
	const rollup = `00400000-7ffd0e83e000 ---p 00000000 00:00 0                              [rollup]
Rss:               95504 kB
Pss:               62392 kB
Pss_Anon:          17636 kB
Anonymous:         17639 kB
`
	if got := footprintOf([]byte(rollup)); got != (footprint{RSS: 95504, Anonymous: 17639}) {
		t.Errorf("%+v", got)
	}
}

func TestJMeterSummary(t *testing.T) {
	out := "summary +    100 in 00:00:05 =   20.0/s Avg:     6 Min:     0 Max:   137 Err:     0 (0.00%)\n" +
		"summary =    100 in 00:00:05 =   20.0/s Avg:     6 Min:     0 Max:   137 Err:     0 (0.00%)\n" +
		"summary =    345 in 00:00:10 =   34.1/s Avg:     6 Min:     0 Max:   137 Err:     0 (0.00%)\nTidying up\n"
	if all, failed, err := jmeterSummary(out); all != 345 || failed != 0 || err != nil {
		t.Errorf("%d, %d, %v", all, failed, err)
	}
	out += "summary =    346 in 00:00:10 =   34.1/s Avg:     6 Min:     0 Max:   137 Err:     1 (0.29%)\n"
	if _, _, err := jmeterSummary(out); err == nil {
		t.Error("a failed sample is no error")
	}
	if _, _, err := jmeterSummary("nothing"); err == nil {
		t.Error("no summary is no error")
	}
}
