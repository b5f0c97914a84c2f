package record

import (
	"fmt"
	"slices"
	"testing"
)

func TestFailuresOfOneTextAreCountedTogether(t *testing.T) {
	type failures = []FailureCount
	for name, row := range map[string]struct{ of, want failures }{
		"another cause without a code": {
			failures{{"connect", "", "read tcp 10.0.0.1:40212->10.0.0.2:5432: connection reset by peer", 1},
				{"connect", "", "no session is connected to any address", 900}},
			failures{{"connect", "", "no session is connected to any address", 900},
				{"connect", "", "read tcp 10.0.0.1:40212->10.0.0.2:5432: connection reset by peer", 1}},
		},
		"addresses": {
			failures{{"connect", "", "read tcp 10.0.0.1:40212->10.0.0.2:5432: connection reset by peer", 1},
				{"connect", "", "read tcp 10.0.0.1:40213->10.0.0.2:5432: connection reset by peer", 2}},
			failures{{"connect", "", "read tcp …->10.0.0.2:5432: connection reset by peer", 3}},
		},
		"quoted names": {
			failures{{"server", "1062", "Duplicate entry 'ab' for key 'PRIMARY'", 1}, {"server", "1062",
				"Duplicate entry 'cd' for key 'PRIMARY'", 1}, {"server", "1062", "Duplicate entry 'ef' for key 'PRIMARY'", 1}},
			failures{{"server", "1062", "Duplicate entry '…' for key 'PRIMARY'", 3}},
		},
		"codes of HTTP": {
			failures{{"connect", "", "the proxy answered 407", 1}, {"connect", "", "the proxy answered 502", 1}},
			failures{{"connect", "", "the proxy answered 407", 1}, {"connect", "", "the proxy answered 502", 1}},
		},
		"apostrophes": {
			failures{{"client", "", "can't read it's 'a' or x's", 1}, {"client", "", "can't read it's 'b' or x's", 1},
				{"client", "", "can't", 1}, {"client", "", "'", 1}, {"client", "", "", 1}},
			failures{{"client", "", "can't read it's '…' or x's", 2}, {"client", "", "", 1}, {"client", "", "'", 1},
				{"client", "", "can't", 1}},
		},
		"lines of one text": {
			failures{{"server", "", "a\n  b", 1}, {"server", "", "a b", 1}},
			failures{{"server", "", "a b", 2}},
		},
		"codes": {
			failures{{"server", "1", "x", 1}, {"server", "2", "x", 1}, {"timeout", "1", "x", 1}},
			failures{{"server", "1", "x", 1}, {"server", "2", "x", 1}, {"timeout", "1", "x", 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := newFailureLog(0)
			for _, f := range row.of {
				for range f.Count {
					live.add(&ErrorSample{Class: f.Class, Code: f.Code, Text: f.Text})
				}
			}
			if got := live.counts(); !slices.Equal(got, row.want) {
				t.Errorf("counted\n%+v, want\n%+v", got, row.want)
			}
			whole := &Run{}
			var parts []*Recorded
			for _, f := range row.of {
				parts = append(parts, &Recorded{Run: &Run{Failures: failures{f}}})
			}
			if mergeFailures(whole, parts); !slices.Equal(whole.Failures, row.want) {
				t.Errorf("merged\n%+v, want\n%+v", whole.Failures, row.want)
			}
		})
	}
}

func TestManyTextsAreCountedInFixedMemory(t *testing.T) {
	l := newFailureLog(0)
	word := func(i int) string { return fmt.Sprintf("%c%c", 'a'+i/26%26, 'a'+i%26) }
	for i := range 1000 {
		l.add(&ErrorSample{Class: "server", Code: "1", Text: "no " + word(i%500)})
	}
	counts := l.counts()
	want := FailureCount{"server", "1", otherTexts, 1000 - 2*maxTexts}
	if len(counts) != maxTexts+1 || counts[0] != want {
		t.Errorf("%d texts, most of %+v, want %+v", len(counts), counts[0], want)
	}
}

func FuzzTextKind(f *testing.F) {
	for _, s := range []string{"", "can't 'x' y", `"a" "`, "10.0.0.1:5: reset", "…'…'", "\xff'\xff", "é12 'é'é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind := textKind(text)
		if again := textKind(kind); again != kind {
			t.Errorf("%q, and of that %q", kind, again)
		}
		if common := commonText(text, text, kind); common != text && common != kind {
			t.Errorf("in common with itself %q", common)
		}
		if common := commonText(text, kind, kind); textKind(common) != kind {
			t.Errorf("in common with %q: %q", kind, common)
		}
	})
}
