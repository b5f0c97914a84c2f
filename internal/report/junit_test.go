package report

import (
	"bytes"
	"encoding/xml"
	"testing"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

func TestJUnit(t *testing.T) {
	for name, c := range map[string]struct {
		verdict                          string
		thresholds                       []record.Threshold
		tests, failures, errors, skipped int
	}{
		"pass":                   {verdict: "pass", tests: 2},
		"fail, no thresholds":    {verdict: "fail", tests: 2, failures: 1},
		"invalid, no thresholds": {verdict: "invalid", tests: 2, failures: 1, errors: 1},
		"under way":              {tests: 2, skipped: 1},
		"thresholds": {verdict: "fail",
			thresholds: []record.Threshold{{Text: "p(99) < 1ms", Value: 2e6, Unit: "ns"}, {Text: "errors < 1%", Pass: true}},
			tests:      3, failures: 1},
		"thresholds, invalid": {verdict: "invalid", thresholds: []record.Threshold{{Text: "p(99) < 1ms"}}, tests: 2,
			failures: 1, errors: 1},
		"fails despite them": {verdict: "fail", thresholds: []record.Threshold{{Text: "p(99) < 1ms", Pass: true}},
			tests: 3, failures: 1},
	} {
		run := &record.Run{Name: "a <b> \x00", Thresholds: c.thresholds}
		run.Verdict = record.Verdict{Result: c.verdict,
			Reasons: []message.Message{message.Literal("because of \x1b[31m & <it>")}}
		var b bytes.Buffer
		if err := Write(&b, "junit", run, Options{}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Suites []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Skipped  int `xml:"skipped,attr"`
				Cases    []struct {
					Name string `xml:"name,attr"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, b.String())
		}
		s := got.Suites[0]
		if s.Tests != c.tests || s.Failures != c.failures || s.Errors != c.errors || s.Skipped != c.skipped ||
			len(s.Cases) != c.tests {
			t.Errorf("%s: %+v\n%s", name, s, b.String())
		}
	}
}
