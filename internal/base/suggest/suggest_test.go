package suggest

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"config_name", "tables_schema", "queries", "sql", "name"}
	for word, want := range map[string]string{"config_nam": "config_name", "tableschema": "tables_schema",
		"Querys": "queries",
		"sqll":   "sql", "nmae": "name", "zzz": "", "": "", "q": "", "something_else_entirely": ""} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	// Published distances: Wagner and Fischer's kitten → sitting, and Saturday → Sunday.
	if a, b := distance([]rune("kitten"), []rune("sitting")), distance([]rune("saturday"), []rune("sunday")); a != 3 ||
		b != 3 {
		t.Errorf("distances %d and %d, want 3 and 3", a, b)
	}
}
