//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ending describes how a script ended.
type ending struct {
	code        int
	interrupted bool // this program interrupted the script
	summed      bool // the script ended with a summary
	metrics     []string
	checks      map[string]string // by path: "passed", "failed" or "mixed"
	iterations  float64
}

// summary contains the fields of k6's --summary-export that are compared.
type summary struct {
	Group   group `json:"root_group"`
	Metrics map[string]struct {
		Count float64 `json:"count"`
	} `json:"metrics"`
}

type group struct {
	Groups map[string]group `json:"groups"`
	Checks map[string]struct {
		Path          string `json:"path"`
		Passes, Fails uint64
	} `json:"checks"`
}

// read reads a summary in JSON.
func (e *ending) read(data []byte) error {
	var s summary
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	e.summed, e.checks = true, map[string]string{}
	e.metrics = slices.Sorted(maps.Keys(s.Metrics))
	e.iterations = s.Metrics["iterations"].Count
	e.addChecks(&s.Group)
	return nil
}

func (e *ending) addChecks(g *group) {
	for _, c := range g.Checks {
		switch {
		case c.Fails == 0:
			e.checks[c.Path] = "passed"
		case c.Passes == 0:
			e.checks[c.Path] = "failed"
		default:
			e.checks[c.Path] = "mixed"
		}
	}
	for _, inner := range g.Groups {
		e.addChecks(&inner)
	}
}

// differences returns the differences between two endings. If both scripts were interrupted, only the exit codes are
// compared, because it depends on chance what the scripts had done by then.
func (e *ending) differences(o *ending) (all []string) {
	if e.code != o.code {
		all = append(all, fmt.Sprintf("exit codes %d and %d", e.code, o.code))
	}
	if e.interrupted != o.interrupted {
		all = append(all, "one was interrupted")
	}
	if e.interrupted || o.interrupted {
		return all
	}
	if e.summed != o.summed {
		return append(all, "one has no summary")
	}
	if !slices.Equal(e.metrics, o.metrics) {
		all = append(all, "metrics "+strings.Join(onlyIn(e.metrics, o.metrics), ", "))
	}
	if !maps.Equal(e.checks, o.checks) {
		all = append(all, fmt.Sprintf("checks %v and %v", e.checks, o.checks))
	}
	if e.iterations != o.iterations {
		all = append(all, fmt.Sprintf("%g and %g iterations", e.iterations, o.iterations))
	}
	return all
}

// onlyIn returns the names that are in only one of two lists.
func onlyIn(a, b []string) (out []string) {
	for _, name := range a {
		if !slices.Contains(b, name) {
			out = append(out, name+" of k6")
		}
	}
	for _, name := range b {
		if !slices.Contains(a, name) {
			out = append(out, name+" of brunt")
		}
	}
	return out
}

// String implements fmt.Stringer.
func (e *ending) String() string {
	text := fmt.Sprintf("exit %d", e.code)
	if e.interrupted {
		return text + ", interrupted"
	}
	if !e.summed {
		return text + ", no summary"
	}
	held := 0
	for _, state := range e.checks {
		if state == "passed" {
			held++
		}
	}
	text += fmt.Sprintf(", %g iterations", e.iterations)
	if e.iterations == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if len(e.checks) > 0 {
		text += fmt.Sprintf(", %d of %d checks held", held, len(e.checks))
	}
	return text
}
