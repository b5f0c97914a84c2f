package report

import (
	"strings"
	"testing"
	"time"
)

func TestLatencyUnits(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0", 1: "1 ns", 999: "999 ns", 999.6: "1.00 µs", 1000: "1.00 µs", 1234: "1.23 µs", 9994: "9.99 µs", 9996: "10.0 µs",
		99_960: "100 µs", 123_456: "123 µs", 999_499: "999 µs", 999_500: "1.00 ms", 1_234_567: "1.23 ms", 45_678_901: "45.7 ms",
		999_999_999: "1.00 s", 12_345_678_901: "12.3 s", 5e12: "5000 s",
	} {
		if got := latency(ns); got != want {
			t.Errorf("latency(%g) = %q, want %q", ns, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 450 * time.Millisecond: "450 ms", time.Second: "1 s", 12300 * time.Millisecond: "12.3 s", 10 * time.Second: "10 s",
		100 * time.Millisecond: "100 ms", 90 * time.Second: "1 m 30 s", time.Hour: "1 h", 2*time.Hour + 5*time.Minute: "2 h 5 m",
		25*time.Hour + time.Minute: "1 d 1 h", 59*time.Second + 999*time.Millisecond: "60 s",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		count(0): "0", count(999): "999", count(1000): "1,000", count(1234567): "1,234,567",
		rate(0.123): "0.12", rate(12.345): "12.3", rate(999.4): "999", rate(999.7): "1,000", rate(1234567.8): "1,234,568",
		percent(0, 10): "0 %", percent(1, 10_000_000): "< 0.001 %", percent(1, 3): "33.3 %", percent(9999, 10_000): "> 99.9 %",
		percent(5, 5): "100 %", percent(1, 0): "0 %", fraction(1.5): "150 %", percent(15, 72_500): "0.021 %",
		size(512): "512 B", size(48 << 20): "48.0 MiB", size(1 << 40): "1.00 TiB", size(1023): "1.00 KiB",
		plural(1, "row", "rows"): "1 row", plural(uint64(2000), "row", "rows"): "2,000 rows",
		clock(7 * time.Second): "0:07", clock(754 * time.Second): "12:34", clock(3723 * time.Second): "1:02:03",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDisplayWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "нагрузка": 8, "車を追加": 8, "e\u0301": 1, "ＡＢ": 4, "a\u200bb": 2, "├─ █▏": 5, "µs": 2, "🚗": 2,
	} {
		if got := displayWidth(s); got != want {
			t.Errorf("displayWidth(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"車を追加", 6, "車を…"}, {"車を追加", 5, "車を…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := cut(c.in, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestTableAlignsWideCharacters(t *testing.T) {
	tb := &table{columns: []column{{head: "name", left: true}, {head: "n"}}}
	tb.add(cells("車", "1")...)
	tb.add(cells("авто", "22")...)
	lines := tb.lines(Options{}, 80)
	want := []string{"name   n", "車     1", "авто  22"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	for _, l := range lines {
		if displayWidth(l) != 8 {
			t.Errorf("%q is %d columns wide", l, displayWidth(l))
		}
	}
}

func TestTableLeavesOutWhatDoesNotFit(t *testing.T) {
	tb := &table{columns: []column{{head: "operation", left: true}, {head: "a", priority: 1}, {head: "b", priority: 2}, {head: "c"}}}
	tb.add(cells("a rather long name of an operation", "1111111111", "2222222222", "3333333333")...)
	for n, want := range map[int]string{
		80: "operation,a,b,c", 60: "operation,a,b,c", 50: "operation,a,c", 40: "operation,c", 24: "operation,c",
	} {
		head := strings.Join(strings.Fields(tb.lines(Options{}, n)[0]), ",")
		if head != want {
			t.Errorf("at %d columns: %s, want %s", n, head, want)
		}
		for _, l := range tb.lines(Options{}, n) {
			if displayWidth(l) > n {
				t.Errorf("at %d columns: %q", n, l)
			}
		}
	}
}

func TestBarsShowWhatIsNotNothing(t *testing.T) {
	for part, want := range map[float64]string{0: "", 0.0001: "▏", 0.5: "█████", 0.55: "█████▌", 1: "██████████"} {
		if got := bar(part, 10); got != want {
			t.Errorf("bar(%g) = %q, want %q", part, got, want)
		}
	}
}
