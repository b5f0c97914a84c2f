package cell

import (
	"strings"
	"testing"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "нагрузка": 8, "車を追加": 8, "e\u0301": 1, "ＡＢ": 4, "a\u200bb": 2, "├─ █▏": 5, "µs": 2, "🚗": 2,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"車を追加", 6, "車を…"}, {"車を追加", 5, "車を…"}, {"abc", 1, "…"}, {"abc", 0, ""}} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestTableAlignsWideCharacters(t *testing.T) {
	tb := &Table{Columns: []Column{{Head: "name", Left: true}, {Head: "n"}}}
	tb.Add(Texts("車", "1")...)
	tb.Add(Texts("авто", "22")...)
	lines := tb.Lines(Look{Columns: 80})
	want := []string{"  name   n", "  車     1", "  авто  22"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	for _, l := range lines {
		if Width(l) != 10 {
			t.Errorf("%q is %d columns wide", l, Width(l))
		}
	}
}

func TestTableLeavesOutWhatDoesNotFit(t *testing.T) {
	tb := &Table{Columns: []Column{{Head: "operation", Left: true}, {Head: "a", Priority: 1}, {Head: "b", Priority: 2}, {Head: "c"}}}
	tb.Add(Texts("a rather long name of an operation", "1111111111", "2222222222", "3333333333")...)
	for n, want := range map[int]string{
		80: "operation,a,b,c", 60: "operation,a,b,c", 50: "operation,a,c", 40: "operation,c", 24: "operation,c",
	} {
		head := strings.Join(strings.Fields(tb.Lines(Look{Columns: n + 2})[0]), ",")
		if head != want {
			t.Errorf("at %d columns: %s, want %s", n, head, want)
		}
		for _, l := range tb.Lines(Look{Columns: n + 2}) {
			if Width(l) > n+2 {
				t.Errorf("at %d columns: %q", n, l)
			}
		}
	}
}

func TestBarsShowWhatIsNotNothing(t *testing.T) {
	for part, want := range map[float64]string{0: "", 0.0001: "▏", 0.5: "█████", 0.55: "█████▌", 1: "██████████"} {
		if got := Bar(part, 10); got != want {
			t.Errorf("Bar(%g) = %q, want %q", part, got, want)
		}
	}
}
