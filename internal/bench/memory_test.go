package main

import (
	"strings"
	"testing"
	"time"
)

func TestFlatness(t *testing.T) {
	for _, c := range []struct {
		seen []uint64
		run  time.Duration
		want string
	}{
		{[]uint64{1000, 1050, 1010}, 3 * time.Minute, "most 1050 kB since: +5.0 %; within 5 %: yes"},
		{[]uint64{1000, 1051, 1010}, 3 * time.Minute, "+5.1 %; within 5 %: no"},
		{[]uint64{1000}, 50 * time.Second, "too short to tell"},
	} {
		if got := flatness(c.seen, int64(c.run)); !strings.Contains(got, c.want) {
			t.Errorf("%v over %v: %q, want %q", c.seen, c.run, got, c.want)
		}
	}
}
