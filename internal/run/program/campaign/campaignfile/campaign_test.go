package campaignfile

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan/planfile/form/formtest"
)

const schemaPath = "../../../../../docs/campaign.schema.json"

// documented returns the campaign in the documentation.
func documented(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile("../../../../../docs/campaign.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml campaign\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/campaign.md shows no campaign")
	}
	return found[1]
}

func TestDocumentedCampaign(t *testing.T) {
	c, err := Read("shop.yml", documented(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "shop" || len(c.Steps) != 10 || c.Steps[2].Duration != time.Hour || c.Steps[4].Kind != StepFix ||
		!c.Steps[4].Advisor {
		t.Errorf("%+v", c)
	}
	if m := c.Steps[8]; len(m.Grid) != 2 || m.Grid[0].Name != "THREADS" ||
		strings.Join(m.Grid[0].Values, " ") != "5 10 80" {
		t.Errorf("matrix: %+v", m)
	}
	if c.Settings[0] != (Setting{"THREADS", "5"}) || c.Service.Run.Shell == "" || c.Service.Ready[0].URL == "" ||
		c.Service.Within != time.Minute {
		t.Errorf("service: %+v with %+v", c.Service, c.Settings)
	}
}

// TestSchemaIsWritten compares docs/campaign.schema.json with the table of fields. BRUNT_UPDATE=1 writes the
// file.
func TestSchemaIsWritten(t *testing.T) {
	want := Schema()
	if os.Getenv("BRUNT_UPDATE") != "" {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaPath)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s isn't what the table of fields says (%v); write it with BRUNT_UPDATE=1", schemaPath, err)
	}
	s := formtest.Compile(t, got)
	if err := s.Validate(t, documented(t)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"steps: []\n", "plan: x\n", "steps: [{serch: {}}]\n", "steps: [{search: {trials: 1}}]\n",
		"steps: [{search: {}, fix: {}}]\n"} {
		if s.Validate(t, []byte(bad)) == nil {
			t.Errorf("%q passes the schema", bad)
		}
	}
}

func TestProblemsHavePlaces(t *testing.T) {
	for text, want := range map[string]string{
		"steps:\n  - search: {trial: 5}\n":                                    "c.yml:2:5: step search names no plan; add plan: FILE to the step, or to the campaign",
		"plan: p\nsteps:\n  - search: {trials: x}\n":                          "c.yml:3:22: trials is a text instead of a whole number; write a number without quotes",
		"plan: p\nsteps: []\n":                                                "c.yml:2:8: steps is empty; add to it or remove it",
		"plan: p\nsteps: [{search: {}}, {matrix: {grid: {A: 1}}}]\n":          "A is a number instead of a list of values",
		"plan: p\nsettings: {A: [1]}\nsteps: [{search: {}}]\n":                "A is a list instead of a text, number, true or false",
		"plan: p\nservice: {run: a, reconfigure: b}\nsteps: [{search: {}}]\n": "run and reconfigure exclude each other",
		"plan: p\nsteps: [{document: {lang: de}}]\n":                          `unknown lang "de"; use en, ru`,
		"plan: p\nsteps: [{repeat: []}]\n":                                    "step repeat names no steps",
		"":                                                                    "the file is empty",
		"\nqueries:\n  - {name: q, rows: 1}\n":                                "c.yml:2:1: this is a plan, and no campaign; run it with brunt run",
	} {
		_, err := Read("c.yml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("plan: p\nsteps: [{search: {}}, {repeat: [search]}, {matrix: {at: 1, cells: [{A: 1}]}}]\n"))
	f.Add([]byte("steps:\n  - {analyse: , before: [[a, b], c]}\nservice: {ready: [{exec: [x]}]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read("c.yml", text)
		if (c == nil) == (err == nil) {
			t.Errorf("campaign %v, error %v", c, err)
		}
	})
}
