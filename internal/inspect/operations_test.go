package inspect

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// The commands of an operation are those that its executions send, and no more than were sent.
func TestCommandsAreThoseOfTheLoad(t *testing.T) {
	step := func(words ...string) plan.Step {
		return plan.Step{Request: protocol.Request{Verb: protocol.Command, Words: words}}
	}
	w, err := workload.Compile(&plan.Plan{Operations: []plan.Operation{
		{Name: "all", Weight: 1, Steps: []plan.Step{step("GET", "a"), step("SET", "b$$", "1")}},
		{Name: "none", Weight: 1, Steps: []plan.Step{{Request: protocol.Request{Verb: protocol.SQL, Text: "SELECT 1"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	all := operations(w, []measure.Counts{{Done: 6}, {Done: 4}}, nil)
	if all[1].Commands != nil {
		t.Error("an operation without commands has some")
	}
	var got []string
	all[0].Commands(func(words []string) { got = append(got, strings.Join(words, " ")) })
	n := 0
	for i := range uint64(10) {
		if w.Pick(i) == 0 {
			n++
		}
	}
	if want := slices.Repeat([]string{"GET a", "SET b$ 1"}, n); !slices.Equal(got, want) || n == 0 {
		t.Errorf("%q, want %q", got, want)
	}
}
