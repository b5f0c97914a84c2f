package planfile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// FuzzRead checks that a file is refused with problems that have positions, or returns a plan that compiles and can be
// written.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yml", "testdata/good/*.yml", "testdata/bad/*.yml",
		"../../../examples/*.yml"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read("fuzz.yml", data)
		if err != nil {
			var problems plan.Problems
			if p != nil || !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("plan %v, error %#v", p, err)
			}
			for _, problem := range problems {
				if problem.At.Line < 1 || problem.At.Column < 1 || problem.Text == "" {
					t.Fatalf("problem without a place or text: %+v", problem)
				}
			}
			return
		}
		written, err := Write(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("fuzz.yml", written)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, written)
		}
		if len(p.Operations) > 0 {
			if _, err := workload.Compile(p); err != nil {
				t.Fatalf("a valid plan doesn't compile: %v", err)
			}
		}
		if secretive(p) {
			return
		}
		withoutPlaces(reflect.ValueOf(p))
		withoutPlaces(reflect.ValueOf(again))
		if !reflect.DeepEqual(p, again) {
			t.Fatalf("changed by writing:\n%+v\n%+v\n%s", p, again, written)
		}
	})
}

// secretive reports whether Write hides a secret of p.
func secretive(p *plan.Plan) bool {
	for _, a := range p.Target.Addresses {
		if secret.Text(a) != a {
			return true
		}
	}
	for k := range p.Target.Options {
		if secret.Name(k) {
			return true
		}
	}
	var webs []*protocol.Web
	for i := range p.Faults {
		webs = append(webs, &p.Faults[i].HTTP.Inject, &p.Faults[i].HTTP.Heal)
	}
	for _, op := range p.Operations {
		for _, s := range op.Steps {
			for _, w := range []*protocol.Web{s.Request.Web, s.Wrong.Request.Web} {
				if w != nil {
					webs = append(webs, w)
				}
			}
		}
	}
	for _, w := range webs {
		for _, h := range w.Header {
			if secret.Name(h[0]) {
				return true
			}
		}
	}
	return false
}
