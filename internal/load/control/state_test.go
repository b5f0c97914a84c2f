package control

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// A controller that is restored from a state decides what the other one would have decided.
func TestARestoredControllerDecidesTheSame(t *testing.T) {
	for _, method := range Methods() {
		t.Run(method, func(t *testing.T) {
			spec := Spec{Method: method, StartPerS: 100, MinPerS: 1, MaxPerS: 1e6, Goal: 0.05, Tolerance: 2, DelayS: 0.1,
				MaxErrors: 0.05}
			c := New(spec)
			c.First()
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 200 {
				text, err := json.Marshal(c.State())
				if err != nil {
					t.Fatal(err)
				}
				var s State
				if err := json.Unmarshal(text, &s); err != nil {
					t.Fatal(err)
				}
				other := New(spec)
				other.Restore(s)
				rate := c.state.RatePerS
				o := Observation{IntervalS: 1, RatePerS: rate, DonePerS: rate, Value: 0.1 * random.Float64(),
					Waiting: math.Trunc(random.Float64() * rate / 8), Errors: 0.055 * random.Float64()}
				want, got := c.Next(o), other.Next(o)
				if got != want {
					t.Fatalf("decision %d is %+v after %s, want %+v", i, got, text, want)
				}
			}
		})
	}
}
