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
	for tier, want := range map[string]int{"library": loadGCPercent, "codec": loopGCPercent} {
		restore := tuneGC(&record.Run{Tier: tier})
		if got := percent(); got != want {
			t.Errorf("%s: %d %%, want %d", tier, got, want)
		}
		restore()
		if got := percent(); got != 77 {
			t.Errorf("after %s: %d %%", tier, got)
		}
	}
	t.Setenv("GOGC", "50")
	restore := tuneGC(&record.Run{Tier: plan.TierLibrary})
	defer restore()
	if got := percent(); got != 77 {
		t.Errorf("set by the user: %d %%", got)
	}
}
