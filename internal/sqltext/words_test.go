package sqltext

import "testing"

func TestFirstWord(t *testing.T) {
	for text, want := range map[string]string{
		" -- a\n/* b */ (select 1)": "SELECT", "": "", "-- x": "", "/* x": "", "with a": "WITH", "1": "1", "(('a'))": "'A'",
		"Update_x": "UPDATE_X",
	} {
		if got := FirstWord(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	if got, want := Quote(`a"b`)+QuoteText(`it's`), `"a""b"'it''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
