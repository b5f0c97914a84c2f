package schedule

import (
	"slices"
	"sync"
	"testing"
)

// A shape that grows piece by piece has the same arrivals as one that is known from the start.
func TestGrowingIsLikeFixed(t *testing.T) {
	const third = 333_333_333
	rates := []float64{100, 0, 733.5, 20, 0, 0, 4000, 1, 250}
	var segments []Segment
	for _, r := range rates {
		segments = append(segments, Segment{third, r, r})
	}
	fixed := mustShape(t, 0, segments...)
	for name, p := range map[string]Process{"uniform": Uniform, "poisson": Poisson} {
		t.Run(name, func(t *testing.T) {
			want := collect(fixed.Arrivals(p, 11))
			g := NewGrowing(int64(len(rates)) * third)
			stage := Stage{Shape: g.Shape(), Process: p, Seed: 11, StartNs: 5}
			var got []int64
			s, _ := stage.Arrivals(stage.Part.Worker(0, 1), 1<<60)
			for i, rate := range rates {
				if s.Known() {
					t.Fatalf("before segment %d an arrival at %d is known", i, s.IntendedNs)
				}
				if want := g.ReachesNs() + 5; s.IntendedNs != want {
					t.Fatalf("the shape reaches to %d, want %d", s.IntendedNs, want)
				}
				if err := g.Extend(int64(i+1)*third, rate); err != nil {
					t.Fatal(err)
				}
				for s.Known() && !s.Over {
					got = append(got, s.IntendedNs-5)
					s.Advance()
				}
			}
			if !s.Over || s.Waits {
				t.Fatal("the shape is complete, and more is waited for")
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d arrivals %v…, want %d %v…", len(got), got[:5], len(want), want[:5])
			}
		})
	}
}

// The stripes of several owners share the arrivals while the shape grows.
func TestGrowingStripes(t *testing.T) {
	const owners, seconds = 3, 200
	g := NewGrowing(seconds * nsPerS)
	stage := Stage{Shape: g.Shape(), Process: Poisson, Seed: 1}
	got := make([][]uint64, owners)
	var wait sync.WaitGroup
	for i := range owners {
		wait.Go(func() {
			for s, _ := stage.Arrivals(stage.Part.Worker(uint64(i), owners), 1<<60); ; {
				if !s.Known() {
					continue
				}
				if s.Over {
					return
				}
				got[i] = append(got[i], s.Number)
				s.Advance()
			}
		})
	}
	for i := range int64(seconds) {
		if err := g.Extend((i+1)*nsPerS, float64(i%7)*10); err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
	all := slices.Concat(got...)
	slices.Sort(all)
	for i, n := range all {
		if uint64(i) != n {
			t.Fatalf("arrival %d is missing or taken twice", i)
		}
	}
	if want := len(collect(stage.Shape.Arrivals(Poisson, 1))); len(all) != want || want == 0 {
		t.Errorf("%d arrivals, want %d", len(all), want)
	}
}

func TestExtend(t *testing.T) {
	g := NewGrowing(10)
	for _, c := range []struct {
		name    string
		until   int64
		rate    float64
		reaches int64
		fails   bool
	}{
		{"begins", 4, 1, 4, false},
		{"is there already", 3, 5, 4, false},
		{"a negative rate", 6, -1, 4, true},
		{"goes on", 6, 0, 6, false},
		{"ends with the shape", 99, 2, 10, false},
		{"is over", 100, 2, 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := g.Extend(c.until, c.rate); (err != nil) != c.fails {
				t.Errorf("Extend: %v", err)
			}
			if got := g.ReachesNs(); got != c.reaches {
				t.Errorf("it reaches to %d, want %d", got, c.reaches)
			}
		})
	}
	if g.Shape().DurationNs() != 10 || g.Shape().LastsNs() != 10 {
		t.Error("a growing shape doesn't last as long as it says")
	}
}
