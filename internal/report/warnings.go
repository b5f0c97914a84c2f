package report

import (
	"cmp"
	"slices"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// weight says how much a warning matters to somebody who reads a result. Warnings are shown in its order.
type weight uint8

// The weights, the heaviest first.
const (
	heavy  weight = iota // the record lacks something, the load wasn't the plan's, or data may be wrong
	usual                // something to do or to look into
	light                // it follows from the kind of load or from this machine
	remark               // nothing to do
)

// heavyWarnings and lightWarnings have other weights than the usual one.
var (
	heavyWarnings = []string{
		verdict.WarnIncomplete, verdict.WarnInterrupted, verdict.WarnWorkerLost, verdict.WarnUnknownOutcome,
		verdict.WarnBadHash, verdict.WarnMisdirected, verdict.WarnDropped, verdict.WarnErrors,
		"record-damaged", "record-disk-full", "record-write-failed", "fault-failed", "fault-not-healed", "watchdog-gone",
		"decision-late", "table-differs", "table-rows", "reference-missing", "sequence-start", "writes-returned",
		"writes-unchecked", "writes-stale", "writes-unread", "k6-exceptions", "pooler",
	}
	lightWarnings = []string{
		verdict.WarnClosedLoad, verdict.WarnShortRun, verdict.WarnFewSamples, verdict.WarnShared, verdict.WarnGovernor,
		verdict.WarnLibraryTier, verdict.WarnTLSLibraryTier, verdict.WarnTolerance, "mixed-load", "k6-service-time",
		"k6-no-data",
	}
)

// weightOf returns the weight of a warning.
func weightOf(w *record.Warning) weight {
	switch {
	case slices.Contains(heavyWarnings, w.ID):
		return heavy
	case slices.Contains(lightWarnings, w.ID):
		return light
	case w.Remedy.IsZero():
		return remark
	}
	return usual
}

// weighed returns the warnings of a run, the heaviest first, and those of one kind next to each other.
func weighed(run *record.Run) []record.Warning {
	first := map[string]int{}
	for i, w := range run.Warnings {
		if _, seen := first[w.ID]; !seen {
			first[w.ID] = i
		}
	}
	all := slices.Clone(run.Warnings)
	slices.SortStableFunc(all, func(a, b record.Warning) int {
		return cmp.Or(cmp.Compare(weightOf(&a), weightOf(&b)), cmp.Compare(first[a.ID], first[b.ID]))
	})
	return all
}

// warnings is the list of warnings.
func (t *writer) warnings() cell.Table {
	out := cell.Table{ID: "warnings", Title: t.say("WARNINGS"), Kind: cell.List}
	for _, w := range weighed(t.run) {
		t.warning(&out, &w, "")
	}
	return out
}

// warning adds a warning and its remedy. more follows the text.
func (t *writer) warning(out *cell.Table, w *record.Warning, more string) {
	out.Add(cell.Text("!").Marked(cell.Warn), cell.Text(w.Text.In(t.l)+" ["+units.Clean(w.ID)+"]"+more))
	if !w.Remedy.IsZero() {
		sign := cell.Text("→").Marked(cell.Dim)
		sign.Depth = 1
		out.Add(sign, cell.Text(w.Remedy.In(t.l)).Marked(cell.Dim))
	}
}

// mostWarnings limits the warnings of a brief report that are told in full.
const mostWarnings = 3

// gist lists the warnings of a brief report: the heaviest in full, each kind once, and the names of the others. What
// the reasons of the verdict say already is left out.
func (t *writer) gist() cell.Table {
	out := cell.Table{ID: "warnings", Kind: cell.List}
	kinds := map[string]int{}
	for _, w := range t.run.Warnings {
		kinds[w.ID]++
	}
	full := 0
	var others []string
	for _, w := range weighed(t.run) {
		times := kinds[w.ID]
		delete(kinds, w.ID)
		switch {
		case times == 0 || w.ID == verdict.WarnGeneratorLimited:
		case weightOf(&w) <= usual && full < mostWarnings:
			full++
			more := ""
			if times > 1 {
				more = t.say(", and %d more of this kind", times-1)
			}
			t.warning(&out, &w, more)
		default:
			others = append(others, w.ID)
		}
	}
	if len(others) > 0 {
		out.Add(cell.Text("!").Marked(cell.Dim), cell.Text(t.say("also: %s", strings.Join(others, ", "))).Marked(cell.Dim))
	}
	return out
}

// whereabouts says where the record is and how to read more of it.
func (t *writer) whereabouts() cell.Table {
	out := cell.Table{ID: "record", Kind: cell.List}
	text := t.say("--output text says more")
	if t.path != "" {
		text = t.say("record %s: brunt report says more", units.Clean(t.path))
	}
	out.Add(cell.Text(""), cell.Text(text).Marked(cell.Dim))
	return out
}
