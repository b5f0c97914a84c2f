package form_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
	"brunt/internal/plan/planfile/form/formtest"
)

// sample has a value of each form.
type sample struct {
	At    plan.Position
	Name  string
	Level string
	On    bool
	Count int
	Seed  uint64
	Size  uint32
	Share float64
	Rate  float64
	Wait  time.Duration
	Tags  []string
	Waits []time.Duration
	Inner []sample
}

func format() *form.Mapping {
	fields := []form.Field{
		form.Required("name", "Name", form.Name(), "of the sample"),
		form.Key("level", "Level", form.Choice{"low", "high"}, ""),
		form.Key("on", "On", form.Flag{}, ""),
		form.Key("count", "Count", form.Whole(1, 9), ""),
		form.Key("seed", "Seed", form.Unsigned{}, ""),
		form.Key("size", "Size", form.Unsigned{Above: true}, ""),
		form.Key("share", "Share", form.Decimal{Bounded: true, Hi: 1}, ""),
		form.Key("rate", "Rate", form.Positive(), ""),
		form.Key("wait", "Wait", form.Span{Above: true}, ""),
		form.Key("tags", "Tags", form.Names(), ""),
		form.Key("waits", "Waits", form.List{Of: form.Span{}}, ""),
	}
	inner := form.NewMapping("inner", "an inner sample", fields...)
	return form.NewMapping("", "the sample",
		append(fields[:len(fields):len(fields)], form.Key("inner", "Inner", form.List{Of: inner, Full: true}, ""))...)
}

// read returns the sample in a text, or the problems.
func read(text string) (*sample, plan.Problems) {
	r := &form.Reader{File: "s.yml", Kind: form.Kind{Noun: "sample", Least: "name"}}
	s := &sample{}
	if root := r.Document([]byte(text)); root != nil {
		format().Read(r, "", root, form.ValueOf(s))
	}
	return s, r.Problems
}

