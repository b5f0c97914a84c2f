package units

import (
	"testing"
	"time"
)

func TestRussianFigures(t *testing.T) {
	for _, c := range []struct{ english, russian string }{
		{Latency(1_234_000), "1,23 мс"}, {Latency(45_600), "45,6 мкс"}, {Latency(7.89e9), "7,89 с"}, {Latency(12), "12 нс"},
		{Count(1_234_567), "1 234 567"}, {Rate(98_214) + "/s", "98 214/с"}, {Fraction(0.0123), "1,23 %"},
		{Fraction(1e-7), "< 0,001 %"},
		{Size(48 << 20), "48,0 МиБ"}, {Size(12), "12 Б"}, {Span(90 * time.Second), "1 мин 30 с"},
		{Span(26 * time.Hour), "1 д 2 ч"},
		{Signed(-3.5), "−3,50"}, {"∞", "∞"}, {"0", "0"},
	} {
		plain := ""
		for _, r := range Russian.Figure(c.english) {
			if r == '\u00a0' {
				r = ' '
			}
			plain += string(r)
		}
		if plain != c.russian {
			t.Errorf("%q in Russian is %q, want %q", c.english, plain, c.russian)
		}
		if got := English.Figure(c.english); got != c.english {
			t.Errorf("%q in English is %q", c.english, got)
		}
	}
	if _, err := ParseLanguage("de"); err == nil {
		t.Error("German is taken")
	}
	if l, err := ParseLanguage("RU"); err != nil || l != Russian {
		t.Errorf("RU: %q, %v", l, err)
	}
}
