package compare

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/record"
	"brunt/internal/result"
	"brunt/internal/units"
)

// judge says what speaks against a comparison, and what the reader must know of it. Refused are runs
// that are invalid or without any success, of different programs, plans, kinds of load or generators'
// machines, and servers' versions that differ within a side. Told are different seeds, sessions,
// versions between the sides (which may be what is compared), kernels, and runs that were killed.
func judge(base, candidate []*result.Result) (refused Refused, warnings []string) {
	all := slices.Concat(base, candidate)
	refuse := func(format string, args ...any) {
		refused.Reasons = append(refused.Reasons, fmt.Sprintf(format, args...))
	}
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	var invalid, empty []*result.Result
	for _, r := range all {
		switch {
		case r.Verdict == "invalid":
			invalid = append(invalid, r)
		case !r.Succeeded():
			empty = append(empty, r)
		case r.Killed:
			warn("%s was killed or interrupted: its figures are up to its last interval", nameOf(r))
		}
	}
	if len(invalid) > 0 {
		refused.Invalid = true
		refuse("%s, first %s: %s; leave them out", ofAll(invalid, all, "is invalid", "are invalid"), nameOf(invalid[0]),
			reason(invalid[0]))
	}
	if len(empty) > 0 {
		refuse("%s, first %s", ofAll(empty, all, "has no successful operation", "have no successful operation"),
			nameOf(empty[0]))
	}
	if r := twice(all); r != nil {
		refuse("%s is named twice", nameOf(r))
	}
	var others []*result.Result
	for _, r := range all[1:] {
		if different(all[0], r) != "" {
			others = append(others, r)
		}
	}
	if len(others) > 0 {
		refuse("%s with %s, first %s: they %s", ofAll(others, all, "doesn't go", "don't go"), nameOf(all[0]),
			nameOf(others[0]), different(all[0], others[0]))
	}
	for _, side := range [][]*result.Result{base, candidate} {
		if v := distinct(side, func(r *result.Result) string { return strings.Join(r.Servers, ", ") }); len(v) > 1 {
			refuse("the servers of one side are %s", strings.Join(v, ", "))
		}
	}
	if len(candidate) > 0 {
		if a, b := sideOf(base).Version, sideOf(candidate).Version; a != b {
			warn("servers: %s → %s", orUnknown(a), orUnknown(b))
		}
	}
	return refused, append(warnings, smaller(base, candidate)...)
}

// ofAll says how many of all runs some are.
func ofAll(some, all []*result.Result, is, are string) string {
	if len(some) == 1 {
		return fmt.Sprintf("1 of %d runs %s", len(all), is)
	}
	return fmt.Sprintf("%d of %d runs %s", len(some), len(all), are)
}

// reason is the first sentence of the first reason of a run's verdict.
func reason(r *result.Result) string {
	if len(r.Reasons) == 0 {
		return "its record says no reason"
	}
	return firstSentence(r, units.English)
}

func firstSentence(r *result.Result, l units.Language) string {
	first, _, _ := strings.Cut(r.Reasons[0].In(l), "; ")
	return first
}

// reasonIn puts the reason of a verdict that a warning names into a language.
func reasonIn(l units.Language, warning string, runs []*result.Result) string {
	for _, r := range runs {
		if len(r.Reasons) > 0 {
			warning = strings.ReplaceAll(warning, reason(r), firstSentence(r, l))
		}
	}
	return warning
}

// smaller are the differences that are told.
func smaller(base, candidate []*result.Result) (warnings []string) {
	all := slices.Concat(base, candidate)
	for _, d := range []struct {
		what string
		of   func(r *result.Result) string
	}{
		{"sessions", func(r *result.Result) string { return fmt.Sprint(r.Sessions) }},
		{"kernels", func(r *result.Result) string { return machine(r).Kernel }},
		{"frequency governors", func(r *result.Result) string { return machine(r).Governor }},
	} {
		if v := distinct(all, d.of); len(v) > 1 {
			warnings = append(warnings, fmt.Sprintf("%s differ: %s", d.what, strings.Join(v, ", ")))
		}
	}
	seed := func(r *result.Result) string { return r.Seed }
	if len(candidate) == 0 {
		return warnings
	}
	if a, b := distinct(base, seed), distinct(candidate, seed); len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
		warnings = append(warnings, fmt.Sprintf("seeds differ (%s → %s): other requests were sent", strings.Join(a, ", "),
			strings.Join(b, ", ")))
	}
	return warnings
}

