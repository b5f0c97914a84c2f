package planfile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/plan"
)

func mustRead(t *testing.T, path string) *plan.Plan {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(filepath.Base(path), data)
	if err != nil {
		t.Fatalf("%s must be valid:\n%v", path, err)
	}
	return p
}

// goodFiles returns the files that must be valid: the format's samples and the project's examples.
func goodFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"testdata/*.yml", "testdata/good/*.yml", "../../../examples/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s (%v)", pattern, err)
		}
		all = append(all, files...)
	}
	return all
}

// withoutPlaces clears every Position and Places in v, so that plans can be compared.
func withoutPlaces(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			withoutPlaces(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutPlaces(v.Index(i))
		}
	case reflect.Struct:
		switch v.Interface().(type) {
		case plan.Position:
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Type() == reflect.TypeFor[plan.Places]() {
				f.SetZero()
			} else if f.CanSet() && f.Type().PkgPath() != "time" {
				withoutPlaces(f)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, path := range goodFiles(t) {
		p := mustRead(t, path)
		written, err := Write(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("plan.yml", written)
		if err != nil {
			t.Errorf("%s: what was written isn't valid:\n%v\n%s", path, err, written)
			continue
		}
		withoutPlaces(reflect.ValueOf(p))
		withoutPlaces(reflect.ValueOf(again))
		if !reflect.DeepEqual(p, again) {
			t.Errorf("%s changes by writing and reading:\n%s\n%+v\n%+v", path, written, p, again)
		}
	}
}

// TestProblems compares all problems of each file in testdata/bad with the comments at its end.
func TestProblems(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yml")
	if len(files) < 30 {
		t.Fatalf("only %d bad files", len(files))
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, line := range strings.Split(string(data), "\n") {
			if w, ok := strings.CutPrefix(line, "#! "); ok {
				want = append(want, w)
			}
		}
		p, err := Read("bad.yml", data)
		var problems plan.Problems
		if p != nil || !errors.As(err, &problems) {
			t.Errorf("%s is taken as valid (%v)", path, err)
			continue
		}
		var got []string
		for _, f := range problems {
			got = append(got, strings.TrimPrefix(f.String(), "bad.yml:"))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s has the problems\n#! %s\nwant\n#! %s", path, strings.Join(got, "\n#! "), strings.Join(want, "\n#! "))
		}
	}
}

// A k6 script or a campaign that is given as a plan is refused with the name of the command that runs it.
func TestOtherFilesAreNoPlans(t *testing.T) {
	const script = "import http from 'k6/http'\nexport default function () {}\n"
	for _, c := range []struct{ name, text, want string }{
		{"load.js", script, "load.js:1:1: this is a script, and no plan; run it with brunt k6 run"},
		{"dir/load.ts", script, "dir/load.ts:1:1: this is a script, and no plan; run it with brunt k6 run"},
		{"steps.yml", "goals: [p99 < 5ms]\nplan: load.yml\nsteps:\n  - repeat: 3\n",
			"steps.yml:1:1: this is a campaign, and no plan; run it with brunt campaign run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Read(c.name, []byte(c.text)); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
