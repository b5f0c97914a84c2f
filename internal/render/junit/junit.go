// Package junit writes results as JUnit XML, which every CI server can show.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"brunt/internal/render/units"
)

// Suite is a named list of test cases.
type Suite struct {
	Name  string
	Began time.Time
	Cases []Case
}

// Case is one condition that was checked.
type Case struct {
	Class   string
	Name    string
	Seconds float64
	Failure string // why the condition doesn't hold
	Skipped string // why it couldn't be decided
	Error   string // why it couldn't be checked
	Output  string // further information
}

type suiteElement struct {
	XMLName   xml.Name      `xml:"testsuite"`
	Name      string        `xml:"name,attr"`
	Tests     int           `xml:"tests,attr"`
	Failures  int           `xml:"failures,attr"`
	Errors    int           `xml:"errors,attr"`
	Skipped   int           `xml:"skipped,attr"`
	Time      string        `xml:"time,attr"`
	Timestamp string        `xml:"timestamp,attr,omitempty"`
	Cases     []caseElement `xml:"testcase"`
}

type caseElement struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Time    string  `xml:"time,attr"`
	Failure *reason `xml:"failure"`
	Error   *reason `xml:"error"`
	Skipped *reason `xml:"skipped"`
	Output  string  `xml:"system-out,omitempty"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Write writes the suites as one XML document, in the dialect of Jenkins' xUnit plugin: testsuites, testsuite, and
// testcase with failure, error or skipped.
func Write(w io.Writer, suites ...Suite) error {
	var all struct {
		XMLName xml.Name       `xml:"testsuites"`
		Suites  []suiteElement `xml:"testsuite"`
	}
	for _, s := range suites {
		all.Suites = append(all.Suites, s.element())
	}
	text, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit's XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

func (s *Suite) element() suiteElement {
	e := suiteElement{Name: named(s.Name), Tests: len(s.Cases)}
	if !s.Began.IsZero() {
		e.Timestamp = s.Began.UTC().Format("2006-01-02T15:04:05")
	}
	var seconds float64
	for _, c := range s.Cases {
		seconds += c.Seconds
		out := caseElement{Class: named(c.Class), Name: named(c.Name), Time: fmt.Sprintf("%.3f", c.Seconds),
			Output: lines(c.Output)}
		switch {
		case c.Error != "":
			out.Error, e.Errors = because(c.Error), e.Errors+1
		case c.Failure != "":
			out.Failure, e.Failures = because(c.Failure), e.Failures+1
		case c.Skipped != "":
			out.Skipped, e.Skipped = because(c.Skipped), e.Skipped+1
		}
		e.Cases = append(e.Cases, out)
	}
	e.Time = fmt.Sprintf("%.3f", seconds)
	return e
}

// mostName and mostReason limit names and reasons, in bytes: those of others can have any length.
const (
	mostName   = 1 << 10
	mostReason = 16 << 10
)

// named returns a name as one line.
func named(s string) string { return units.Clean(units.Limited(s, mostName)) }

func because(why string) *reason {
	first, _, _ := strings.Cut(units.Limited(why, mostReason), "\n")
	return &reason{Message: units.Clean(first), Text: lines(units.Limited(why, mostReason))}
}

// lines cleans each line of a text.
func lines(s string) string {
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = units.Clean(all[i])
	}
	return strings.Join(all, "\n")
}
