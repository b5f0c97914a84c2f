package report

import (
	"bytes"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// No report calls an interrupted run passed, whatever holds up to the interrupt. What failed by then has failed.
func TestAnInterruptedRunHasNotPassed(t *testing.T) {
	for name, row := range map[string]struct{ result, want string }{
		"pass": {verdict.Pass, "INTERRUPTED"}, "fail": {verdict.Fail, "INTERRUPTED, FAIL"},
		"invalid": {verdict.Invalid, "INTERRUPTED, INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &record.Run{Name: "cut", Complete: true, Interrupted: true, Verdict: record.Verdict{Result: row.result}}
			for form, write := range map[string]func(*bytes.Buffer) error{
				"text":     func(b *bytes.Buffer) error { return Terminal(b, run, Options{}) },
				"brief":    func(b *bytes.Buffer) error { return Brief(b, run, Options{}) },
				"markdown": func(b *bytes.Buffer) error { return Markdown(b, run, Options{}) },
			} {
				t.Run(form, func(t *testing.T) {
					var b bytes.Buffer
					if err := write(&b); err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(b.String(), " "+row.want) || strings.Contains(b.String(), "PASS") {
						t.Errorf("no %s in\n%s", row.want, &b)
					}
				})
			}
			if text, _ := verdictOf(run, units.Russian); !strings.HasPrefix(text, "прервано") {
				t.Errorf("in Russian: %s", text)
			}
			var b bytes.Buffer
			if err := JUnit(&b, run, Options{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "<error") && !strings.Contains(b.String(), "<failure") {
				t.Errorf("JUnit has neither an error nor a failure:\n%s", &b)
			}
		})
	}
}
