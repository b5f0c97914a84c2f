package flags

import (
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
)

// given returns a Given for the flags with some names.
func given(names ...string) Given {
	return func(name string) bool { return strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") }
}

const text = `config_name: one
queries: [{name: read, sql: "SELECT 1"}]
load:
  - {name: open, constant: {rate: 100, duration: 2s}}
  - {name: closed, closed: {sessions: 4, duration: 2s}}
`

func testPlan(t *testing.T) *plan.Plan {
	t.Helper()
	p, err := planfile.Read("one.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.Target.Protocol, p.Target.Addresses = "pg", []string{"127.0.0.1:1"}
	return p
}

// Flags that weren't given don't change the plan, for any defaults.
func TestFlagsNotGivenChangeNothing(t *testing.T) {
	p := testPlan(t)
	was := p.Settings
	r := Run{Sessions: 7, Balance: "random", Retries: 9, Scale: 3, ErrorThreshold: 50}
	l := Load{Given: given(), Late: "drop", Tier: "library", Timeout: time.Hour, Pipeline: 5, WarmUp: time.Hour}
	if err := r.Apply(p, &l, nil); err != nil {
		t.Fatal(err)
	}
	if p.Settings != was {
		t.Errorf("settings became %+v", p.Settings)
	}
	if got := p.Load[1].Sessions; got != 4 {
		t.Errorf("%d sessions in the closed phase, want the plan's 4", got)
	}
}

func TestFlagsChangePlans(t *testing.T) {
	p := testPlan(t)
	r := Run{Sessions: 7, Scale: 2}
	l := Load{Given: given("vu", "scale", "late", "timeout", "retries"), Late: "drop", Timeout: 3 * time.Second,
		Poisson: true, Thresholds: []string{"errors < 1%"}}
	if err := r.Apply(p, &l, nil); err != nil {
		t.Fatal(err)
	}
	s := p.Settings
	for name, ok := range map[string]bool{
		"sessions":          s.Sessions == 7,
		"late":              s.LatePolicy == "drop",
		"timeout":           s.OperationTimeout == 3*time.Second,
		"retries 0":         s.Retries == -1,
		"Poisson":           p.Load[0].Arrivals == "poisson",
		"not Poisson":       p.Load[1].Arrivals == "",
		"sessions of phase": p.Load[1].Sessions == 0,
		"threshold":         len(p.Thresholds) == 1,
	} {
		t.Run(name, func(t *testing.T) {
			if !ok {
				t.Errorf("the plan became %+v", p)
			}
		})
	}
}

func TestFlagsAreRefused(t *testing.T) {
	for name, row := range map[string]struct {
		run  Run
		load Load
		want string
	}{
		"no sessions":     {Run{Sessions: 0}, Load{Given: given("vu")}, "--vu 0: a load needs at least 1 session"},
		"retries":         {Run{Retries: -1}, Load{Given: given("retries")}, "--retries -1: give a number of at least 0"},
		"error threshold": {Run{ErrorThreshold: 101}, Load{Given: given("error-threshold")}, "--error-threshold 101"},
		"tier":            {Run{}, Load{Given: given("tier"), Tier: "x"}, "--tier x: use auto, codec or library"},
		"timeout":         {Run{}, Load{Given: given("timeout")}, "--timeout 0s: give a time above zero"},
		"pipeline":        {Run{}, Load{Given: given("pipeline")}, "--pipeline 0"},
		"threshold":       {Run{}, Load{Given: given(), Thresholds: []string{"x"}}, `--threshold "x"`},
		"scale":           {Run{Scale: -1}, Load{Given: given("scale")}, "--scale: "},
	} {
		t.Run(name, func(t *testing.T) {
			err := row.run.Apply(testPlan(t), &row.load, nil)
			if err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestParsePart(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "1/1": true, "2/3": true, "0/3": false, "4/3": false, "1": false, "x/3": false, "1/10001": false,
	} {
		t.Run(text, func(t *testing.T) {
			r := Run{Part: text}
			if _, err := r.ParsePart(); (err == nil) != ok {
				t.Errorf("got %v, want success %t", err, ok)
			}
		})
	}
}
