package lint_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// forbiddenWords must not occur in any text of the project. They are composed of parts so that this file doesn't
// contain them.
var forbiddenWords = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "finish it or leave it out"},
	{regexp.MustCompile(`(?i)\bnot impl` + `emented\b|\bunimpl` + `emented\b`), "finish it or leave it out"},
	{regexp.MustCompile(`/wo` + `rk/|/fa` + `rm/|/ro` + `ot/\.|/ho` + `me/[a-z]`), "a path of somebody's machine"},
	{regexp.MustCompile(`\b[tb]\.Sk` + `ip(f|Now)?\(`), hides},
}

const hides = "a test that skips hides what is missing"

// skips is the file whose loads skip the tests of others, where the machine is too busy to tell.
const skips = "testing.go"

func badWords(path string, text []byte) (faults []string) {
	for _, w := range forbiddenWords {
		if !w.pattern.Match(text) || path == skips && w.why == hides {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := w.pattern.FindString(line); found != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: %q: %s", path, i+1, found, w.why))
			}
		}
	}
	return faults
}

func TestNoForbiddenWords(t *testing.T) {
	texts(t, func(path string, text []byte) { report(t, badWords(path, text)) })
}

func TestForbiddenWordsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"// TO" + "DO: later":             1,
		"// a mas" + "TODOn is no matter": 0,
		"not impl" + "emented yet":        1,
		"see /wo" + "rk/main/x":           1,
		"http://a/work" + "load":          0,
		"t.Sk" + "ipf(\"no server\")":     1,
		"fine\nFIX" + "ME\nTO" + "DO":     2,
	} {
		if got := badWords("x.go", []byte(text)); len(got) != want {
			t.Errorf("%q: got %q, want %d faults", text, got, want)
		}
	}
}
