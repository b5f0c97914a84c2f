package units

import (
	"math"
	"testing"
	"time"
)

func TestLatencyUnits(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0", 1: "1 ns", 999: "999 ns", 999.6: "1.00 µs", 1000: "1.00 µs", 1234: "1.23 µs", 9994: "9.99 µs",
		9996:   "10.0 µs",
		99_960: "100 µs", 123_456: "123 µs", 999_499: "999 µs", 999_500: "1.00 ms", 1_234_567: "1.23 ms",
		45_678_901:  "45.7 ms",
		999_999_999: "1.00 s", 12_345_678_901: "12.3 s", 5e12: "5000 s", math.Inf(1): "∞",
	} {
		if got := Latency(ns); got != want {
			t.Errorf("Latency(%g) = %q, want %q", ns, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 450 * time.Millisecond: "450 ms", time.Second: "1 s", 12300 * time.Millisecond: "12.3 s",
		10 * time.Second:       "10 s",
		100 * time.Millisecond: "100 ms", 90 * time.Second: "1 m 30 s", time.Hour: "1 h", 2*time.Hour +
			5*time.Minute: "2 h 5 m",
		25*time.Hour + time.Minute: "1 d 1 h", 59*time.Second + 999*time.Millisecond: "60 s",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(1234567): "1,234,567",
		Rate(0.123): "0.12", Rate(12.345): "12.3", Rate(999.4): "999", Rate(999.7): "1,000", Rate(1234567.8): "1,234,568",
		Percent(0, 10): "0 %", Percent(1, 10_000_000): "< 0.001 %", Percent(1, 3): "33.3 %",
		Percent(9999, 10_000): "> 99.9 %",
		Percent(5, 5):         "100 %", Percent(1, 0): "0 %", Fraction(1.5): "150 %", Percent(15, 72_500): "0.021 %",
		Size(512): "512 B", Size(48 << 20): "48.0 MiB", Size(1 << 40): "1.00 TiB", Size(1023): "1.00 KiB",
		Plural(1, "row", "rows"): "1 row", Plural(uint64(2000), "row", "rows"): "2,000 rows",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The greatest int64 of nanoseconds means infinity.
func TestInfinity(t *testing.T) {
	if got := LatencyInt(int64(math.MaxInt64)); got != "∞" {
		t.Errorf("got %q", got)
	}
}

// Figures with intervals have enough digits to show their difference.
func TestDigitsFollowTheStep(t *testing.T) {
	for _, c := range []struct {
		v, step float64
		unit    string
		want    string
	}{
		{1.0135e9, 0.7e6, "ns", "1.0135 s"}, {1.0135e9, 7e6, "ns", "1.014 s"}, {1.0135e9, 0.2e9, "ns", "1.01 s"},
		{998.4e6, 0.7e6, "ns", "998.4 ms"}, {1.0135e9, 0, "ns", "1.01 s"}, {math.Inf(1), 1, "ns", "∞"}, {0, 1, "ns", "0"},
		{12, 0.1, "ns", "12 ns"}, {1234.56, 0.3, "per_s", "1,234.6/s"}, {1234.56, 30, "per_s", "1,235/s"},
		{12.3456, 0.002, "per_s", "12.346/s"}, {0.0123456, 0.00002, "share", "1.235 %"}, {5, 0.1, "count", "5"},
		{1.5, 0.0001, "seconds", "1.5000 s"}, {1e9, 1e-30, "ns", "1.000000000 s"},
	} {
		if got := To(c.v, c.step, c.unit); got != c.want {
			t.Errorf("To(%g, %g, %s) = %q, want %q", c.v, c.step, c.unit, got, c.want)
		}
	}
	if got := Russian.Figure(To(1234.56, 0.3, "per_s")); got != "1\u00a0234,6/с" {
		t.Errorf("in Russian %q", got)
	}
}

// Differences of shares are in percentage points, not in percent.
func TestPoints(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Value(0.0123, "points"), "+1.23 pp"}, {Value(-0.5, "points"), "−50.0 pp"},
		{Russian.Value(0.0123, "points"), "+1,23\u00a0п.\u00a0п."},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// Text from other sources can't change the direction of a line or hide parts of it.
func TestClean(t *testing.T) {
	for _, mark := range "\u061c\u200e\u200f\u202a\u202e\u2066\u2067\u2068\u2069\u2028\ufeff\u0007" {
		if got := Clean("a" + string(mark) + "b"); got != "ab" {
			t.Errorf("%U is kept: %q", mark, got)
		}
	}
	if got := Clean("a\nb\tc"); got != "a b c" {
		t.Errorf("%q", got)
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"brunt", "run", "a-b_c.yml", "--rate=1,000/s", "u@h:5432", "50%"},
			"brunt run a-b_c.yml --rate=1,000/s u@h:5432 50%"},
		{[]string{"ops(insert=1)", "p(99) < 1ms", "", "it's"}, `'ops(insert=1)' 'p(99) < 1ms' '' 'it'\''s'`},
		{[]string{"-p", "***", "postgres://u:***@h/d", "a\nb"}, "-p *** postgres://u:***@h/d 'a b'"},
	} {
		if got := CommandLine(c.words); got != c.want {
			t.Errorf("%q: %s, want %s", c.words, got, c.want)
		}
	}
}
