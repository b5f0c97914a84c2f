package message

import (
	"fmt"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"brunt/internal/render/units"
)

// Label returns a text of tables or pages in a language, formatted with args as by fmt.Sprintf. The English text is its
// key in the catalogues of other languages. A text that the catalogue doesn't have stays in English.
func Label(l units.Language, english string, args ...any) string {
	if foreign(l) {
		if text, ok := of(l).Labels[english]; ok {
			english = text
		}
	}
	if len(args) == 0 {
		return english
	}
	return fmt.Sprintf(english, args...)
}

// foreign reports whether the texts of a language are in a catalogue rather than in the code.
func foreign(l units.Language) bool { return l != units.English && languages[l] != nil }

// Plural returns n followed by the noun in a language. one and many are the English forms; many is the noun's key in
// the catalogues of other languages.
func Plural[N int | uint64](l units.Language, n N, one, many string) string {
	if foreign(l) {
		if forms, ok := of(l).Counted[many]; ok {
			return l.Figure(units.Count(uint64(n))) + " " + forms[formOf(l, uint64(n)).name]
		}
	}
	return units.Plural(n, one, many)
}

// formOf returns the plural form that follows a number in a language, by Unicode CLDR.
func formOf(l units.Language, n uint64) pluralForm {
	form := plural.Cardinal.MatchPlural(language.Make(string(l)), int(n%1_000_000), 0, 0, 0, 0)
	for _, f := range pluralForms {
		if f.form == form {
			return f
		}
	}
	return pluralForms[len(pluralForms)-1]
}

// Metric returns the name of a result's metric in a language.
func Metric(l units.Language, metric string) string {
	switch metric {
	case "rate":
		return Label(l, "rate")
	case "count":
		return Label(l, "processed")
	case "errors":
		return Label(l, "errors")
	case "response.avg":
		return Label(l, "response mean")
	case "first.avg":
		return Label(l, "first message mean")
	case "between.avg":
		return Label(l, "between messages mean")
	}
	name, q, ok := strings.Cut(metric, ".p(")
	if !ok {
		return metric
	}
	q = " p" + strings.TrimSuffix(q, ")")
	switch name {
	case "response":
		return Label(l, "response") + q
	case "first":
		return Label(l, "first message") + q
	case "between":
		return Label(l, "between messages") + q
	case "pace":
		return Label(l, "message lag") + q
	}
	return metric
}

// Failure returns the text of a failure in a language if it is one of brunt's own. Messages of servers are returned
// unchanged.
func Failure(l units.Language, english string) string {
	if !foreign(l) {
		return english
	}
	parts := strings.Split(english, "; ")
	for i, p := range parts {
		text, ok := of(l).Failures[p]
		if !ok {
			return english
		}
		parts[i] = text
	}
	return strings.Join(parts, "; ")
}
