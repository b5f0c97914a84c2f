package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// judge returns the reasons against a comparison, and warnings for one that is made. The reasons are: runs that are
// invalid or without any success; a run given twice; runs of different programs, plans, kinds of load or generator
// machines; and server versions that differ within a side. The warnings are about different seeds, numbers of sessions,
// kernels and CPU governors, server versions that differ between the sides (which may be what is compared), and runs
// that were killed.
func judge(base, candidate []*result.Result) (refused Refused, warnings []message.Message) {
	all := slices.Concat(base, candidate)
	refuse := func(m message.Message) { refused.Reasons = append(refused.Reasons, m) }
	var invalid, empty []*result.Result
	for _, r := range all {
		switch {
		case r.Verdict == "invalid":
			invalid = append(invalid, r)
		case !r.Succeeded():
			empty = append(empty, r)
		case r.Killed:
			warnings = append(warnings, message.New("compare.killed", message.Text("run", nameOf(r))))
		}
	}
	if len(invalid) > 0 {
		refused.Invalid = true
		refuse(message.New("compare.invalid", message.Count("n", len(invalid)), message.Count("all", len(all)),
			message.Text("run", nameOf(invalid[0])), message.Nested("why", reason(invalid[0]))))
	}
	if len(empty) > 0 {
		refuse(message.New("compare.nothing-succeeded", message.Count("n", len(empty)), message.Count("all", len(all)),
			message.Text("run", nameOf(empty[0]))))
	}
	switch r, other := twice(all); {
	case r == nil:
	case nameOf(r) == nameOf(other):
		refuse(message.New("compare.twice", message.Text("run", nameOf(r))))
	default:
		refuse(message.New("compare.copy", message.Text("run", nameOf(r)), message.Text("of", nameOf(other))))
	}
	var others []*result.Result
	for _, r := range all[1:] {
		if why := different(all[0], r); !why.IsZero() {
			others = append(others, r)
		}
	}
	if len(others) > 0 {
		refuse(message.New("compare.different", message.Count("n", len(others)), message.Count("all", len(all)),
			message.Text("with", nameOf(all[0])), message.Text("run", nameOf(others[0])),
			message.Nested("why", different(all[0], others[0]))))
	}
	for _, side := range [][]*result.Result{base, candidate} {
		if v := distinct(side, func(r *result.Result) string { return strings.Join(r.Servers, ", ") }); len(v) > 1 {
			refuse(message.New("compare.servers-of-side", message.Text("servers", strings.Join(v, ", "))))
		}
	}
	if len(candidate) > 0 {
		if a, b := sideOf(base).Version, sideOf(candidate).Version; a != b {
			warnings = append(warnings, message.New("compare.servers", message.Text("from", cmp.Or(a, "unknown")),
				message.Text("to", cmp.Or(b, "unknown"))))
		}
	}
	return refused, append(warnings, smaller(base, candidate)...)
}

// reason returns the first reason of a run's verdict.
func reason(r *result.Result) message.Message {
	if len(r.Reasons) == 0 {
		return message.New("compare.no-reason")
	}
	return r.Reasons[0]
}

// smaller returns warnings about the differences that do not prevent a comparison.
func smaller(base, candidate []*result.Result) (warnings []message.Message) {
	all := slices.Concat(base, candidate)
	for _, d := range []struct {
		what message.Message
		of   func(r *result.Result) string
	}{
		{message.New("compare.sessions"), func(r *result.Result) string { return fmt.Sprint(r.Sessions) }},
		{message.New("compare.kernels"), func(r *result.Result) string { return machine(r).Kernel }},
		{message.New("compare.governors"), func(r *result.Result) string { return machine(r).Governor }},
	} {
		if v := distinct(all, d.of); len(v) > 1 {
			warnings = append(warnings, message.New("compare.differ", message.Nested("what", d.what),
				message.Text("values", strings.Join(v, ", "))))
		}
	}
	seed := func(r *result.Result) string { return r.Seed }
	if len(candidate) == 0 {
		return warnings
	}
	if a, b := distinct(base, seed), distinct(candidate, seed); len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
		warnings = append(warnings, message.New("compare.seeds", message.Text("from", strings.Join(a, ", ")),
			message.Text("to", strings.Join(b, ", "))))
	}
	return warnings
}

func machine(r *result.Result) record.Environment {
	if r.Machine == nil {
		return record.Environment{}
	}
	return *r.Machine
}

func nameOf(r *result.Result) string { return cmp.Or(r.Path, r.Name) }

