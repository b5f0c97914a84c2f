package report

import (
	"strings"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{7 * time.Second: "0:07", 754 * time.Second: "12:34", 3723 * time.Second: "1:02:03"} {
		if got := clock(d); got != want {
			t.Errorf("clock(%s) = %q, want %q", d, got, want)
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
