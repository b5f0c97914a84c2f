package svg

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"brunt/internal/render/units"
)

func valid(t *testing.T, name, picture string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, picture)
		}
	}
}

// For any data, charts are valid and contain no NaN, and names can't inject markup.
func TestPicturesAreValid(t *testing.T) {
	evil := `</title><script>alert("x")</script>&`
	nan, inf := math.NaN(), math.Inf(1)
	for _, f := range []Frame{{Title: evil, X: Axis{Unit: "clock"}, Y: Axis{Unit: "ns", Log: true}},
		{Y: Axis{Label: evil, Unit: "bytes"}, Language: units.Russian}, {X: Axis{Log: true}, Width: 300, Height: 100}} {
		for name, y := range map[string][]float64{
			"none": nil, "one": {5}, "zero": {0, 0, 0}, "odd": {nan, inf, 3, nan, 7e9}, "nothing": {nan, nan},
			"negative": {-5, 3, 1e-9},
		} {
			x := make([]float64, len(y))
			for i := range x {
				x[i] = float64(i)
			}
			pictures := map[string]string{
				"lines": Lines(f, []Series{{Name: evil, X: x, Y: y, Low: y, High: y, Dots: true}, {Name: "b", X: x, Y: y}},
					[]Band{{From: 0, To: 2, Label: evil, Kind: "fault"}, {From: 1, To: 1}}),
				"stack":       Stack(f, []Series{{Name: evil, X: x, Y: y}, {X: x, Y: y}}, nil),
				"percentiles": Percentiles(f, []Curve{{Name: evil, Q: slices.Repeat([]float64{0.5}, len(y)), Values: y}}),
				"matrix":      Matrix(f, []string{evil, "b"}, []string{"c", evil}, [][]float64{y, nil}),
				"heat":        HeatMap(f, Heat{}, nil),
			}
			var bars []Bar
			for _, v := range y {
				bars = append(bars, Bar{Label: evil, Value: v, Low: v, High: v + 1})
			}
			pictures["bars"] = Bars(f, bars)
			var changes []Change
			for _, v := range y {
				changes = append(changes, Change{Name: evil, Value: v, Low: v - 1, High: v + 1, Tolerance: 0.05, Figure: evil})
			}
			pictures["changes"] = Changes(f, append(changes, Change{Low: nan, High: nan}))
			for kind, picture := range pictures {
				valid(t, kind+" of "+name, picture)
				for _, bad := range []string{"NaN", "Inf", "<script"} {
					if strings.Contains(strings.ReplaceAll(picture, "∞", ""), bad) {
						t.Errorf("%s of %s holds %s: %s", kind, name, bad, picture)
					}
				}
			}
		}
	}
	valid(t, "heat", HeatMap(Frame{Title: evil}, Heat{X: []float64{0, 1, 2}, Y: []float64{1e3, 1e4, 1e5},
		Columns: [][]uint64{{1, 0}, {0, 1e6}}}, nil))
}

func TestExtremesKeepPeaksAndDips(t *testing.T) {
	n := 100_000
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(i), 100
	}
	y[12_345], y[67_890], y[0], y[n-1] = 1e6, 0, 7, 8
	outX, outY := Extremes(x, y, 500)
	if len(outX) > 4*501 || len(outX) != len(outY) || !slices.IsSorted(outX) {
		t.Errorf("%d points", len(outX))
	}
	for _, v := range []float64{1e6, 0, 7, 8} {
		if !slices.Contains(outY, v) {
			t.Errorf("%g is lost", v)
		}
	}
}

func TestTicksAreRoundAndWithinTheScale(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{}, []float64{3, 97}, "0 20 40 60 80 100"},
		{Axis{Unit: "per_s"}, []float64{2411}, "0/s 500/s 1,000/s 1,500/s 2,000/s 2,500/s"},
		{Axis{Unit: "ns", Log: true}, []float64{13_000, 53e6}, "10 µs 100 µs 1 ms 10 ms 100 ms"},
		{Axis{Unit: "share"}, []float64{0.12}, "0 % 5 % 10 % 15 %"},
		{Axis{Unit: "bytes"}, []float64{77 << 20}, "0 B 20 MiB 40 MiB 60 MiB"},
		{Axis{}, []float64{0, 0}, "0 0.2 0.4 0.6 0.8 1"},
	} {
		s := scaleOf(c.axis, c.values)
		var got []string
		for _, v := range s.ticks(5) {
			if v < s.low*(1-1e-9) || v > s.high*(1+1e-9) {
				t.Errorf("tick %g beyond %g to %g", v, s.low, s.high)
			}
			got = append(got, tickText(units.English, v, c.axis.Unit))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %q, want %q", c.values, strings.Join(got, " "), c.want)
		}
	}
	if got := fmt.Sprint(clockTicks(scale{low: 0, high: 600}, 6)); got != "[0 120 240 360 480 600]" {
		t.Errorf("ten minutes: %s", got)
	}
	for s, want := range map[float64]string{0: "0:00", 7: "0:07", 754: "12:34", 3723: "1:02:03", 1.5: "0:01.5"} {
		if got := Clock(s); got != want {
			t.Errorf("Clock(%g) = %q, want %q", s, got, want)
		}
	}
}

// Lines of one side of a comparison have the same colour and different dashes, also in the legend.
func TestLinesOfASideShareAColour(t *testing.T) {
	lines := []Series{{Name: "A 1", X: []float64{0, 1}, Y: []float64{1, 2}, Color: 1},
		{Name: "A 2", X: []float64{0, 1}, Y: []float64{2, 3}, Color: 1}, {Name: "B", X: []float64{0, 1}, Y: []float64{3, 4},
			Color: 2}}
	curves := []Curve{{Name: "A 1", Q: []float64{0.5}, Values: []float64{5}, Color: 1},
		{Name: "A 2", Q: []float64{0.5}, Values: []float64{5}, Color: 1}, {Name: "B", Q: []float64{0.5}, Values: []float64{5},
			Color: 2}}
	for name, picture := range map[string]string{"lines": Lines(Frame{}, lines, nil),
		"percentiles": Percentiles(Frame{}, curves)} {
		t.Run(name, func(t *testing.T) {
			// one for the line and one for its mark in the legend
			for color, want := range map[string]int{color(0): 4, color(1): 2, color(2): 0} {
				if got := strings.Count(picture, `stroke="`+color+`"`); got != want {
					t.Errorf("%d strokes in %s, want %d:\n%s", got, color, want, picture)
				}
			}
		})
	}
}

// Names that differ only at their ends still differ after they are shortened.
func TestLabelsKeepTheirEnds(t *testing.T) {
	long := strings.Repeat("a long name ", 10)
	picture := Bars(Frame{}, []Bar{{Label: long + "first", Value: 1}, {Label: long + "last", Value: 2}})
	for _, end := range []string{"first</text>", "last</text>"} {
		if !strings.Contains(picture, end) {
			t.Errorf("no label ends with %s: %s", end, picture)
		}
	}
}