// write returns the text of a sample.
func write(t *testing.T, s *sample) string {
	t.Helper()
	text, err := yaml.Dump(format().Write(form.ValueOf(s)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// placeless returns a sample without its places in the file.
func placeless(s sample) sample {
	s.At = plan.Position{}
	for i := range s.Inner {
		s.Inner[i] = placeless(s.Inner[i])
	}
	return s
}

// The reader stores each value, and the writer's text means the same, to the reader and to the schema.
func TestValues(t *testing.T) {
	schema := formtest.Compile(t, format().Document("sample.schema.json", nil))
	for text, want := range map[string]sample{
		"name: a":                               {Name: "a"},
		"{name: a, level: HIGH}":                {Name: "a", Level: "high"},
		"{name: a, on: true}":                   {Name: "a", On: true},
		"{name: a, count: 9}":                   {Name: "a", Count: 9},
		"{name: a, seed: 18446744073709551615}": {Name: "a", Seed: 1<<64 - 1},
		"{name: a, size: 4294967295}":           {Name: "a", Size: 1<<32 - 1},
		"{name: a, share: 1}":                   {Name: "a", Share: 1},
		"{name: a, rate: 1e-9}":                 {Name: "a", Rate: 1e-9},
		"{name: a, wait: 1m30s}":                {Name: "a", Wait: 90 * time.Second},
		"{name: a, wait: 0.5}":                  {Name: "a", Wait: time.Second / 2},
		"{name: a, tags: [b, 'true']}":          {Name: "a", Tags: []string{"b", "true"}},
		"{name: a, tags: ['', b]}":              {Name: "a", Tags: []string{"", "b"}},
		"{name: a, waits: [1s, 0]}":             {Name: "a", Waits: []time.Duration{time.Second, 0}},
		"{name: 2026-11-26}":                    {Name: "2026-11-26"},
		"{name: &x a, tags: [*x, *x]}":          {Name: "a", Tags: []string{"a", "a"}},
		"{name: a, inner: [{name: b}]}":         {Name: "a", Inner: []sample{{Name: "b"}}},
		"{<<: {name: b, on: true}, name: a}":    {Name: "a", On: true},
	} {
		t.Run(text, func(t *testing.T) {
			got, problems := read(text)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if !reflect.DeepEqual(placeless(*got), want) {
				t.Errorf("read %+v, want %+v", *got, want)
			}
			written := write(t, got)
			again, problems := read(written)
			if len(problems) > 0 || !reflect.DeepEqual(placeless(*again), want) {
				t.Errorf("written as %q, which is read as %+v, %v", written, *again, problems)
			}
			if err := schema.Validate(t, []byte(written)); err != nil {
				t.Errorf("the schema refuses %q: %v", written, err)
			}
		})
	}
}

// Each problem is named with its place, and the schema refuses what the reader refuses.
func TestProblems(t *testing.T) {
	schema := formtest.Compile(t, format().Document("sample.schema.json", nil))
	for text, want := range map[string]string{
		"[name, a]":                         "s.yml:1:1: the sample is a list instead of a mapping; write keys and values",
		"on: true":                          "s.yml:1:1: the sample has no name; add name",
		"{name: a, nmae: b}":                `s.yml:1:11: unknown key "nmae" in the sample; did you mean name?`,
		"{name: ''}":                        "s.yml:1:8: name is empty; write a name or remove it",
		"{name: [a]}":                       "s.yml:1:8: name is a list instead of a text; put it in quotes",
		"{name: a, level: medium}":          `s.yml:1:18: unknown level "medium"; use low, high`,
		"{name: a, on: 1}":                  "s.yml:1:15: on is a number instead of true or false; write true or false",
		"{name: a, count: 10}":              "s.yml:1:18: count is 10; write a number from 1 to 9",
		"{name: a, seed: -1}":               "s.yml:1:17: seed is -1",
		"{name: a, size: 0}":                "s.yml:1:17: size is 0; write a number above 0 or remove it",
		"{name: a, share: 1.5}":             "s.yml:1:18: share is 1.5; write a number from 0 to 1",
		"{name: a, rate: 0}":                "s.yml:1:17: rate is 0; write a number above 0",
		"{name: a, rate: .nan}":             "s.yml:1:17: rate is .nan",
		"{name: a, wait: 0}":                "s.yml:1:17: wait is 0; write a time above 0, such as 10s",
		"{name: a, wait: soon}":             "s.yml:1:17: wait is",
		"{name: a, tags: b}":                "s.yml:1:17: tags is a text instead of a list; write a list",
		"{name: a, inner: []}":              "s.yml:1:18: inner is empty; add to it or remove it",
		"name: a\ninner:\n- {on: true}":     "s.yml:3:3: an inner sample has no name; add name",
		"name: a\ninner: [{name: b, c: 1}]": `s.yml:2:19: unknown key "c" in an inner sample`,
	} {
		t.Run(text, func(t *testing.T) {
			_, problems := read(text)
			if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), want) {
				t.Errorf("the problems are %v, want %s", problems, want)
			}
			if !strings.Contains(text, ".nan") && schema.Validate(t, []byte(text)) == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// What isn't one document of the right kind is refused with one problem.
func TestDocuments(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " # a comment\n", "s.yml:1:1: the file is empty; write at least name"},
		{"two documents", "name: a\n---\nname: b\n", "s.yml:2:1: the file holds a second document; keep one sample a file"},
		{"a tab", "name: a\ninner:\n\t- b\n", "s.yml:3:1: not YAML: a tab in the indentation; indent with spaces"},
		{"no UTF-8", "name: a\ntags: [\xff]\n", "s.yml:2:8: the text is not UTF-8; save the file as UTF-8"},
		{"a plan", "queries: []\n", "s.yml:1:1: this is a plan, and no sample; run it with brunt run"},
		{"a campaign", "steps: []\n", "s.yml:1:1: this is a campaign, and no sample; run it with brunt campaign run"},
		{"too large", strings.Repeat("#", form.MaxBytes+1), "s.yml:1:1: the file has 16777217 bytes, more than 16777216"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, problems := read(c.text); len(problems) != 1 || !strings.HasPrefix(problems[0].String(), c.want) {
				t.Errorf("the problems are %v, want %s", problems, c.want)
			}
		})
	}
}

// Whatever the text, the reader says what is wrong, or what it read can be written and is read as the same.
func FuzzRead(f *testing.F) {
	f.Add("{name: a, level: low, on: true, count: 3, seed: 7, size: 1, share: .5, rate: 2, wait: 1m, tags: [x]}")
	f.Add("name: &a a\ninner:\n- {<<: {wait: 1}, name: *a}\n")
	f.Add("name: \"\\u0085\"\ntags: ['', ~, 1]")
	f.Fuzz(func(t *testing.T, text string) {
		first, problems := read(text)
		if len(problems) > 0 {
			return
		}
		written := write(t, first)
		second, problems := read(written)
		if len(problems) > 0 {
			t.Fatalf("written as %q: %v", written, problems)
		}
		if again := write(t, second); !bytes.Equal([]byte(again), []byte(written)) {
			t.Errorf("written as %q, and then as %q", written, again)
		}
	})
}
