package units

import (
	"fmt"
	"strings"
)

// Language is the language that figures and texts are written in. The zero value is English.
type Language string

// The languages.
const (
	English Language = "en"
	Russian Language = "ru"
)

// ParseLanguage reads a language's code.
func ParseLanguage(s string) (Language, error) {
	switch l := Language(strings.ToLower(s)); l {
	case English, Russian:
		return l, nil
	}
	return English, fmt.Errorf("unknown language %q; use %s or %s", s, English, Russian)
}

// russianUnits are Russian names of the units that this package writes (GOST 8.417 and IEC 80000-13).
var russianUnits = strings.NewReplacer(
	" ns", " нс", " µs", " мкс", " ms", " мс", " s", " с", " m", " мин", " h", " ч", " d", " д",
	" KiB", " КиБ", " MiB", " МиБ", " GiB", " ГиБ", " TiB", " ТиБ", " B", " Б", "/s", "/с", " cores", " ядра",
)

// Figure writes in l what another function of this package wrote: in Russian 1,234.5 ms becomes
// 1 234,5 мс, with spaces that don't break.
func (l Language) Figure(english string) string {
	if l != Russian {
		return english
	}
	in := []rune(english)
	digit := func(i int) bool { return i >= 0 && i < len(in) && in[i] >= '0' && in[i] <= '9' }
	out := make([]rune, len(in))
	for i, r := range in {
		switch {
		case r == ',' && digit(i-1) && digit(i+1):
			r = '\u00a0'
		case r == '.' && digit(i-1) && digit(i+1):
			r = ','
		}
		out[i] = r
	}
	return strings.ReplaceAll(russianUnits.Replace(string(out)), " ", "\u00a0")
}

// Value is the function Value in l.
func (l Language) Value(v float64, unit string) string { return l.Figure(Value(v, unit)) }
