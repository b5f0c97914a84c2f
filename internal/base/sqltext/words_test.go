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

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"insert into Book values (1)":                          true,
		"select * from shop.book b":                            true,
		`select * from "book"`:                                 true,
		`select * from "Book"`:                                 false,
		"select * from books":                                  false,
		"select 1 -- book":                                     false,
		"select 'a booking'":                                   false,
		"do $x$ begin insert into book values (1); end $x$":    true,
		"select dblink('delete from book where a = ''b''')":    true,
		"select 'x', '', $$$$, E'it''s', $1":                   false,
		"select $$unfinished":                                  false,
		"select * from orders where name = 'book'":             true, // it may be a statement
		"copy public.book (a) from stdin":                      true,
		`select "a""b" from x`:                                 false,
		"select add_Book($1)":                                  true,
		"select make($1), $q$ perform a_function() $q$ from x": false,
	} {
		if got := Mentions(text, []string{"book", "add_book"}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !Mentions(`select "a""b" from x`, []string{`a"b`}) {
		t.Error("a name with a quote")
	}
}
