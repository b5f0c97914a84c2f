// Package texts translates the words in tables of reports. The English text is the key; a text that is not in the
// catalogue stays in English. Sentences are messages: see package message.
package texts

import (
	"fmt"
	"strings"

	"brunt/internal/units"
)

// In returns a text in l, formatted with args as by fmt.Sprintf.
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

// Plural returns n and the noun in l. one and many are the English forms.
func Plural[N int | uint64](l units.Language, n N, one, many string) string {
	if forms, ok := russianNouns[many]; ok && l == units.Russian {
		return l.Figure(units.Count(uint64(n))) + " " + forms[russianForm(uint64(n))]
	}
	return units.Plural(n, one, many)
}

// russianForm returns which of a noun's three forms follows a number: 0 as in 1 запуск, 1 as in 2 запуска, 2 as in 5
// запусков (Unicode CLDR, plural rules of ru).
func russianForm(n uint64) int {
	switch {
	case n%10 == 1 && n%100 != 11:
		return 0
	case n%10 >= 2 && n%10 <= 4 && (n%100 < 12 || n%100 > 14):
		return 1
	}
	return 2
}

// Metric returns the name of a result's metric in l.
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

// Failure returns the text of a failure in l if it is one of brunt's own. Messages of servers are returned unchanged.
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
