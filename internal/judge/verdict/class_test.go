package verdict

import (
	"regexp"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// Classes of failures have names in the reader's language. In English these are the names in records.
func TestClassesHaveNamesInRussian(t *testing.T) {
	latin := regexp.MustCompile(`[A-Za-z]`)
	for c := protocol.Connect; int(c) < protocol.NumClasses; c++ {
		t.Run(c.String(), func(t *testing.T) {
			name := ClassName(c)
			if got := name.In(units.English); got != c.String() {
				t.Errorf("in English it is %q", got)
			}
			if got := name.In(units.Russian); got == "" || latin.MatchString(got) {
				t.Errorf("in Russian it is %q", got)
			}
		})
	}
}

func TestClassListIsOfBothLanguages(t *testing.T) {
	counts := &record.Counts{Counts: measure.Counts{}}
	counts.Errors[protocol.Timeout], counts.Errors[protocol.Connect] = 3, 1200
	list := ClassList(counts)
	for l, want := range map[units.Language][]string{
		units.English: {"1,200 connect", "3 timeout"}, units.Russian: {"нет соединения: 1\u00a0200", "время истекло: 3"},
	} {
		for i, m := range list {
			if got := m.In(l); got != want[i] {
				t.Errorf("%s: %q, want %q", l, got, want[i])
			}
		}
	}
}
