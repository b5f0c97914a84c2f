package inspect

import (
	"math"
	"testing"
)

func TestActivityPointsAreJoined(t *testing.T) {
	a := NewActivity()
	for k := range 3*mostPoints + 7 {
		a.point(0, map[string]float64{"CPU": float64(k % 2)})
	}
	n, sum := 0, 0.0
	for _, p := range a.points {
		n += p.Samples
		sum += p.Classes["CPU"] * float64(p.Samples)
	}
	if len(a.points) > mostPoints || n != 3*mostPoints+7 || math.Abs(sum-float64(n/2)) > 1e-6 {
		t.Errorf("%d points of %d samples, %v", len(a.points), n, sum)
	}
}