// twice returns a run that is given more than once, and how it was given before; nil if there is none.
func twice(all []*result.Result) (r, before *result.Result) {
	seen := map[string]*result.Result{}
	for _, r := range all {
		if before := seen[r.ID]; r.ID != "" && before != nil {
			return r, before
		}
		seen[r.ID] = r
	}
	return nil, nil
}

// distinct returns the different values of the function of over all runs, sorted. Empty values are left out.
func distinct(runs []*result.Result, of func(*result.Result) string) (all []string) {
	for _, r := range runs {
		if s := of(r); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// different returns the reason why two runs can't be compared, the zero message if they can.
func different(a, b *result.Result) message.Message {
	if a.Program != b.Program {
		return message.New("compare.programs", message.Text("a", a.Program), message.Text("b", b.Program))
	}
	if a.LoadModel != b.LoadModel && a.LoadModel != "" && b.LoadModel != "" {
		return message.New("compare.loads", message.Text("a", a.LoadModel), message.Text("b", b.LoadModel))
	}
	if parts := planParts(a, b); len(parts) > 0 {
		return message.New("compare.plans", message.Nested("parts", message.List(parts...)))
	}
	if a.Machine == nil || b.Machine == nil {
		return message.Message{}
	}
	for _, d := range []struct {
		what message.Message
		a, b any
	}{
		{message.New("compare.processor"), a.Machine.CPU, b.Machine.CPU},
		{message.New("compare.cores"), a.Machine.Cores, b.Machine.Cores},
		{message.New("compare.cpu-limit"), a.Machine.CPUQuota, b.Machine.CPUQuota},
		{message.New("compare.system"), a.Machine.OS + "/" + a.Machine.Arch, b.Machine.OS + "/" + b.Machine.Arch},
	} {
		if d.a != d.b {
			return message.New("compare.machines", message.Nested("what", d.what), message.Text("a", fmt.Sprint(d.a)),
				message.Text("b", fmt.Sprint(d.b)))
		}
	}
	return message.Message{}
}

// planParts names the parts in which two plans differ; see apartFrom.
func planParts(a, b *result.Result) (parts []message.Message) {
	if a.PlanHash == b.PlanHash && a.PlanHash != "" {
		return nil
	}
	if len(a.Plan) == 0 || len(b.Plan) == 0 {
		if a.Name != b.Name {
			return []message.Message{message.New("compare.names", message.Text("a", strconv.Quote(a.Name)),
				message.Text("b", strconv.Quote(b.Name)))}
		}
		return nil
	}
	var x, y map[string]any
	if yaml.Unmarshal(a.Plan, &x) != nil || yaml.Unmarshal(b.Plan, &y) != nil {
		return []message.Message{message.New("compare.unreadable-plan")}
	}
	apart := apartFrom(x, y)
	both := map[string]any{}
	maps.Copy(both, x)
	maps.Copy(both, y)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if slices.Contains(apart, key) || reflect.DeepEqual(x[key], y[key]) {
			continue
		}
		parts = append(parts, partName(key))
	}
	return parts
}

// Fingerprint identifies what must be equal for two runs to be compared over time: the kind of the load, and the plan
// without the parts that may differ. It is "" for programs whose results don't contain their plan.
func Fingerprint(r *result.Result) string {
	if len(r.Plan) == 0 {
		return ""
	}
	var x map[string]any
	if yaml.Unmarshal(r.Plan, &x) != nil {
		return ""
	}
	for _, key := range apartFrom(x, x) {
		delete(x, key)
	}
	text, err := json.Marshal(x) // keys are sorted
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append([]byte(r.LoadModel+"\n"), text...))
	return hex.EncodeToString(sum[:8])
}

// apartFrom returns the parts in which two plans may differ: targets, seeds, thresholds and the names of configurations.
func apartFrom(x, y map[string]any) []string {
	apart := []string{"target", "seed", "first", "thresholds", "config_name"}
	if x["sha256"] != nil && y["sha256"] != nil {
		apart = append(apart, "name", "script") // for k6 scripts the content counts, not the path
		if x["imports_sha256"] == nil || y["imports_sha256"] == nil {
			apart = append(apart, "imports_sha256") // older records, and scripts without imports, have none
		}
	}
	return apart
}

// partName returns the name of a part of a plan by its key.
func partName(key string) message.Message {
	switch key {
	case "sha256":
		return message.Literal("script")
	case "imports_sha256":
		return message.New("compare.script-imports")
	case "plans_sha256":
		return message.New("compare.script-plans")
	}
	return message.Literal(key)
}
