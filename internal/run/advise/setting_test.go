package advise

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brunt/internal/judge/result"
	"brunt/internal/record"
)

// Settings pay if the response time falls and nobody pays for it; whatever the verdict, they are restored.
func TestSettingsAreJudgedAndRestored(t *testing.T) {
	for _, row := range []struct {
		name        string
		read, write float64 // factors on the response times with the settings
		errors      float64 // share of requests that fail with the settings; 0.1 without
		advised     bool
		why         string
	}{
		{"all faster", 0.5, 0.6, 0.1, true, "the mean response time changes by −"},
		{"nothing", 1, 1, 0.1, false, "nothing is better for sure"},
		{"slower", 1.5, 1.5, 0.1, false, "it is worse with it"},
		{"writes pay", 0.4, 1.4, 0.1, false, "put pay for it: "},
		{"writes pay a little", 0.4, 1.02, 0.1, false, "put pay for it: "},
		{"reads pay", 1.4, 0.2, 0.1, false, "get pay for it: "},
		{"failures", 0.5, 0.5, 0.6, false, "more requests fail"},
		{"fewer failures", 1, 1, 0, true, "fewer requests fail"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &shop{}
			run := func(context.Context, string) (*result.Result, []record.Inspection, error) {
				s.runs++
				r := &result.Result{Program: "brunt", ID: fmt.Sprint(s.runs), Name: "x", LoadModel: "open", Verdict: "pass"}
				noise := 1 + 0.001*float64(s.runs*7%5)
				get, put, failed := 1e6*noise, 1e6*noise, 0.1
				if slices.Contains(s.indexes, "a") {
					get, put, failed = get*row.read, put*row.write, row.errors
				}
				r.Add("response.avg", "", (get+put)/2)
				r.Add("response.avg", "get", get)
				r.Add("response.avg", "put", put)
				r.Add("rate", "", 100)
				r.Add("errors", "", failed+0.0001*float64(s.runs%3))
				return r, nil, nil
			}
			trial := &Trial{Database: s, Run: run, Times: 5, Say: func(string) {}, Writers: []string{"put"}}
			proofs, err := trial.Prove(t.Context(), []record.Proposal{{Name: "a", DDL: "create a", Drop: "drop a",
				Proof: record.ProofSetting}})
			if err != nil {
				t.Fatal(err)
			}
			p := &proofs[0]
			if p.Advised != row.advised || p.Kept || !strings.HasPrefix(p.Why.String(), row.why) || p.Order != "ABBAABBAAB" {
				t.Errorf("%v: %s, %+v", p.Advised, p.Why, p)
			}
			if len(s.indexes) > 0 {
				t.Errorf("left: %q", s.indexes)
			}
		})
	}
}
