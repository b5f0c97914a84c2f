package session

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestTargetsOfTheCollector(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 10 << 20: 400, 64 << 20: 400, 128 << 20: 200, 256 << 20: 100,
		10 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d bytes in use: %d %%, want %d", live, got, want)
		}
	}
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "50")
	var c gcTuner
	c.set()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("set by the user: %d %%", got)
	}
	t.Setenv("GOGC", "")
	runtime.GC()
	c.set()
	if got := debug.SetGCPercent(77); got != mostGCPercent {
		t.Errorf("a small heap: %d %%", got)
	}
}