func machine(r *result.Result) record.Environment {
	if r.Machine == nil {
		return record.Environment{}
	}
	return *r.Machine
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func nameOf(r *result.Result) string {
	if r.Path != "" {
		return r.Path
	}
	return r.Name
}

// twice is a run that is there more than once.
func twice(all []*result.Result) *result.Result {
	seen := map[string]bool{}
	for _, r := range all {
		if r.ID != "" && seen[r.ID] {
			return r
		}
		seen[r.ID] = true
	}
	return nil
}

// distinct are the different texts that runs have, sorted; of those that tell none, none.
func distinct(runs []*result.Result, of func(*result.Result) string) (all []string) {
	for _, r := range runs {
		if s := of(r); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// different says why two runs are of different kinds.
func different(a, b *result.Result) string {
	if a.Program != b.Program {
		return fmt.Sprintf("are of %s and %s, which measure differently", a.Program, b.Program)
	}
	if a.LoadModel != b.LoadModel && a.LoadModel != "" && b.LoadModel != "" {
		return fmt.Sprintf("differ in their load, which is %s and %s", a.LoadModel, b.LoadModel)
	}
	if parts := planParts(a, b); len(parts) > 0 {
		return "have different plans: " + strings.Join(parts, ", ")
	}
	if a.Machine == nil || b.Machine == nil {
		return ""
	}
	for _, d := range []struct {
		what string
		a, b any
	}{
		{"processor", a.Machine.CPU, b.Machine.CPU}, {"cores", a.Machine.Cores, b.Machine.Cores},
		{"CPU limit", a.Machine.CPUQuota, b.Machine.CPUQuota}, {"system", a.Machine.OS + "/" + a.Machine.Arch, b.Machine.OS +
			"/" + b.Machine.Arch},
	} {
		if d.a != d.b {
			return fmt.Sprintf("were sent by different machines: %s %v and %v", d.what, d.a, d.b)
		}
	}
	return ""
}

// planParts names the parts in which two plans differ, apart from where they go, their seeds and what
// is judged.
func planParts(a, b *result.Result) (parts []string) {
	if a.PlanHash == b.PlanHash && a.PlanHash != "" {
		return nil
	}
	if len(a.Plan) == 0 || len(b.Plan) == 0 {
		if a.Name != b.Name {
			return []string{fmt.Sprintf("%q and %q", a.Name, b.Name)}
		}
		return nil
	}
	var x, y map[string]any
	if yaml.Unmarshal(a.Plan, &x) != nil || yaml.Unmarshal(b.Plan, &y) != nil {
		return []string{"one can't be read"}
	}
	apart := []string{"target", "seed", "first", "thresholds", "config_name"}
	if x["sha256"] != nil && y["sha256"] != nil {
		apart = append(apart, "name", "script") // of scripts of k6 the content counts, not where they are
		if x["imports_sha256"] == nil || y["imports_sha256"] == nil {
			apart = append(apart, "imports_sha256") // older records, and scripts without any, don't say
		}
	}
	for _, key := range slices.Sorted(maps.Keys(union(x, y))) {
		if slices.Contains(apart, key) || reflect.DeepEqual(x[key], y[key]) {
			continue
		}
		switch key {
		case "sha256":
			key = "script"
		case "imports_sha256":
			key = "script's imports and data"
		case "plans_sha256":
			key = "script's plans"
		}
		parts = append(parts, key)
	}
	return parts
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}
