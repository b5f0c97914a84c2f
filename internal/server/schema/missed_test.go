package schema

import (
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// References that find no row are told, unless the plan itself deletes rows.
func TestRowsThatThePlanDeletesAreRightlyMissing(t *testing.T) {
	operation := func(text string) plan.Operation {
		return plan.Operation{Name: text, Steps: []plan.Step{{
			Request: protocol.Request{Verb: protocol.SQL, Text: text},
			Params: []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeReference, Table: "cars",
				Column: "id"}}}},
		}}}
	}
	for second, want := range map[string]int{
		"update cars set price = 1 where id = $1": 1,
		"delete from CARS where id = $1":          0,
		"delete from bikes where id = $1":         1,
	} {
		p := &plan.Plan{Operations: []plan.Operation{operation("select 1 from cars where id = $1"), operation(second)}}
		run := &record.Run{Operations: make([]record.Operation, 2)}
		run.Operations[0].Counts = record.CountsOf(&measure.Counts{Done: 100, Missing: 5})
		if got := MissedReferences(p, run); len(got) != want {
			t.Errorf("with %q: %d warnings, want %d", second, len(got), want)
		}
	}
}

// A statement with further conditions, or of another table, may find nothing although all rows are there. It is told
// only if the cause is known: the table isn't the plan's.
func TestRowsThatFurtherConditionsExcludeAreRightlyMissing(t *testing.T) {
	for text, want := range map[string]int{
		"select 1 from cars where id = $1":                 1,
		"select 1 from cars where id = $1 AND price > 900": 0,
		"select 1 and 0 from cars where id = $1":           1,
		`select 1 from "cars" where id=$1`:                 1,
		"select 1 from rides where car = $1":               0, // no ride may have had this car
	} {
		for _, differs := range []bool{false, true} {
			p := &plan.Plan{Operations: []plan.Operation{{Name: "read", Steps: []plan.Step{{
				Request: protocol.Request{Verb: protocol.SQL, Text: text},
				Params: []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeReference, Table: "cars",
					Column: "id"}}}},
			}}}}}
			run := &record.Run{Operations: make([]record.Operation, 1),
				Tables: []record.TableUse{{Name: "cars", Origin: "x"}}}
			run.Operations[0].Counts = record.CountsOf(&measure.Counts{Done: 100, Missing: 5})
			if differs {
				run.Tables[0].Differs, want = message.New("table.as-planned"), 1
			}
			if got := MissedReferences(p, run); len(got) != want {
				t.Errorf("%q, differs %v: %d warnings, want %d", text, differs, len(got), want)
			}
		}
	}
}
