package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
)

// mostChanges is how many changes the terminal shows.
const mostChanges = 12

// changes are what the run saw while it ran.
func changes(p *page, run *record.Run) {
	if len(run.Hints) == 0 {
		return
	}
	p.heading("CHANGES", "hints, no proof: about one steady run in eight has one by chance")
	hints := slices.Clone(run.Hints)
	slices.SortStableFunc(hints, func(a, b record.Hint) int { return cmp.Compare(beganNs(&a), beganNs(&b)) })
	shown := hints[:min(len(hints), mostChanges)]
	for _, h := range shown {
		at := padLeft(units.Span(time.Duration(beganNs(&h)).Round(time.Second)), 10) + "  "
		p.paragraph("  "+at, dim, HintText(&h), plain)
	}
	if more := uint64(len(run.Hints)-len(shown)) + run.HintsMore; more > 0 {
		p.line(p.o.paint(fmt.Sprintf("  and %s, see %s", units.Plural(more, "other", "others"), record.RunFile), dim))
	}
}

// beganNs is when a change did, on the run's clock. Records of old only know when it came to light.
func beganNs(h *record.Hint) int64 {
	if h.BeganNs == 0 {
		return h.AtNs
	}
	return h.BeganNs
}

// HintText says a hint in words: what changed, from what to what, and how much that is.
func HintText(h *record.Hint) string {
	s := hintWords(h)
	if h.Operation != "" && h.Operation != "all" {
		s = units.Clean(h.Operation) + ": " + s
	}
	return s
}

func hintWords(h *record.Hint) string {
	switch {
	case h.Metric == "generator":
		return fmt.Sprintf("the generator itself stood still for %s (suspended, stopped or starved): what this interval shows is its own doing, not the server's", units.Span(time.Duration(h.To)))
	case h.Kind == "pause":
		return fmt.Sprintf("pause: nothing succeeded for %s, after %s/s before", units.Span(time.Duration(h.LengthNs)), units.Rate(h.From))
	case h.Kind == "recovery":
		return fmt.Sprintf("recovery: operations succeed again, %s/s", units.Rate(h.To))
	}
	name, value := hintMetric(h.Metric)
	verb := "rose"
	if h.To < h.From {
		verb = "fell"
	}
	s := fmt.Sprintf("%s %s from %s to %s", name, verb, value(h.From), value(h.To))
	if h.Ratio > 0 {
		s += " (×" + units.Digits3(h.Ratio) + ")"
	}
	if h.Kind == "start-up" {
		s = "start-up: " + s
	}
	return s
}

func hintMetric(metric string) (name string, value func(float64) string) {
	switch metric {
	case "p99":
		return "response p99", units.Latency
	case "throughput":
		return "throughput", func(x float64) string { return units.Rate(x) + "/s" }
	case "errors":
		return "share of failures", units.Fraction
	}
	return units.Clean(metric), units.Digits3
}
