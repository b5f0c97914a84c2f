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
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"車を追加", 6, "車を…"}, {"車を追加", 5, "車を…"}, {"abc", 1, "…"},
		{"abc", 0, ""}} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "ab…ef"}, {"abcdef", 4, "ab…f"}, {"車を追加", 6, "車…加"}, {"abc", 1, "…"},
		{"abc", 0, ""},
		{"count plates: response p99", 20, "count plat…ponse p99"},
	} {
		if got := Shorten(c.in, c.n); got != c.want || Width(got) > c.n {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// Different names remain different when they are shortened. If both ends are the same, names are wrapped instead.
func TestNamesStayDifferent(t *testing.T) {
	of := func(names ...string) string {
		tb := &Table{Columns: []Column{{Head: "metric", Left: true}, {Head: "figure"}}}
		for _, n := range names {
			tb.Add(Texts(n, "1234567890123")...)
		}
		return strings.Join(tb.Lines(Look{Columns: 40}), "\n")
	}
	ends := of("count plates of electric cars: response p50", "count plates of electric cars: response p99")
	if !strings.Contains(ends, "esponse p50") || !strings.Contains(ends, "esponse p99") {
		t.Errorf("the ends are lost:\n%s", ends)
	}
	middle := of("count plates of all electric cars in town", "count plates of red electric cars in town")
	if !strings.Contains(strings.Join(strings.Fields(middle), " "), "red") || strings.Contains(middle, "…") {
		t.Errorf("the middle is lost:\n%s", middle)
	}
}

// Figures have enough digits to show their interval.
func TestFiguresShowTheirInterval(t *testing.T) {
	tb := &Table{Columns: []Column{{Head: "mean"}, {Head: "from"}, {Head: "to"}}}
	tb.Add(Figure(1.0135e9, "ns").Showing(0.7e6), Figure(1.0128e9, "ns").Showing(0.7e6),
		Figure(1.0142e9, "ns").Showing(0.7e6))
	if got := strings.Fields(strings.Join(tb.Lines(Look{})[1:], "")); strings.Join(got,
		" ") != "1.0135 s 1.0128 s 1.0142 s" {
		t.Errorf("%q", got)
	}
}

// Names from servers and users can't change the direction of text, in any format.
func TestMarksOfDirectionAreTakenOut(t *testing.T) {
	tb := Table{Title: "T", Columns: []Column{{Head: "name", Left: true}},
		Rows: [][]Cell{{Text("a\u202eb\u2066c\u200fd")}}}
	for name, write := range map[string]func(*strings.Builder) error{
		"text":     func(b *strings.Builder) error { return WriteText(b, Look{}, tb) },
		"Markdown": func(b *strings.Builder) error { return WriteMarkdown(b, "en", tb) },
		"HTML":     func(b *strings.Builder) error { return WriteHTML(b, "en", tb) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := write(&b); err != nil || !strings.Contains(b.String(), "abcd") {
				t.Errorf("%v: %q", err, b.String())
			}
		})
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
	tb := &Table{Columns: []Column{{Head: "operation", Left: true}, {Head: "a", Priority: 1}, {Head: "b", Priority: 2},
		{Head: "c"}}}
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

// Columns are wrapped to as many lines as they need. Long words are broken and never cut off.
func TestTableWrapsWithoutLosingAnything(t *testing.T) {
	settings, note := "THREADS=160, POOL=96, JAVA_OPTS=-Xmx1024m-XX:+UseZGC-XX:+ZGenerational",
		"the smallest within five percent of the best, and not to be told from it"
	for _, columns := range []int{40, 60, 80, 120, 200} {
		tb := &Table{Columns: []Column{{Head: "settings", Left: true, Wrap: true}, {Head: "rate"}, {Left: true, Wrap: true}}}
		tb.Add(Text(settings), Text("420/s"), Text(note))
		tb.Add(Texts("A=1", "7/s", "")...)
		lines := tb.Lines(Look{Columns: columns})
		letters := map[rune]int{}
		for _, r := range settings + "420/s" + note + "A=17/s" + "settingsrate" {
			letters[r]++
		}
		for _, l := range lines {
			for _, r := range l {
				letters[r]--
			}
			if Width(l) > columns {
				t.Errorf("at %d columns: %q", columns, l)
			}
		}
		for r, n := range letters {
			if r != ' ' && n != 0 {
				t.Errorf("at %d columns %q is missing %d times:\n%s", columns, r, n, strings.Join(lines, "\n"))
			}
		}
	}
	short := &Table{Columns: []Column{{Left: true, Wrap: true, Short: true}}}
	short.Add(Text("one two three four five six seven eight"))
	if got := strings.Join(short.Lines(Look{Columns: 16}), "\n"); got != "  one two three\n  four five six…" {
		t.Errorf("in two lines at most:\n%s", got)
	}
}

func TestBarsShowWhatIsNotNothing(t *testing.T) {
	for part, want := range map[float64]string{0: "", 0.0001: "▏", 0.5: "█████", 0.55: "█████▌", 1: "██████████"} {
		if got := Bar(part, 10); got != want {
			t.Errorf("Bar(%g) = %q, want %q", part, got, want)
		}
	}
}

// Histories and documents name tables after what the user calls them, which may be a single letter.
func TestShortTitlesHaveNotes(t *testing.T) {
	for _, title := range []string{"", "S", "SO"} {
		t.Run(title, func(t *testing.T) {
			table := Table{Title: title, Note: strings.Repeat("note ", 40)}
			for _, l := range table.Lines(Look{Columns: 80}) {
				if Width(l) > 80 {
					t.Errorf("%q is %d columns wide", l, Width(l))
				}
			}
		})
	}
}
