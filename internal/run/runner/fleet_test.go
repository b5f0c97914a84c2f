package runner

import (
	"runtime/debug"
	"testing"

	"brunt/internal/plan"
	"brunt/internal/record"
)

func TestCollectorIsPutBack(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(77)
		debug.SetGCPercent(p)
		return p
	}
	for _, c := range []struct {
		tier    string
		scripts bool
		want    int
	}{
		{"library", false, loadGCPercent}, {"library", true, loadGCPercent}, {"codec", false, loopGCPercent},
		{"codec", true, scriptGCPercent},
	} {
		restore := tuneGC(&record.Run{Tier: c.tier}, c.scripts)
		if got := percent(); got != c.want {
			t.Errorf("%s, scripts %v: %d %%, want %d", c.tier, c.scripts, got, c.want)
		}
		restore()
		if got := percent(); got != 77 {
			t.Errorf("after %s: %d %%", c.tier, got)
		}
	}
	t.Setenv("GOGC", "50")
	restore := tuneGC(&record.Run{Tier: plan.TierLibrary}, false)
	defer restore()
	if got := percent(); got != 77 {
		t.Errorf("set by the user: %d %%", got)
	}
}
