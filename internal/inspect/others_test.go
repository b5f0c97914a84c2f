package inspect

import (
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/internal/record"
)

// What others send to the same server is told from what the load sent, if it is the same.
func TestOtherClientsAreNoticed(t *testing.T) {
	operations := []Operation{{Name: "get", Done: 100, Uncertain: 10, Requests: make([]*protocol.Request, 1)},
		{Name: "both", Done: 10, Requests: make([]*protocol.Request, 3)}}
	for _, c := range []struct {
		name  string
		calls float64
		of    []string
		says  string
	}{
		{"the load's own", 110, []string{"get"}, ""},
		{"two operations send it", 140, []string{"get", "both"}, ""},
		{"another load", 500, []string{"get"}, "executed 500 times, 4.55 times as often"},
		{"a few", 55, []string{"both"}, ""},
		{"of others only", 5000, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &record.Inspection{Windows: []record.ServerWindow{{Statements: []record.Statement{
				{ID: "get", Text: "GET", Calls: c.calls, Operations: c.of}}}}}
			w := otherClients(in, operations)
			if text := w.Text.String(); (c.says == "") != w.Text.IsZero() || !strings.Contains(text, c.says) {
				t.Errorf("%q, want %q", text, c.says)
			}
		})
	}
}
