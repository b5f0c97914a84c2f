package script

import (
	"fmt"
	"strings"
	"testing"
)

// A text is the same after its secrets were replaced and put back, and has none of them in between.
func TestVeiledTextsComeBack(t *testing.T) {
	for _, text := range []string{
		"GET /a?token=T0p&x=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer T0p\r\nCookie: a=\"T0p\"; b=T0p\r\n\r\npassword=T0p&user=me",
		`{"user": "me", "password": "T0p", "more": {"api_key":"T0p\"1"}}`,
		`{"body":"{\"password\":\"T0p\"}","headers":{"X-Api-Key":"T0p"}}`,
		"wrk.headers[\"Authorization\"] = \"Bearer T0p\"\nwrk.headers['Cookie'] = 'T0p'\nlocal token = 'T0p'\n" +
			"wrk.body = \"user=me&password=T0p\"\nwrk.headers[\"Accept\"] = \"text/html\"",
		"r = \"GET / HTTP/1.1\\r\\nX-Token: T0p\\r\\n\\r\\n\"",
		"http://me:T0p@h/x?key=T0p",
		"/?token=T0p1&token=T0p2&token_2=T0p3&token-2=T0p4",
		"/?token_2=T0p1&token=T0p2&Token=T0p3",
	} {
		options := map[string]string{}
		v := NewVeil(options)
		out := v.Text(text)
		v.Close()
		if strings.Contains(out, "T0p") || len(options) == 0 {
			t.Errorf("%q is in\n%s", options, out)
		}
		for _, kept := range []string{"me", "Accept", "Host: h"} {
			if strings.Contains(text, kept) != strings.Contains(out, kept) {
				t.Errorf("%s has gone:\n%s", kept, out)
			}
		}
		if again := (&Source{Options: options}).Unveil()(out); again != text {
			t.Errorf("got\n%s\nwant\n%s", again, text)
		}
	}
}

// What is no secret stays as it is.
func TestPlainTextsStay(t *testing.T) {
	for _, text := range []string{"", "GET /a?page=2 HTTP/1.1\r\nHost: h\r\n\r\n", "local key = nil", "{{secret.no}} {{",
		`{"password":"{{.request.auth.token}}"}`, "token: ${token}"} {
		options := map[string]string{}
		if out := NewVeil(options).Text(text); out != text || len(options) > 0 {
			t.Errorf("%q became %q with %q", text, out, options)
		}
		if out := (&Source{}).Unveil()(text); out != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// Many secrets don't become many options.
func TestManySecrets(t *testing.T) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "Cookie: T0p%d\n", i)
	}
	options := map[string]string{}
	v := NewVeil(options)
	out := v.Text(text.String())
	v.Close()
	if strings.Contains(out, "T0p") || len(options) != mostNamed+1 {
		t.Errorf("%d options", len(options))
	}
	if (&Source{Options: options}).Unveil()(out) != text.String() {
		t.Error("the text didn't come back")
	}
}

func FuzzVeil(f *testing.F) {
	f.Add("GET /?token=x HTTP/1.1\r\nCookie: y\r\n\r\n{\"password\":\"z\"}{{secret.cookie}}")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "{{") {
			return
		}
		options := map[string]string{}
		v := NewVeil(options)
		out := v.Text(text)
		v.Close()
		if again := (&Source{Options: options}).Unveil()(out); again != text {
			t.Errorf("%q became %q by %q", text, again, out)
		}
	})
}
