// Package words has the texts of reports in other languages than English. The English text is the
// message's id: what the catalogue lacks is said in English.
package words

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/units"
)

// In returns a text in l, filled with args as fmt.Sprintf does.
func In(l units.Language, english string, args ...any) string {
	if l == units.Russian {
		if r, ok := russian[english]; ok {
			english = r
		}
	}
	if len(args) == 0 {
		return english
	}
	return fmt.Sprintf(english, args...)
}

// Plural writes n and the noun in l. one and many are the English forms.
func Plural[N int | uint64](l units.Language, n N, one, many string) string {
	if forms, ok := russianNouns[many]; ok && l == units.Russian {
		return l.Figure(units.Count(uint64(n))) + " " + forms[russianForm(uint64(n))]
	}
	return units.Plural(n, one, many)
}

// russianForm is which of a noun's three forms a number takes: 1 запуск, 2 запуска, 5 запусков
// (Unicode CLDR, plural rules of ru).
func russianForm(n uint64) int {
	switch {
	case n%10 == 1 && n%100 != 11:
		return 0
	case n%10 >= 2 && n%10 <= 4 && (n%100 < 12 || n%100 > 14):
		return 1
	}
	return 2
}

// pattern is a sentence with placeholders, ready to recognize what was made of it.
type pattern struct {
	english *regexp.Regexp
	russian string
}

// verbs are the placeholders that sentences use.
var verbs = regexp.MustCompile(`%(?:\[\d+\])?[.\d]*[a-zA-Z]`)

// patterns are the sentences of the catalogue that have placeholders.
var patterns = sync.OnceValue(func() (all []pattern) {
	// The longest first: shorter ones are of the same shape as parts of them.
	byLength := slices.SortedFunc(maps.Keys(russianSentences), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, english := range byLength {
		r := russianSentences[english]
		var expression strings.Builder
		at := 0
		for _, v := range verbs.FindAllStringIndex(english, -1) {
			expression.WriteString(regexp.QuoteMeta(english[at:v[0]]) + "(.+?)")
			at = v[1]
		}
		expression.WriteString(regexp.QuoteMeta(english[at:]))
		all = append(all, pattern{regexp.MustCompile("^" + expression.String() + "$"), r})
	}
	return all
})

// figure is what units writes.
var figure = regexp.MustCompile(`^[<>±−+ ]*\d[\d,]*(\.\d+)?( ?(ns|µs|ms|s|m|h|%|B|KiB|MiB|GiB|/s))?( \d+ [smh])?$`)

// Sentence returns in l a sentence that was made elsewhere and stands in a record, such as a
// warning: it is recognized by its shape. Several sentences joined by "; " are said one by one.
func Sentence(l units.Language, english string) string {
	if l != units.Russian {
		return english
	}
	if s, ok := russianSentences[english]; ok {
		return s
	}
	parts := strings.Split(english, "; ")
	known := 0
	for i, p := range parts {
		if s, ok := sentence(p); ok {
			parts[i] = s
			known++
		}
	}
	if s, ok := sentence(english); ok && known < len(parts) {
		return s
	}
	return strings.Join(parts, "; ")
}

func sentence(english string) (string, bool) {
	if s, ok := russianSentences[english]; ok {
		return s, true
	}
	for _, p := range patterns() {
		found := p.english.FindStringSubmatch(english)
		if found == nil {
			continue
		}
		args := make([]any, len(found)-1)
		for i, s := range found[1:] {
			args[i] = argument(s)
		}
		return fmt.Sprintf(verbs.ReplaceAllStringFunc(p.russian, stringVerb), args...), true
	}
	return "", false
}

// counted is a number of things.
var counted = regexp.MustCompile(`^(\d[\d,]*) ([a-z ]+)$`)

// argument is what filled a placeholder, in Russian as far as it is known.
func argument(s string) string {
	if figure.MatchString(s) {
		return units.Russian.Figure(s)
	}
	if found := counted.FindStringSubmatch(s); found != nil {
		many := found[2]
		if m, ok := russianSingular[many]; ok {
			many = m
		}
		if n, err := strconv.ParseUint(strings.ReplaceAll(found[1], ",", ""), 10, 64); err == nil {
			if _, known := russianNouns[many]; known {
				return Plural(units.Russian, n, "", many)
			}
		}
	}
	if r, ok := sentence(s); ok {
		return r
	}
	if r, ok := russian[s]; ok && !strings.Contains(r, "%") {
		return r
	}
	return s
}

// stringVerb makes a placeholder one of a text, of the same argument.
func stringVerb(verb string) string {
	if i := strings.IndexByte(verb, ']'); i >= 0 {
		return verb[:i+1] + "s"
	}
	return "%s"
}
