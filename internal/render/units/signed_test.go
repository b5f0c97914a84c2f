package units

import (
	"math"
	"testing"
)

func TestSignedNumbersThatAreNone(t *testing.T) {
	for x, want := range map[float64]string{math.Inf(1): "+∞", math.Inf(-1): "−∞", 1.5: "+1.50"} {
		if got := Signed(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
	if got := Value(math.Inf(1), "change"); got != "+∞ %" && got != "+∞%" {
		t.Errorf("an infinite change is %q", got)
	}
}
