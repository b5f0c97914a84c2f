package workload

import (
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// A step that would write a value into a text that an earlier step didn't find fails and names the step and the place.
// SQL has a null for that, and sends it.
func TestNothingCaptured(t *testing.T) {
	for _, c := range []struct {
		name string
		use  protocol.Request
		sent bool
	}{
		{"http", protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/use?t=$1"}}, false},
		{"command", protocol.Request{Verb: protocol.Command, Words: []string{"GET", "$1"}}, false},
		{"sql", protocol.Request{Verb: protocol.SQL, Text: "select $1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			login := plan.Step{Request: protocol.Request{Name: "login", Verb: protocol.HTTP,
				Web:     &protocol.Web{Method: "GET", Path: "/login"},
				Capture: []protocol.Capture{{Name: "json:token", Kind: gen.String}}}}
			c.use.Name = "use"
			use := plan.Step{Request: c.use, Params: []plan.Param{{Step: 0, Index: 0}}}
			w, err := Compile(&plan.Plan{Seed: 1, Operations: []plan.Operation{{Name: "op", Weight: 1,
				Steps: []plan.Step{login, use}}}})
			if err != nil {
				t.Fatal(err)
			}
			cursor := w.NewCursor(0, Rules{})
			cursor.Begin(0)
			var reply protocol.Reply
			reply.Reset(1)
			move := cursor.Answered(&reply, 1, 2)
			if f := cursor.Failure; c.sent != (move == Send) || c.sent != (f.Class == protocol.OK) {
				t.Fatalf("move %v, %+v", move, f)
			} else if !c.sent && (f.Code != NothingCaptured || !strings.Contains(f.Text, "json:token") ||
				!strings.Contains(f.Text, "login")) {
				t.Errorf("%+v", f)
			}
		})
	}
}
