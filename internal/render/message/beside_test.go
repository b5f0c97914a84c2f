package message

import (
	"encoding/json"
	"math"
	"testing"
)

// A value that breaks a limit never reads like the limit.
func TestFiguresBesideALimitShowTheDifference(t *testing.T) {
	for name, c := range map[string]struct {
		x, limit float64
		unit     string
		want     string
	}{
		"rate":      {198.7, 199, "per_s", "198.7/s"},
		"closer":    {198.96, 199, "per_s", "198.96/s"},
		"far":       {150.2, 199, "per_s", "150/s"},
		"latency":   {20_000_400, 20e6, "ns", "20.0004 ms"},
		"share":     {0.0100004, 0.01, "fraction", "1.00004 %"},
		"count":     {1001, 1000, "count", "1,001"},
		"infinite":  {math.Inf(1), 20e6, "ns", "∞"},
		"the limit": {199, 199, "per_s", "199/s"},
	} {
		t.Run(name, func(t *testing.T) {
			a := Beside("value", c.x, c.limit, c.unit)
			if got := a.in(""); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			m := New("threshold.broken", Text("threshold", "x"), a)
			data, err := json.Marshal(m.value())
			if err != nil {
				t.Fatal(err)
			}
			var v Value
			if err := json.Unmarshal(data, &v); err != nil {
				t.Fatal(err)
			}
			if again, err := v.message(); err != nil || again.String() != m.String() {
				t.Errorf("read back as %q, %v; want %q", again.String(), err, m.String())
			}
		})
	}
}
