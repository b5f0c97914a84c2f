package target

import (
	"errors"
	"strings"
	"testing"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// TestRefusedStatementsHaveAPlace checks that a server's error is reported with the position of the statement.
func TestRefusedStatementsHaveAPlace(t *testing.T) {
	at := func(line int) plan.Position { return plan.Position{File: "a.yml", Line: line, Column: 5} }
	p := &plan.Plan{Operations: []plan.Operation{
		{Name: "q", Steps: []plan.Step{{At: at(3)}}},
		{Name: `t"1`, Steps: []plan.Step{{At: at(7)}, {At: at(8), Where: plan.Places{{Key: "sql", At: at(9)}}}}},
	}}
	for _, c := range []struct {
		code, text, want string
		usage            bool
	}{
		{"42P01", `request "q": no table`, `a.yml:3:5: server 42P01: request "q": no table; correct`, true},
		{"42P18", `request "t\"1/2": could not determine data type of parameter $1`,
			`a.yml:9:5: server 42P18: request "t\"1/2": could not determine data type of parameter $1; say what the parameters are by casts such as $1::integer`, true},
		{"", `request "other": x`, `server: request "other": x; correct`, true},
		{"", "x", "server: x; correct", true},
	} {
		err := NotConnected(p, &protocol.Error{Class: protocol.Server, Code: c.code, Text: c.text})
		var usage *UsageError
		if !strings.HasPrefix(err.Error(), c.want) || errors.As(err, &usage) != c.usage {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"an option", `option good: "2xx" isn't a status`, `option good: "2xx" isn't a status`},
		{"a request", `request "q": capture "jsn:a" has no form`, `a.yml:3:5: request "q": capture "jsn:a" has no form`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := NotConnected(p, protocol.Bad("%s", c.text))
			var usage *UsageError
			if err.Error() != c.want || !errors.As(err, &usage) {
				t.Errorf("%q, want %q as the user's error", err, c.want)
			}
		})
	}
	if err := NotConnected(p, &protocol.Error{Class: protocol.Connect, Text: `request "q"`}); strings.Contains(err.Error(),
		"a.yml") {
		t.Error(err)
	}
}
