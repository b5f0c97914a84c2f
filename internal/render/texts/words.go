// Package words has the texts of reports in other languages than English. The English text is the
// message's id: what the catalogue lacks is said in English.
package texts

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

// Metric is what a metric of a result is called.
func Metric(l units.Language, metric string) string {
	switch metric {
	case "rate":
		return In(l, "rate")
	case "count":
		return In(l, "processed")
	case "errors":
		return In(l, "errors")
	case "response.avg":
		return In(l, "response mean")
	}
	if q, ok := strings.CutPrefix(metric, "response.p("); ok {
		return In(l, "response") + " p" + strings.TrimSuffix(q, ")")
	}
	return metric
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
	byLength := slices.SortedFunc(maps.Keys(russianSentences),
		func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, english := range byLength {
		r := russianSentences[english]
		var expression strings.Builder
		at := 0
		for _, v := range verbs.FindAllStringIndex(english, -1) {
			expression.WriteString(literally(english[at:v[0]]) + "(.+?)")
			at = v[1]
		}
		expression.WriteString(literally(english[at:]))
		all = append(all, pattern{regexp.MustCompile("^" + expression.String() + "$"), r})
	}
	return all
})

// literally is an expression of what a format writes without placeholders.
func literally(format string) string {
	return regexp.QuoteMeta(strings.ReplaceAll(format, "%%", "%"))
}

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
	if figure.MatchString(english) {
		return units.Russian.Figure(english), true
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
	return list(english)
}

// counted is a number of things.
var counted = regexp.MustCompile(`^(\d[\d,]*) ([a-z ]+)$`)

// number is a number of things in Russian.
func number(english string) (string, bool) {
	found := counted.FindStringSubmatch(english)
	if found == nil {
		return "", false
	}
	many := found[2]
	if m, ok := russianSingular[many]; ok {
		many = m
	}
	_, known := russianNouns[many]
	n, err := strconv.ParseUint(strings.ReplaceAll(found[1], ",", ""), 10, 64)
	if !known || err != nil {
		return "", false
	}
	return Plural(units.Russian, n, "", many), true
}

// one is a number of what isn't always a noun.
var one = regexp.MustCompile(`^(\d[\d,]*) ([a-z][a-z -]*)$`)

// list is a list of numbers of things in Russian.
func list(english string) (string, bool) {
	parts := strings.Split(english, ", ")
	for i, p := range parts {
		if s, ok := number(p); ok {
			parts[i] = s
			continue
		}
		found := one.FindStringSubmatch(p)
		if found == nil {
			return "", false
		}
		n, what := units.Russian.Figure(found[1]), found[2]
		if parts[i] = n + " " + what; cmp.Or(russian[what], russianSentences[what]) != "" {
			parts[i] = cmp.Or(russian[what], russianSentences[what]) + ": " + n
		}
	}
	return strings.Join(parts, ", "), true
}

// Failure is the text of a failure in l, if it is one of brunt's own; what servers say stays as it is.
func Failure(l units.Language, english string) string {
	parts := strings.Split(english, "; ")
	for i, p := range parts {
		if _, ok := russianFailures[p]; !ok || l != units.Russian {
			return english
		}
		parts[i] = russianFailures[p]
	}
	return strings.Join(parts, "; ")
}

// argument is what filled a placeholder, in Russian as far as it is known.
func argument(s string) string {
	if r, ok := number(s); ok {
		return r
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
