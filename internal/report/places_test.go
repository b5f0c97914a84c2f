package report

import "testing"

// A section without a place would be lost among others on the page.
func TestEverySectionHasAPlace(t *testing.T) {
	type place struct {
		chapter chapter
		place   int
	}
	names, places := map[string]bool{}, map[place]string{}
	for _, s := range sections() {
		if s.chapter == noChapter || s.chapter >= chapters || s.place < 1 {
			t.Errorf("%s has chapter %d and place %d", s.name, s.chapter, s.place)
		}
		if other := places[place{s.chapter, s.place}]; other != "" {
			t.Errorf("%s and %s have the same place", s.name, other)
		}
		if names[s.name] {
			t.Errorf("two sections are called %s", s.name)
		}
		names[s.name], places[place{s.chapter, s.place}] = true, s.name
	}
}
